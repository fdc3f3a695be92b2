#!/usr/bin/env bash
# onnx 1.23.2: strict shape inference with data_prop takes short lists of whole numbers for shapes, whatever they are used
# for, and refuses the addition of a column of 3 and a row of 2, which the checker and the reference evaluator take.
# Seen: the reference gives (3, 2); strict inference: ... Add ... (3) vs (2)
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check onnx==1.23.2 numpy==2.4.6
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

graph = helper.make_graph(
    [helper.make_node("Unsqueeze", ["three", "axis"], ["column"]), helper.make_node("Add", ["column", "two"], ["y"])],
    "sums",
    [],
    [helper.make_tensor_value_info("y", TensorProto.INT64, [3, 2])],
    [
        numpy_helper.from_array(np.array([1, 2, 3], "int64"), "three"),
        numpy_helper.from_array(np.array([10, 20], "int64"), "two"),
        numpy_helper.from_array(np.array([1], "int64"), "axis"),
    ],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
[sums] = ReferenceEvaluator(model).run(None, {})
onnx.shape_inference.infer_shapes(model, strict_mode=True)
try:
    onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    said = "nothing"
except onnx.shape_inference.InferenceError as error:
    said = " ".join(str(error).split())
print(f"the reference gives {sums.shape}; strict inference with data_prop says: {said}")
assert sums.tolist() == [[11, 21], [12, 22], [13, 23]]
assert "(3) vs (2)" in said
PY
