"""The pass that computes a network in mixed precision: where casts stand, and that each network can be run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.graph import Graph, check
from rebind.graph.passes import mixed_precision, without_casts
from rebind.precision import Rules

RULES = Rules(
    torch.bfloat16,
    low=frozenset({"FullyConnected"}),
    full=frozenset({"exp", "SoftmaxOutput"}),
    widest=frozenset({"broadcast_add", "Concat"}),
    conditional={"Activation": [("act_type", frozenset({"softrelu"}))]},
)


X = mx.sym.var("data")


def layer(data: Any, name: str, **parameters: Any) -> Any:
    return mx.sym.FullyConnected(data, num_hidden=3, no_bias=True, name=name, **parameters)


def casts(graph: Graph) -> Counter[str]:
    """Return what is cast to what, and how often: ``{"fc to float32": 1}``."""
    found: Counter[str] = Counter()
    for node in graph.nodes:
        if node.operator is None or not node.operator.name.startswith("amp_"):
            continue
        target = node.given.get("dtype", "the widest")
        found.update(f"{entry.node.name} to {target}" for entry in node.inputs)
    return found


DATA = "data to bfloat16"


def one(name: str = "fc") -> Any:
    return layer(X, name)


def looped() -> Any:
    outputs, _ = mx.sym.contrib.foreach(lambda row, state: (row + state, state), one(), mx.sym.var("state"))
    return outputs


# name -> network, the casts besides those of data and weights
NETWORKS: dict[str, tuple[Callable[[], Any], set[str]]] = {
    "output": (lambda: one(), {"fc to float32"}),
    "float32 twice": (lambda: mx.sym.Group([mx.sym.exp(fc := one()), mx.sym.exp(fc)]), {"fc to float32"}),
    "chain": (lambda: layer(mx.sym.relu(one()), "top"), {"top to float32"}),
    "down and up": (
        lambda: layer(mx.sym.exp(one(), name="e"), "top"),
        {"fc to float32", "e to bfloat16", "top to float32"},
    ),
    "widest": (
        lambda: mx.sym.broadcast_add(one(), mx.sym.exp(one("fc2")), name="sum"),
        {"fc to float32", "fc2 to float32"},
    ),
    "widest of low": (lambda: mx.sym.broadcast_add(one(), one("fc2"), name="sum"), {"sum to float32"}),
    "unknown": (
        lambda: mx.sym.broadcast_add(one(), mx.sym.var("other"), name="sum"),
        {"fc to the widest", "other to the widest", "sum to float32"},
    ),
    "not named, of two types": (
        lambda: mx.sym.elemwise_add(one(), mx.sym.exp(one("fc2")), name="sum"),
        {"fc to float32", "fc2 to float32"},
    ),
    "condition": (lambda: mx.sym.Activation(one(), act_type="softrelu"), {"fc to float32"}),
    "no condition": (lambda: mx.sym.Activation(one(), act_type="tanh", name="a"), {"a to float32"}),
    "loop": (looped, {"fc to float32"}),
    "integers": (lambda: mx.sym.Cast(one(), dtype="int32"), set()),
}


def bound(graph: Graph) -> Any:
    symbol = mx.sym.Symbol(graph)
    shapes = {"data": (2, 3), "other": (1, 3), "state": (3,)}
    executor = symbol.simple_bind(
        mx.cpu(), **{name: shape for name, shape in shapes.items() if name in symbol.list_arguments()}
    )
    random = np.random.default_rng(0)
    for name, array in executor.arg_dict.items():
        if name != "state":
            array[:] = random.uniform(-1, 1, array.shape)
    return executor


@pytest.mark.parametrize("name", NETWORKS)
def test_casts_stand_where_types_change(name: str) -> None:
    build, expected = NETWORKS[name]
    found = casts(check(mixed_precision(build()._graph, RULES)))
    inputs = {
        cast
        for cast in found
        if cast.endswith("bfloat16") and cast.startswith(("data", "fc_w", "fc2_w", "top_w"))
    }
    assert set(found) - inputs == expected
    assert all(count == 1 for count in found.values())


@pytest.mark.parametrize("name", NETWORKS)
def test_values_and_gradients_stay(name: str) -> None:
    graph = NETWORKS[name][0]()._graph
    results = []
    for each in (graph, mixed_precision(graph, RULES)):
        executor = bound(each)
        outputs = executor.forward(is_train=True)
        executor.backward([mx.nd.ones(out.shape, dtype=out.dtype) for out in outputs])
        results.append([array.asnumpy() for array in (*outputs, *executor.grad_arrays)])
    for exact, low in zip(*results, strict=True):
        assert exact.dtype == low.dtype
        np.testing.assert_allclose(exact, low, rtol=0.05, atol=0.05 if exact.dtype == np.float32 else 1)


@pytest.mark.parametrize("name", NETWORKS)
def test_casts_can_be_taken_out(name: str) -> None:
    graph = NETWORKS[name][0]()._graph
    back = without_casts(mixed_precision(graph, RULES))
    assert mx.sym.Symbol(back).tojson() == mx.sym.Symbol(graph).tojson()


def test_casts_are_taken_out_of_loops() -> None:
    def body(row: Any, state: Any) -> tuple[Any, Any]:
        return mx.sym.amp_cast(row, dtype="float16") + state, state

    outputs, _ = mx.sym.contrib.foreach(body, mx.sym.var("data"), mx.sym.var("state"))
    assert "amp_cast" in outputs.tojson(remove_amp_cast=False)
    assert "amp_cast" not in outputs.tojson()
    assert mx.sym.load_json(outputs.tojson()).list_arguments() == outputs.list_arguments()


def test_a_network_without_casts_stays_the_same_graph() -> None:
    graph = one()._graph
    assert without_casts(graph) is graph


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_an_input_decides_what_is_unknown(dtype: type) -> None:
    """Bound as float16, an input makes the sum float16; as float32, the other side is brought up."""
    rules = Rules(torch.float16, RULES.low, RULES.full, RULES.widest)
    graph = mixed_precision(NETWORKS["unknown"][0]()._graph, rules)
    symbol = mx.sym.Symbol(graph).get_internals()["sum_output"]
    executor = symbol.simple_bind(mx.cpu(), data=(2, 3), other=(1, 3), type_dict={"other": dtype})
    assert executor.forward()[0].dtype is dtype


def of_a_shared_weight() -> Any:
    shared = mx.sym.var("shared")
    return mx.sym.Group([layer(layer(X, "fc"), "top", weight=shared), mx.sym.exp(shared)])


def of_tokens() -> Any:
    tokens = mx.sym.var("tokens", dtype="int32")
    return layer(mx.sym.Embedding(tokens, input_dim=5, output_dim=3, name="e"), "fc", flatten=False)


@pytest.mark.parametrize(
    ("build", "data", "types"),
    [
        pytest.param(
            of_a_shared_weight,
            ["data"],
            {"data": None, "fc_weight": "12", "shared": "0"},
            id="low-only-where-nothing-needs-more",
        ),
        pytest.param(
            of_tokens, [], {"tokens": "4", "e_weight": "0", "fc_weight": "12"}, id="a-declared-type-stays"
        ),
    ],
)
def test_types_in_which_parameters_are_stored(
    build: Callable[[], Any], data: list[str], types: dict[str, str | None]
) -> None:
    graph = mixed_precision(build().graph, RULES, data, store_low=True)
    assert {node.name: node.attributes.get("__dtype__") for node in graph.variables} == types


OF_BATCH_NORM = Rules(torch.bfloat16, frozenset({"BatchNorm"}), frozenset(), frozenset())


@pytest.mark.parametrize(
    ("build", "rules", "settings", "expected"),
    [
        pytest.param(
            of_a_shared_weight,
            RULES,
            {"data_names": ["data"], "store_low": True},
            {DATA, "shared to bfloat16", "top to float32"},
            id="a-weight-stored-low-is-not-cast",
        ),
        pytest.param(
            lambda: mx.sym.BatchNorm(X, name="bn"),
            OF_BATCH_NORM,
            {},
            {DATA, "bn_gamma to bfloat16", "bn_beta to bfloat16", "bn to float32"},
            id="auxiliary-states-are-never-cast",
        ),
        pytest.param(
            lambda: layer(one(), "top"),
            RULES,
            {"excluded": ["top"]},
            {DATA, "fc_weight to bfloat16", "fc to float32"},
            id="what-is-excluded-is-computed-as-it-was",
        ),
    ],
)
def test_what_is_cast(
    build: Callable[[], Any], rules: Rules, settings: dict[str, Any], expected: set[str]
) -> None:
    assert set(casts(check(mixed_precision(build().graph, rules, **settings)))) == expected
