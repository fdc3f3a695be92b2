"""What MXNet 1.9.1's own exporter gets wrong, or cannot export: here each has the right numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import onnx
import rebind as mx
from onnx import TensorProto, helper

DATA = mx.sym.var("data")


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def params_of(net: mx.Symbol, **shapes: tuple[int, ...]) -> dict[str, mx.nd.NDArray]:
    """Draw parameters and auxiliary states; variances are positive."""
    arguments, _, states = net.infer_shape(**shapes)
    names = [*net.list_arguments(), *net.list_auxiliary_states()]
    found = {}
    for name, shape in zip(names, [*arguments, *states], strict=True):
        if name not in shapes and not name.endswith("label"):
            values = drawn(*shape)
            found[name] = mx.nd.array(np.abs(values) + 0.5 if name.endswith("var") else values)
    return found


def exported(net: mx.Symbol, params: Any, shapes: list, folder: Path, **options: Any) -> onnx.ModelProto:
    path = mx.onnx.export_model(net, params, shapes, onnx_file_path=str(folder / "net.onnx"), **options)
    onnx.checker.check_model(path, full_check=True)
    return onnx.load(path)


def run(model: onnx.ModelProto, *data: np.ndarray) -> list[np.ndarray]:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    return session.run(None, dict(zip(names, data, strict=True)))


def softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    shifted = np.exp(scores - scores.max(axis, keepdims=True))
    return shifted / shifted.sum(axis, keepdims=True)


def test_fix_gamma_means_a_gamma_of_1(tmp_path: Path) -> None:
    """There gamma goes out as it is stored."""
    net = mx.sym.BatchNorm(DATA, fix_gamma=True, eps=1e-3, name="bn")
    params = params_of(net, data=(2, 3, 4, 4)) | {"bn_gamma": mx.nd.array([5, 6, 7])}
    beta, mean, var = (
        params[f"bn_{name}"].asnumpy().reshape(3, 1, 1) for name in ("beta", "moving_mean", "moving_var")
    )
    data = drawn(2, 3, 4, 4)
    (found,) = run(exported(net, params, [(2, 3, 4, 4)], tmp_path), data)
    assert_allclose(found, (data - mean) / np.sqrt(var + 1e-3) + beta, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("label", [None, "target"])
def test_softmax_output_is_a_softmax_without_a_label(label: str | None, tmp_path: Path) -> None:
    """There MXNet's own name of the label is an IndexError, and another name stays an input."""
    labels = {} if label is None else {"label": mx.sym.var(label)}
    model = exported(mx.sym.SoftmaxOutput(DATA, name="softmax", **labels), {}, [(2, 3, 4)], tmp_path)
    assert [each.name for each in model.graph.input] == ["data"]
    data = drawn(2, 3, 4)
    assert_allclose(run(model, data)[0], softmax(data.reshape(2, 12)).reshape(2, 3, 4), rtol=1e-5)


def test_a_dense_layer_flattens_unless_it_says_otherwise(tmp_path: Path) -> None:
    """There `flatten` that is not written out is read as False."""
    net = mx.sym.FullyConnected(DATA, num_hidden=5, name="fc")
    assert "flatten" not in net.attr_dict().get("fc", {})
    params = params_of(net, data=(2, 3, 4, 4))
    data = drawn(2, 3, 4, 4)
    (found,) = run(exported(net, params, [(2, 3, 4, 4)], tmp_path), data)
    weight, bias = params["fc_weight"].asnumpy(), params["fc_bias"].asnumpy()
    assert_allclose(found, data.reshape(2, 48) @ weight.T + bias, rtol=1e-4, atol=1e-5)


def test_defaults_of_layers_are_those_of_mxnet(tmp_path: Path) -> None:
    """There an LRN whose `knorm` is not written out has 1 instead of 2, and a Deconvolution a bias."""
    net = mx.sym.LRN(DATA, nsize=1, alpha=1, beta=1, name="lrn")
    net = mx.sym.Deconvolution(net, kernel=(1, 1), num_filter=1, name="deconv")
    params = params_of(net, data=(2, 1, 3, 3))
    assert sorted(params) == ["deconv_weight"]
    data = drawn(2, 1, 3, 3)
    (found,) = run(exported(net, params, [(2, 1, 3, 3)], tmp_path), data)
    assert_allclose(found, data / (2 + data**2) * params["deconv_weight"].asnumpy(), rtol=1e-5)


@pytest.mark.parametrize("opset", [13, 17, 21])
def test_the_opset_is_the_one_asked_for_and_weights_are_no_inputs(opset: int, tmp_path: Path) -> None:
    """There the installed onnx's number is written, whatever the operators, and weights are inputs as well."""
    net = mx.sym.FullyConnected(DATA, num_hidden=5, name="fc")
    model = exported(net, params_of(net, data=(2, 3)), [(2, 3)], tmp_path, opset=opset)
    assert [(each.domain, each.version) for each in model.opset_import] == [("", opset)]
    assert [each.name for each in model.graph.input] == ["data"]
    assert sorted(each.name for each in model.graph.initializer) == ["fc_bias", "fc_weight"]


def test_the_gates_of_a_gru_are_in_the_order_of_onnx(tmp_path: Path) -> None:
    """MXNet has reset, update, new; ONNX update, reset, new, of which the last applies its reset after the product."""
    parts = [mx.sym.var(name, shape=(size,)) for name, size in (("i", 24), ("h", 12), ("bi", 6), ("bh", 6))]
    net = mx.sym.RNN(
        DATA,
        mx.sym._internal._rnn_param_concat(*parts, dim=0),  # there a name that is not exported
        mx.sym.zeros((1, 3, 2)),
        mode="gru",
        state_size=2,
        num_layers=1,
        name="rnn",
    )
    params = {part.name: mx.nd.array(drawn(size)) for part, size in zip(parts, (24, 12, 6, 6))}
    weight, recurrent, bias, recurrent_bias = (params[part.name].asnumpy() for part in parts)
    data, state, expected = drawn(5, 3, 4), np.zeros((3, 2), "float32"), []
    for step in data:
        of_data = np.split(step @ weight.reshape(6, 4).T + bias, 3, axis=1)
        of_state = np.split(state @ recurrent.reshape(6, 2).T + recurrent_bias, 3, axis=1)
        reset, update = (1 / (1 + np.exp(-(a + b))) for a, b in zip(of_data[:2], of_state[:2]))
        new = np.tanh(of_data[2] + reset * of_state[2])
        state = (1 - update) * new + update * state
        expected.append(state)
    (found,) = run(exported(net, params, [(5, 3, 4)], tmp_path), data)
    assert_allclose(found, np.stack(expected), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("codes", "wanted"),
    [
        ((0, -2), lambda n, w: (n, 6, 4, w)),
        ((0, -3, 0), lambda n, w: (n, 24, w)),
        ((0, -4, 2, -1, -2), lambda n, w: (n, 2, 3, 4, w)),
        ((-3, -2), lambda n, w: (6 * n, 4, w)),
        ((0, 0, -3), lambda n, w: (n, 6, 4 * w)),
    ],
)
def test_codes_of_reshape_with_a_free_width(codes: tuple, wanted: Any, tmp_path: Path) -> None:
    """There -2, -3 and -4 are refused, or the width of the export is written into the file."""
    net = mx.sym.Reshape(DATA, shape=codes, name="out")
    free = {"dynamic": True, "dynamic_input_shapes": [("batch", 6, 4, "width")]}
    model = exported(net, {}, [(2, 6, 4, 5)], tmp_path, **free)
    for batch, width in ((2, 5), (3, 7)):
        data = drawn(batch, 6, 4, width)
        assert_array_equal(run(model, data)[0], data.reshape(wanted(batch, width)))


def without_gradient(data: mx.Symbol, name: str) -> mx.Symbol:
    return mx.sym.MakeLoss(data, grad_scale=0, name=name)


@pytest.mark.parametrize("shown", [without_gradient, mx.sym.BlockGrad])
def test_a_detector_that_trains_goes_out_as_one_that_detects(shown: Any, tmp_path: Path) -> None:
    """There MultiBoxTarget and MakeLoss, which the trained symbol has, are not exported."""
    features = mx.sym.Convolution(DATA, kernel=(3, 3), pad=(1, 1), num_filter=8, name="features")
    anchors = mx.sym.contrib.MultiBoxPrior(features, sizes=(0.4, 0.6), ratios=(1, 2), name="anchors")
    scores = mx.sym.Convolution(features, kernel=(1, 1), num_filter=9, name="scores")
    scores = mx.sym.Reshape(mx.sym.transpose(scores, axes=(0, 2, 3, 1)), shape=(0, -1, 3))
    scores = mx.sym.transpose(scores, axes=(0, 2, 1))
    boxes = mx.sym.Convolution(features, kernel=(1, 1), num_filter=12, name="boxes")
    boxes = mx.sym.Flatten(mx.sym.transpose(boxes, axes=(0, 2, 3, 1)))
    target, mask, classes = mx.sym.contrib.MultiBoxTarget(anchors, mx.sym.var("label"), scores)
    found = mx.sym.SoftmaxOutput(scores, classes, multi_output=True, name="cls_prob")
    loss = mx.sym.MakeLoss(mx.sym.smooth_l1(mask * (boxes - target), scalar=1.0), name="loc_loss")
    detections = mx.sym.contrib.MultiBoxDetection(found, boxes, anchors)
    trained = mx.sym.Group([found, loss, shown(classes, name="classes"), shown(detections, name="det")])

    params = params_of(trained, data=(2, 3, 6, 6), label=(2, 4, 5))
    model = exported(trained, params, [(2, 3, 6, 6)], tmp_path)
    assert [each.name for each in model.graph.input] == ["data"]
    data = drawn(2, 3, 6, 6)
    arguments = {"data": mx.nd.array(data), "label": mx.nd.zeros((2, 4, 5)) - 1, **params}
    expected = trained.bind(mx.cpu(), arguments, grad_req="null").forward()[3].asnumpy()
    by_name = dict(zip([each.name for each in model.graph.output], run(model, data), strict=True))
    assert_allclose(by_name["det"], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("opset", "groups"), [(11, 1), (13, 3)])
def test_a_softmax_before_opset_13_is_one_over_all_axes_that_follow(
    opset: int, groups: int, tmp_path: Path
) -> None:
    """Converted downwards by onnx it goes out as it was, with another meaning."""
    value = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3, 4]) for name in "xy"}
    node = helper.make_node("Softmax", ["x"], ["y"], axis=1 if opset < 13 else 2)
    graph = helper.make_graph([node], "g", [value["x"]], [value["y"]])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    data = drawn(2, 3, 4)
    onnx.save(proto, tmp_path / "net.onnx")
    net, _, _ = mx.onnx.import_model(tmp_path / "net.onnx")
    expected = softmax(data.reshape(2 * groups, -1)).reshape(2, 3, 4)
    assert_allclose(net.eval(x=mx.nd.array(data))[0].asnumpy(), expected, rtol=1e-5)
