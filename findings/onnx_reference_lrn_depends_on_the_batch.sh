#!/usr/bin/env bash
# onnx 1.23.2: LRN of the reference evaluator sums squares for as many channels as the batch has images, not for all
# channels: an image has other numbers alone than in a batch. The shape, the checker and onnxruntime say nothing.
# Seen: channels that are normalized of 4, in a batch of 1 [True, False, False, False], of 4 [True, True, True, True]
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
    [helper.make_node("LRN", ["x"], ["y"], size=3, alpha=1.0, beta=0.75, bias=1.0)],
    "norm",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4, 1, 1])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 4, 1, 1])],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def right_channels(batch: int) -> list[bool]:
    x = np.ones((batch, 4, 1, 1), "float32")
    [reference], [runtime] = ReferenceEvaluator(model).run(None, {"x": x}), session.run(None, {"x": x})
    return [bool(same) for same in np.isclose(reference[0, :, 0, 0], runtime[0, :, 0, 0])]


seen = right_channels(1), right_channels(4)
print(f"channels that are normalized of 4, in a batch of 1 {seen[0]}, of 4 {seen[1]}")
assert seen[0] == [True, False, False, False] and all(seen[1])
PY
