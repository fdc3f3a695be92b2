"""Models that are exported in several tests, and packages that are missing."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.convert import Model


def without(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Let a package be missing."""
    for module in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)


def pictures() -> Model:
    """Return a network that takes pictures of any size, in a batch of any size."""
    net = mx.sym.Convolution(mx.sym.var("in-data"), num_filter=4, kernel=(3, 3), pad=(1, 1), name="conv")
    net = mx.sym.LeakyReLU(mx.sym.BatchNorm(net, fix_gamma=False, name="bn"), act_type="prelu", name="prelu")
    net = mx.sym.Pooling(net, kernel=(1, 1), global_pool=True, pool_type="avg", name="pool")
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=3, name="fc"), name="softmax")
    return with_numbers(net, {"in-data": (1, 3, 8, 8)})


def texts() -> Model:
    """Return a network that has two inputs, two outputs, and a layer over time."""
    one = mx.sym.Embedding(mx.sym.var("words"), input_dim=20, output_dim=6, name="embed")
    steps = mx.sym.transpose(one, axes=(1, 0, 2))
    begin = mx.sym.zeros((1, 0, 5)), mx.sym.zeros((1, 0, 5))
    net = mx.sym.RNN(
        steps, mx.sym.var("lstm_parameters"), *begin, state_size=5, num_layers=1, mode="lstm", name="lstm"
    )
    net = mx.sym.mean(net, axis=0) * mx.sym.var("scale")
    return with_numbers(
        mx.sym.Group([mx.sym.FullyConnected(net, num_hidden=3, name="fc"), mx.sym.tanh(net, name="tanh")]),
        {"words": (2, 7), "scale": (2, 5)},
    )


def with_numbers(net: Any, shapes: dict[str, tuple[int, ...]]) -> Model:
    random = np.random.RandomState(0)
    arguments, _, states = net.infer_shape(**shapes)
    parameters = {
        name: mx.nd.array(random.uniform(0.1, 0.5, shape))
        for names, found in ((net.list_arguments(), arguments), (net.list_auxiliary_states(), states))
        for name, shape in zip(names, found, strict=True)
        if name not in shapes and not name.endswith("label")
    }
    aux = {name: parameters.pop(name) for name in net.list_auxiliary_states()}
    free = {name: (0, shape[1], *(0 for _ in shape[2:])) for name, shape in shapes.items()}
    return Model(net, parameters, aux, "net", free)
