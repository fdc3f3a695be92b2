"""Networks that `contrib.amp` converts, made alike with MXNet and with rebind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Case(NamedTuple):
    """A network, how it is converted, and the shapes of its inputs."""

    build: Callable[[Any], Any]
    settings: dict[str, Any]
    shapes: dict[str, tuple[int, ...]]


def lenet(mx: Any) -> Any:
    net = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=4, name="conv")
    net = mx.sym.Activation(mx.sym.BatchNorm(net, fix_gamma=False, name="bn"), act_type="relu", name="act")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    net = mx.sym.Dropout(mx.sym.Flatten(net, name="flat"), p=0.0, name="drop")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=3, name="fc"), name="softmax")


def residual(mx: Any) -> Any:
    first = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), pad=(1, 1), num_filter=4, name="conv1")
    net = mx.sym.relu(mx.sym.BatchNorm(first, name="bn"), name="relu")
    net = mx.sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=4, no_bias=True, name="conv2")
    net = mx.sym.elemwise_add(net, first, name="sum")
    return mx.sym.mean(net, axis=(2, 3), name="mean")


def several(mx: Any) -> Any:
    """One value that is needed in both types, by more than one operator each, and is an output itself."""
    layer = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    other = mx.sym.FullyConnected(layer, num_hidden=4, name="fc2")
    return mx.sym.Group([mx.sym.exp(layer, name="e1"), mx.sym.square(layer, name="e2"), other, layer])


def branches(mx: Any) -> Any:
    parts = mx.sym.split(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc"), num_outputs=2, name="parts"
    )
    return mx.sym.broadcast_mul(mx.sym.exp(parts[0], name="exp"), parts[1], name="product")


def activations(mx: Any) -> Any:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc1")
    net = mx.sym.LeakyReLU(net, act_type="leaky", name="leaky")
    net = mx.sym.LeakyReLU(net, act_type="elu", name="elu")
    net = mx.sym.FullyConnected(net, num_hidden=4, name="fc2")
    return mx.sym.Activation(mx.sym.tanh(net, name="tanh"), act_type="softrelu", name="softrelu")


def unknown_type(mx: Any) -> Any:
    layer = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    return mx.sym.broadcast_add(layer, mx.sym.var("other"), name="sum")


def recurrent(mx: Any) -> Any:
    states = [mx.sym.var(name) for name in ("weights", "state")]
    return mx.sym.RNN(mx.sym.var("data"), *states, state_size=4, num_layers=1, mode="gru", name="rnn")


_IMAGES = {"data": (2, 1, 6, 6)}
_ROWS = {"data": (2, 5)}

CASES: dict[str, Case] = {
    "lenet": Case(lenet, {}, _IMAGES),
    "lenet, an operator left out": Case(lenet, {"excluded_sym_names": ["conv"]}, _IMAGES),
    "lenet, parameters named": Case(lenet, {"data_names": ["data", "softmax_label"]}, _IMAGES),
    "lenet, parameters stored low": Case(
        lenet, {"data_names": ["data", "softmax_label"], "cast_optional_params": True}, _IMAGES
    ),
    "residual": Case(residual, {}, {"data": (2, 3, 5, 5)}),
    "residual, parameters stored low": Case(
        residual, {"data_names": ["data"], "cast_optional_params": True}, {"data": (2, 3, 5, 5)}
    ),
    "several": Case(several, {}, _ROWS),
    "several, one left out": Case(several, {"excluded_sym_names": ["fc2", "e1"]}, _ROWS),
    "branches": Case(branches, {}, _ROWS),
    "activations": Case(activations, {}, _ROWS),
    "an input of unknown type": Case(unknown_type, {}, {**_ROWS, "other": (1, 3)}),
    "recurrent": Case(recurrent, {}, {"data": (3, 2, 4), "state": (1, 2, 4)}),
}
