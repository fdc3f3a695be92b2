"""Whole networks that people have: a detector with anchors and suppression, a reader of text of any width."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
import pytest
from tests.onnx.running import session_of

import rebind as mx
from rebind.onnx import to_onnx
from rebind.onnx.reading import read_model

CLASSES = 3


def ssd() -> Any:
    """Return a small single-shot detector: two scales, each with anchors, classes and boxes; then suppression."""
    net, classes, boxes, anchors = mx.sym.var("data"), [], [], []
    for i, (size, step) in enumerate(((0.2, 2), (0.5, 2))):
        net = mx.sym.Convolution(
            net, num_filter=4, kernel=(3, 3), pad=(1, 1), stride=(step,) * 2, name=f"conv{i}"
        )
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{i}")
        settings: dict[str, Any] = {"sizes": (size, size * 1.4), "ratios": (1, 2, 0.5), "clip": False}
        anchors.append(mx.sym.flatten(mx.sym.contrib.MultiBoxPrior(net, **settings, name=f"anchors{i}")))
        for found, count, kind in ((classes, 4 * (CLASSES + 1), "cls"), (boxes, 16, "loc")):
            out = mx.sym.Convolution(net, num_filter=count, kernel=(3, 3), pad=(1, 1), name=f"{kind}{i}")
            found.append(mx.sym.flatten(mx.sym.transpose(out, axes=(0, 2, 3, 1))))
    scores = mx.sym.reshape(mx.sym.concat(*classes, dim=1), shape=(0, -1, CLASSES + 1))
    scores = mx.sym.softmax(mx.sym.transpose(scores, axes=(0, 2, 1)), axis=1)
    places = mx.sym.reshape(mx.sym.concat(*anchors, dim=1), shape=(0, -1, 4))
    return mx.sym.contrib.MultiBoxDetection(
        scores, mx.sym.concat(*boxes, dim=1), places, nms_threshold=0.45, nms_topk=40, name="detection"
    )


def crnn(mode: str) -> Any:
    """Return convolutions, then two recurrent layers in both directions over the columns, then classes."""
    net = mx.sym.Convolution(
        mx.sym.var("data"), num_filter=6, kernel=(3, 3), pad=(1, 1), stride=(2, 1), name="conv"
    )
    net = mx.sym.Pooling(
        mx.sym.Activation(net, act_type="relu"), kernel=(4, 1), stride=(4, 1), pool_type="max"
    )
    # (N, C, 1, W) to (W, N, C)
    net = mx.sym.transpose(mx.sym.squeeze(net, axis=2), axes=(2, 0, 1))
    states = {"state": mx.sym.var("state")} | ({"state_cell": mx.sym.var("cell")} if mode == "lstm" else {})
    net = mx.sym.RNN(
        net,
        mx.sym.var("rnn_parameters"),
        **states,
        mode=mode,
        state_size=5,
        num_layers=2,
        bidirectional=True,
        name="rnn",
    )
    return mx.sym.softmax(mx.sym.FullyConnected(net, num_hidden=7, flatten=False, name="fc"), axis=-1)


def drawn(
    net: Any, inputs: tuple[str, ...], **shapes: tuple[int, ...]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return parameters and inputs for shapes."""
    random = np.random.default_rng(1)
    given = {
        name: mx.nd.array(random.standard_normal(shape) * 0.5)
        for name, shape in zip(net.list_arguments(), net.infer_shape(**shapes)[0], strict=True)
    }
    return {k: v for k, v in given.items() if k not in inputs}, {k: given[k] for k in inputs}


def test_a_detector_at_any_size_of_the_image() -> None:
    net = ssd()
    params, _ = drawn(net, ("data",), data=(2, 3, 16, 16))
    session = session_of(to_onnx(net, params, {"data": (0, 3, 0, 0)}))
    for shape in ((2, 3, 16, 16), (1, 3, 24, 16)):
        data = np.random.default_rng(2).standard_normal(shape).astype("float32")
        (found,) = session.run(None, {"data": data})
        expected = net.eval(data=mx.nd.array(data), **params)[0].asnumpy()
        assert (expected[..., 0] >= 0).any()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_detector_comes_back() -> None:
    """Its suppression is read from the nodes that it is in ONNX, with a free batch; also with few anchors."""
    net = ssd()
    for side in (4, 16):
        params, _ = drawn(net, ("data",), data=(2, 3, side, side))
        model = ir.to_proto(to_onnx(net, params, {"data": (0, 3, side, side)}))
        symbol, arg_params, aux_params, _ = read_model(model)
        assert not aux_params
        for batch in (1, 2):
            data = mx.nd.array(np.random.default_rng(2).standard_normal((batch, 3, side, side)))
            (found,), (expected,) = symbol.eval(data=data, **arg_params), net.eval(data=data, **params)
            assert (expected.asnumpy()[..., 0] >= 0).any()
            np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["lstm", "gru"])
def test_a_reader_of_text_of_any_width(mode: str) -> None:
    net = crnn(mode)
    inputs = ("data", "state", *(("cell",) if mode == "lstm" else ()))
    params, given = drawn(net, inputs, data=(2, 1, 8, 9))
    shapes = {name: value.shape for name, value in given.items()} | {"data": (2, 1, 8, 0)}
    session = session_of(to_onnx(net, params, shapes))
    for width in (3, 12):
        data = mx.nd.array(np.random.default_rng(2).standard_normal((2, 1, 8, width)))
        arrays = given | {"data": data}
        (found,) = session.run(None, {name: value.asnumpy() for name, value in arrays.items()})
        np.testing.assert_allclose(found, net.eval(**arrays, **params)[0].asnumpy(), rtol=1e-5, atol=1e-6)
