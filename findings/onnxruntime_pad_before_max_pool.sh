#!/usr/bin/env bash
# onnxruntime 1.31.1: a Pad of zeros before a MaxPool becomes the pool's own padding, which counts as minus infinity.
# Where all data under the window is negative, the padded zero is the largest number; after the fusion it is gone.
# Seen: without optimization [0.0, 0.0], with it [-1.0, -1.0]
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

graph = helper.make_graph(
    [
        helper.make_node("Pad", ["x", "pads"], ["padded"]),
        helper.make_node("MaxPool", ["padded"], ["y"], kernel_shape=[2], strides=[2]),
    ],
    "pool",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 2])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    [numpy_helper.from_array(np.array([0, 0, 1, 0, 0, 1]), "pads")],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
seen = []
for level in (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL):
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    [found] = ort.InferenceSession(model, options).run(None, {"x": -np.ones((1, 1, 2), "float32")})
    seen.append(found.ravel().tolist())
print(f"without optimization {seen[0]}, with it {seen[1]}")
assert seen == [[0.0, 0.0], [-1.0, -1.0]]
PY
