"""Networks of int8 that MXNet made, as ONNX's QuantizeLinear and DequantizeLinear around real numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx_ir as ir
import onnxruntime as ort
import pytest
from tests.onnx.running import session_of
from tests.parity.test_quantized import NETWORKS, load

import onnx
import rebind as mx
from rebind.onnx import to_onnx
from rebind.onnx.export.translations import TRANSLATIONS

#: What onnxruntime makes of the nodes around a layer: operators on whole numbers.
JOINED = {"perceptron": {"QGemm", "MatMulInteger"}, "convolutional": {"QLinearConv", "QLinearAveragePool"}}


def exported(name: str) -> tuple[np.ndarray, np.ndarray, ir.Model]:
    symbol, arguments, states, recorded = load(name)
    params = {key: value for key, value in {**arguments, **states}.items() if key != "data"}
    data = recorded["data"]
    expected = symbol.bind(mx.cpu(), arguments, aux_states=states).forward()[0].asnumpy()
    return data, expected, to_onnx(symbol, params, {"data": (0, *data.shape[1:])})


ROWS = [name for name in NETWORKS if "Pooling" in TRANSLATIONS or "convolutional" not in name]


@pytest.mark.parametrize("name", ROWS)
def test_within_a_step_of_rebind(name: str) -> None:
    data, expected, model = exported(name)
    found = session_of(model).run(None, {"data": data})[0]
    step = np.abs(expected).max() / 127
    assert np.abs(found - expected).max() <= 1.01 * step
    if "none" not in name:  # the sums in int32 are not there, nor what computes ranges
        assert not [node for node in model.graph if node.op_type in ("Cast", "Max", "Abs")]


@pytest.mark.parametrize("name", [name for name in ROWS if "none" not in name])
def test_runtimes_join_the_nodes(name: str, tmp_path: Path) -> None:
    model = exported(name)[2]
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.log_severity_level = 3  # that the file suits this machine only is of no interest
    ort.InferenceSession(ir.to_proto(model).SerializeToString(), options, providers=["CPUExecutionProvider"])
    optimized = onnx.load(options.optimized_model_filepath)
    assert {node.op_type for node in optimized.graph.node} & JOINED[name.split("-")[0]]
