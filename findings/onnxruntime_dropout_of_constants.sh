#!/usr/bin/env bash
# onnxruntime 1.31.1: with optimization on, a Dropout in training mode whose data is a computed constant drops nothing.
# A mask that is drawn once for whole axes (Dropout of ones of the shape (n, 50, 1, 1), then Mul) becomes a factor of 1.
# Seen: without optimization [0.0, 4.0], with it [1.0]
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check onnx==1.23.2 onnxruntime==1.31.1 numpy==2.4.6
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

node = helper.make_node
graph = helper.make_graph(
    [
        node("Shape", ["x"], ["shape"], start=0, end=2),
        node("Concat", ["shape", "one", "one"], ["sizes"], axis=0),
        node("Expand", ["ones", "sizes"], ["mask"]),
        node("Dropout", ["mask", "ratio", "training"], ["dropped"]),
        node("Mul", ["x", "dropped"], ["y"]),
    ],
    "drop",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 50, 2, 2])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    [
        numpy_helper.from_array(np.array([1]), "one"),
        numpy_helper.from_array(np.float32(1), "ones"),
        numpy_helper.from_array(np.float32(0.75), "ratio"),
        numpy_helper.from_array(np.array(True), "training"),
    ],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
seen = []
for level in (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL):
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    [found] = ort.InferenceSession(model, options).run(None, {"x": np.ones((200, 50, 2, 2), "float32")})
    seen.append(np.unique(found).tolist())
print(f"without optimization {seen[0]}, with it {seen[1]}")
assert seen == [[0.0, 4.0], [1.0]]
PY
