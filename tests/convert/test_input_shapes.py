"""Shapes of inputs that follow from a checkpoint, and the sentence that asks for the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rebind as mx
from rebind.convert.input_shapes import Inputs, find_inputs
from rebind.errors import NameLookupError, ParameterError, ShapeError

DATA = mx.sym.var("data")


def convolution(data: Any, layers: int = 1, **given: Any) -> Any:
    for i in range(layers):
        data = mx.sym.Convolution(data, kernel=(3, 3), num_filter=8, name=f"conv{i}", **given)
    return data


def pooled(data: Any) -> Any:
    return mx.sym.FullyConnected(
        mx.sym.Pooling(convolution(data), global_pool=True, pool_type="avg", kernel=(1, 1)),
        num_hidden=2,
        name="fc",
    )


def rnn(mode: str) -> Any:
    states = [mx.sym.var("state"), mx.sym.var("cell")][: 2 if mode == "lstm" else 1]
    return mx.sym.RNN(
        DATA,
        mx.sym.var("packed"),
        *states,
        state_size=7,
        num_layers=2,
        mode=mode,
        bidirectional=True,
        name="rnn",
    )


def found(symbol: Any, *, given: Any = None, beside: Any = None, **shapes: tuple[int, ...]) -> Inputs:
    """Find the inputs of a network whose parameters have the shapes that follow from those of the inputs."""
    arguments, _, states = symbol.infer_shape(**shapes)
    known = dict(zip(symbol.list_arguments(), arguments, strict=True))
    known |= dict(zip(symbol.list_auxiliary_states(), states, strict=True))
    parameters = {
        name: shape
        for name, shape in known.items()
        if name not in ("data", "label", "softmax_label", "state", "cell")
    }
    return find_inputs(symbol.graph, parameters, given, beside)


@pytest.mark.parametrize(
    ("make", "shape", "expected"),
    [
        (lambda: mx.sym.FullyConnected(DATA, num_hidden=2, name="fc"), (4, 5), (0, 5)),
        (lambda: mx.sym.FullyConnected(mx.sym.relu(DATA * 2), num_hidden=2, name="fc"), (4, 5), (0, 5)),
        (lambda: convolution(DATA), (2, 3, 9, 9), (0, 3, 0, 0)),
        (lambda: convolution(mx.sym.BatchNorm(DATA, name="bn"), num_group=2), (2, 6, 9, 9), (0, 6, 0, 0)),
        (lambda: mx.sym.Convolution(DATA, kernel=(3,), num_filter=2, name="c"), (2, 3, 9), (0, 3, 0)),
        (
            lambda: mx.sym.Deconvolution(DATA, kernel=(3, 3), num_filter=2, name="c"),
            (2, 3, 9, 9),
            (0, 3, 0, 0),
        ),
        (lambda: pooled(DATA), (2, 3, 9, 9), (0, 3, 0, 0)),
        (lambda: convolution((DATA - 127.5) * 0.0078125), (2, 3, 9, 9), (0, 3, 0, 0)),
        (lambda: mx.sym.exp(mx.sym.var("data", shape=(4, 5))), (4, 5), (0, 5)),
    ],
)
def test_shapes_that_follow(
    make: Callable[[], Any], shape: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    assert found(make(), data=shape) == Inputs({"data": expected}, {})


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh"])
def test_recurrent_layers_tell_their_features_and_begin_with_zeros(mode: str) -> None:
    given = found(rnn(mode), data=(9, 2, 5))
    assert given.data == {"data": (0, 0, 5)}
    assert given.states == {name: (4, 0, 7) for name in (["state", "cell"] if mode == "lstm" else ["state"])}


def test_what_is_given_comes_first_then_files() -> None:
    beside = {"data": (0, 3, 32, 32)}
    assert found(convolution(DATA), beside=beside, data=(1, 3, 9, 9)).data == beside
    given = {"data": (1, 3, 8, 8)}
    assert found(convolution(DATA), given=given, beside=beside, data=(1, 3, 9, 9)).data == given


def test_a_file_of_another_network_tells_nothing() -> None:
    beside = {"data": (0, 3, 32, 32)}
    assert found(dense(DATA), beside=beside, data=(4, 5)).data == {"data": (0, 5)}
    assert found(rnn("gru"), beside=beside, data=(9, 2, 5)).data == {"data": (0, 0, 5)}


def test_sizes_that_a_dense_layer_needs_are_asked_for() -> None:
    net = mx.sym.FullyConnected(convolution(DATA), num_hidden=2, name="fc")
    says = (
        r"^all sizes of the input 'data' must be given, since FullyConnected 'fc' takes .*"
        r"--shape data:1,3,9,9 \(shape=\{'data': \(1, 3, 9, 9\)\}\); 0 is a size that stays free"
    )
    with pytest.raises(ShapeError, match=says):
        found(net, data=(1, 3, 9, 9))
    assert found(net, given={"data": (0, 3, 9, 9)}, data=(1, 3, 9, 9)).data == {"data": (0, 3, 9, 9)}


def test_a_shape_that_nothing_tells_is_asked_for() -> None:
    with pytest.raises(
        ShapeError, match=r"^the shape of the input 'data' cannot be inferred .*--shape data:1,3,224,224"
    ):
        found(mx.sym.exp(DATA), data=(1, 2))


def dense(data: Any) -> Any:
    return mx.sym.FullyConnected(data, num_hidden=2, name="fc")


@pytest.mark.parametrize(
    ("make", "shape", "shown"),
    [
        (lambda: mx.models.get("lenet").get_internals()["fc2_output"], (2, 1, 28, 28), "1,1,28,28"),
        (lambda: dense(convolution(DATA, 2, stride=(2, 2))), (1, 3, 32, 32), "1,3,32,32"),
        (lambda: dense(mx.sym.Flatten(DATA)), (2, 3, 5, 5), "1,3,5,5"),
        (lambda: dense(mx.sym.Flatten(DATA)), (2, 7), "1,7"),
        (lambda: dense(mx.sym.Embedding(DATA, input_dim=9, output_dim=2, name="e")), (2, 16), "1,16"),
    ],
)  # fmt: skip
def test_the_example_fits_the_weights(make: Callable[[], Any], shape: tuple[int, ...], shown: str) -> None:
    with pytest.raises(ShapeError, match=rf"--shape data:{shown} "):
        found(make(), data=shape)


def test_shapes_of_samples_are_taken_for_what_does_not_follow() -> None:
    net = mx.sym.FullyConnected(convolution(DATA), num_hidden=2, name="fc")
    parameters = {"conv0_weight": (8, 3, 3, 3), "conv0_bias": (8,), "fc_weight": (2, 392), "fc_bias": (2,)}
    assert find_inputs(net.graph, parameters, samples={"data": (5, 3, 9, 9)}).data == {"data": (0, 3, 9, 9)}
    assert find_inputs(mx.sym.exp(DATA).graph, {}, samples={"data": (5, 2)}).data == {"data": (0, 2)}
    free = pooled(DATA).graph  # needs none
    parameters = {"conv0_weight": (8, 3, 3, 3), "conv0_bias": (8,), "fc_weight": (2, 8), "fc_bias": (2,)}
    assert find_inputs(free, parameters, samples={"data": (5, 3, 9, 9)}).data == {"data": (0, 3, 0, 0)}


def test_names_are_checked() -> None:
    with pytest.raises(
        NameLookupError, match=r"^shape: 'dat' must be an input of the network, 'data'; did you mean"
    ):
        found(convolution(DATA), given={"dat": (1, 3, 9, 9)}, data=(1, 3, 9, 9))
    with pytest.raises(
        ParameterError, match=r"must have values of 'conv0_bias', a parameter of <Convolution 'conv0'>"
    ):
        find_inputs(convolution(DATA).graph, {"conv0_weight": (8, 3, 3, 3)})
