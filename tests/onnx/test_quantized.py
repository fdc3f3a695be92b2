"""Networks of int8 that MXNet made, as ONNX's QuantizeLinear and DequantizeLinear around real numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx_ir as ir
import onnxruntime as ort
import pytest
from tests.onnx.running import session_of
from tests.parity.quantize_model import BATCH, drawn
from tests.parity.test_fused import NAMES as FUSED
from tests.parity.test_fused import load as load_fused
from tests.parity.test_quantized import NETWORKS, load

import onnx
import rebind as mx
from rebind.graph import deployed
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
    assert optimized(exported(name)[2], tmp_path) & JOINED[name.split("-")[0]]


def optimized(model: ir.Model, folder: Path) -> set[str]:
    """Return the operators of a model as onnxruntime runs it."""
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    options.log_severity_level = 3  # that the file suits this machine only is of no interest
    ort.InferenceSession(ir.to_proto(model).SerializeToString(), options, providers=["CPUExecutionProvider"])
    return {node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node}


@pytest.mark.parametrize("mode", ["full", "smart"])
def test_a_network_that_rebind_quantized(mode: str) -> None:
    symbol, arguments, states, data = drawn(mx, "lenet")
    batches = mx.io.NDArrayIter(data, np.zeros(len(data)), BATCH)
    quantized, parameters, states = mx.contrib.quantization.quantize_model(
        symbol, arguments, states, calib_mode="naive", calib_data=batches, quantize_mode=mode
    )
    inputs = {"data": mx.nd.array(data[:BATCH]), "softmax_label": mx.nd.zeros(BATCH)}
    expected = quantized.bind(mx.cpu(), {**parameters, **inputs}, aux_states=states).forward()[0].asnumpy()
    model = to_onnx(
        quantized.with_graph(deployed(quantized.graph).graph), parameters, {"data": (0, *data.shape[1:])}
    )
    found = session_of(model).run(None, {"data": data[:BATCH]})[0]
    # What lies between two levels of the last layer may be the other one.
    assert np.abs(found - expected).max() <= 0.02
    assert {"QuantizeLinear", "DequantizeLinear"} <= {node.op_type for node in model.graph}


def exported_fused(name: str) -> tuple[np.ndarray, np.ndarray, ir.Model]:
    symbol, arguments, states, recorded = load_fused(name)
    params = {key: value for key, value in {**arguments, **states}.items() if key != "data"}
    expected = symbol.bind(mx.cpu(), arguments, aux_states=states, grad_req="null").forward()[0].asnumpy()
    return recorded["data"], expected, to_onnx(symbol, params, {"data": (0, *recorded["data"].shape[1:])})


@pytest.mark.parametrize("name", FUSED)
def test_layers_that_mxnet_fused(name: str) -> None:
    data, expected, model = exported_fused(name)
    apart = np.abs(session_of(model).run(None, {"data": data})[0] - expected) / np.abs(expected).max()
    if "float" in name:
        assert apart.max() <= 1e-5
        return
    # What lies between two levels may be the other one, and is one of a few in the next layer.
    assert apart.max() <= 2.5 / 127
    assert np.median(apart) <= 0.5 / 127


@pytest.mark.parametrize("name", ["residual-naive", "grouped-naive", "dense-naive"])
def test_runtimes_join_what_mxnet_fused(name: str, tmp_path: Path) -> None:
    joined = optimized(exported_fused(name)[2], tmp_path)
    assert joined & {"QLinearConv", "QGemm"}


def test_fused_layers_without_their_weights_are_refused() -> None:
    symbol, arguments, states, recorded = load_fused("residual-naive")
    weight = arguments.pop("conv0_weight")
    params = {key: value for key, value in {**arguments, **states}.items() if key != "data"}
    with pytest.raises(
        mx.MXNetError, match="the weights of a fused layer must be parameters whose arrays are given"
    ):
        to_onnx(symbol, params, {"data": recorded["data"].shape, "conv0_weight": weight.shape})
