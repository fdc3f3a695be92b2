#!/usr/bin/env bash
# onnx 1.23.2: GatherElements of the reference evaluator takes axes of 63 elements at most with NumPy 2.4.6; with one
# more it raises a ValueError of numpy.choose. onnxruntime takes both. (So a detector that picks its boxes this way runs
# in the reference only while it has few of them.)
# Seen: reference {63: 'right', 64: 'ValueError'}, onnxruntime {63: 'right', 64: 'right'}
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check onnx==1.23.2 onnxruntime==1.31.1 numpy==2.4.6
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

graph = helper.make_graph(
    [helper.make_node("GatherElements", ["x", "i"], ["y"], axis=0)],
    "gather",
    [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2, 1]),
        helper.make_tensor_value_info("i", TensorProto.INT64, ["N", 2, 1]),
    ],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 2, 1])],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def outcome(run, size: int) -> str:
    random = np.random.RandomState(0)
    x, i = random.rand(size, 2, 1).astype("float32"), random.randint(0, size, (size, 2, 1))
    try:
        [y] = run(None, {"x": x, "i": i})
    except ValueError as error:
        assert "array objects" in str(error)
        return "ValueError"
    return "right" if (y == np.take_along_axis(x, i, 0)).all() else "wrong"


reference, runtime = (
    {size: outcome(run, size) for size in (63, 64)} for run in (ReferenceEvaluator(model).run, session.run)
)
print(f"reference {reference}, onnxruntime {runtime}")
assert reference == {63: "right", 64: "ValueError"} and runtime == {63: "right", 64: "right"}
PY
