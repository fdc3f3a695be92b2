#!/usr/bin/env bash
# onnxruntime 1.31.1 joins DequantizeLinear, Gemm and QuantizeLinear to one int8 product only if each zero point is written
# out: one that is left out, which ONNX counts as 0, leaves the product in float32.
# Seen: zero points written out ['QGemm'], left out ['DequantizeLinear', 'DequantizeLinear', 'Gemm', 'QuantizeLinear']
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check onnx==1.23.2 onnxruntime==1.31.1 numpy==2.4.6
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper


def kinds(written: bool) -> list[str]:
    zero = ["zero"] if written else []
    scaled = lambda name: [name, "scale", *zero]
    graph = helper.make_graph(
        [
            helper.make_node("DequantizeLinear", scaled("x"), ["a"]),
            helper.make_node("DequantizeLinear", scaled("w"), ["b"]),
            helper.make_node("Gemm", ["a", "b"], ["c"]),
            helper.make_node("QuantizeLinear", ["c", "scale", "zero"], ["y"]),
        ],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.INT8, [2, 4])],
        [helper.make_tensor_value_info("y", TensorProto.INT8, None)],
        [
            numpy_helper.from_array(np.ones((4, 3), "int8"), "w"),
            numpy_helper.from_array(np.float32(0.5), "scale"),
            numpy_helper.from_array(np.int8(0), "zero"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = ort.SessionOptions()
    options.optimized_model_filepath = f"{written}.onnx"
    options.log_severity_level = 3
    ort.InferenceSession(model.SerializeToString(), options)
    return sorted(node.op_type for node in onnx.load(f"{written}.onnx").graph.node)


seen = kinds(True), kinds(False)
print(f"zero points written out {seen[0]}, left out {seen[1]}")
assert seen[0] == ["QGemm"] and "Gemm" in seen[1]
PY
