#!/usr/bin/env bash
# onnx 1.23.2: ConvTranspose of the reference evaluator raises a ValueError where a group has more than one
# channel; one group, and groups of one channel, are right. onnxruntime computes all of them.
# Seen: groups, channels, channels of a group's output: (1, 4, 2) equal, (4, 4, 1) equal, (2, 4, 1) ValueError, (2, 4, 2) ValueError
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check onnx==1.23.2 onnxruntime==1.31.1 numpy==2.4.6
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, checker, helper
from onnx.reference import ReferenceEvaluator


def compared(group: int, channels: int, outputs: int) -> str:
    shapes = {"x": (1, channels, 3, 3), "w": (channels, outputs, 2, 2), "y": (1, group * outputs, 4, 4)}
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()}
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], group=group)
    graph = helper.make_graph([node], "layer", [values["x"], values["w"]], [values["y"]])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model, full_check=True)
    random = np.random.RandomState(0)
    inputs = {name: random.rand(*shapes[name]).astype("float32") for name in ("x", "w")}
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    [expected] = session.run(None, inputs)
    assert expected.shape == shapes["y"]
    try:
        [found] = ReferenceEvaluator(model).run(None, inputs)
    except ValueError:
        return "ValueError"
    return "equal" if found.shape == expected.shape and np.allclose(found, expected, atol=1e-5) else "different"


seen = {given: compared(*given) for given in ((1, 4, 2), (4, 4, 1), (2, 4, 1), (2, 4, 2))}
print("groups, channels, channels of a group's output:", ", ".join(f"{given} {what}" for given, what in seen.items()))
assert list(seen.values()) == ["equal", "equal", "ValueError", "ValueError"]
PY
