"""Maxima over windows before the activation: the same numbers and gradients, from fewer elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.graph import Facts, Target, infer_types
from rebind.graph.passes import optimize
from rebind.graph.passes.pool_first import pool_first

X = mx.sym.var("x")
SHAPE = (2, 3, 7, 8)


def pool(x: Any, **given: Any) -> Any:
    return mx.sym.Pooling(x, **{"kernel": (2, 2), "stride": (2, 2), "pool_type": "max", "name": "p", **given})


def act(x: Any, act_type: str = "tanh") -> Any:
    return mx.sym.Activation(x, act_type=act_type, name="a")


def used_twice() -> Any:
    x = act(X)
    return mx.sym.Group([pool(x), mx.sym.sum(x)])


BEFORE, AFTER = ["Pooling", "Activation"], ["Activation", "Pooling"]

#: Networks, and the operators of what the pass makes of them.
NETWORKS: dict[str, tuple[Any, list[str]]] = {
    **{kind: (pool(act(X, kind)), BEFORE) for kind in ("relu", "sigmoid", "softrelu", "tanh")},
    **{
        kind: (pool(getattr(mx.sym, kind)(X, name="a")), ["Pooling", kind])
        for kind in ("relu", "sigmoid", "tanh")
    },
    "overlapping": (pool(act(X), kernel=(3, 3), pad=(1, 1)), BEFORE),
    "global": (pool(act(X), global_pool=True), BEFORE),
    "channels last": (pool(act(X), layout="NHWC"), BEFORE),
    "one axis": (pool(act(mx.sym.reshape(X, (2, 3, -1))), kernel=(3,), stride=(2,)), ["Reshape", *BEFORE]),
    "twice": (pool(pool(act(X), name="q")), ["Pooling", "Activation", "Pooling"]),
    "after a layer": (
        pool(act(mx.sym.Convolution(X, kernel=(3, 3), num_filter=2, name="c"))),
        ["_channels_last", "_channels_last", "Convolution", *BEFORE, "_contiguous"],
    ),
    # What must not change places.
    "a mean": (pool(act(X), pool_type="avg"), AFTER),
    "softsign": (pool(act(X, "softsign")), AFTER),
    "used twice": (used_twice(), ["Activation", "Pooling", "sum"]),
    "full": (pool(act(X), pooling_convention="full"), AFTER),
    "same": (pool(act(X), kernel=(3, 3), pooling_convention="same"), AFTER),
    "only padding": (pool(act(X), pad=(2, 2)), AFTER),
}


def operators(symbol: Any, target: Target) -> list[str]:
    facts = Facts.of(None, infer_types(symbol.graph, {"x": "float32"}))
    best, _ = optimize(symbol.graph, facts, target)
    return [node.operator.name for node in best.nodes if node.operator is not None]


@pytest.mark.parametrize("name", NETWORKS)
def test_what_becomes_of_a_network(name: str) -> None:
    symbol, expected = NETWORKS[name]
    assert operators(symbol, Target(training=True)) == expected


def gradients(symbol: Any, backend: str, is_train: bool) -> dict[str, np.ndarray]:
    exe = symbol.simple_bind(mx.cpu(), x=SHAPE, backend=backend)
    draws = np.random.default_rng(0)
    for array in exe.arg_dict.values():
        array[:] = draws.normal(size=array.shape)
    outputs = exe.forward(is_train=is_train)
    exe.backward([mx.nd.array(draws.normal(size=each.shape)) for each in outputs])
    found = {f"output{i}": each for i, each in enumerate(outputs)} | exe.grad_dict
    return {key: array.asnumpy() for key, array in found.items()}


@pytest.mark.parametrize("is_train", [True, False])
@pytest.mark.parametrize("name", NETWORKS)
def test_numbers_stay(name: str, is_train: bool) -> None:
    symbol = NETWORKS[name][0]
    found, expected = (gradients(symbol, backend, is_train) for backend in ("default", "plain"))
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-6, err_msg=key)


def test_equal_values_get_the_gradient_as_before() -> None:
    # Where all are cut off, or at the end of tanh, there is none to get.
    for kind, value in (("relu", -1.0), ("tanh", 100.0)):
        exe = pool(act(X, kind)).simple_bind(mx.cpu(), x=SHAPE)
        exe.arg_dict["x"][:] = value
        exe.forward(is_train=True)
        exe.backward(mx.nd.ones(exe.outputs[0].shape))
        assert not exe.grad_dict["x"].asnumpy().any()


@pytest.mark.parametrize(
    ("target", "is_changed"),
    [
        (Target(training=True, traced=True), True),
        (Target(training=True, groups=(("a", torch.device("meta")),)), False),
    ],
    ids=["traced", "groups"],
)
def test_other_targets(target: Target, is_changed: bool) -> None:
    graph = NETWORKS["tanh"][0].graph
    assert (pool_first(graph, Facts(), target)[0] is not graph) == is_changed
