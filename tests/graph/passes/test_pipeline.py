"""The list of passes: what runs, in what order, and what is cached for which shapes."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import pytest
import torch

import rebind as mx
from rebind.errors import ArgumentError, MXNetError, NameLookupError, ParameterError, ShapeError
from rebind.graph import Entry, Facts, Graph, Node, Target, infer_shapes, infer_types, rewrite_with_map
from rebind.graph.passes import DEFAULT, Pass, optimize, passes_of, register_backend, uses_shapes

pytestmark = pytest.mark.usefixtures("own_backends")

S = mx.sym


def facts_of(graph: Graph, **shapes: tuple[int, ...]) -> Facts:
    types = infer_types(graph, {}, torch.float32)
    return Facts.of(infer_shapes(graph, shapes, types), types)


def no_tanh(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
    def replace(node: Node, inputs: tuple[Entry, ...]) -> list[Entry] | None:
        return list(inputs) if node.operator is not None and node.operator.name == "tanh" else None

    graph, replaced = rewrite_with_map(graph, replace)
    return graph, facts.after(replaced)


def net() -> Graph:
    return S.exp(S.tanh(S.var("x"), name="tanh"), name="exp").graph


def test_a_registered_list_runs_in_order() -> None:
    seen: list[tuple[str, bool]] = []

    def looks(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
        seen.append((target.backend, bool(facts.shapes)))
        return graph, facts

    register_backend("two", [no_tanh, Pass(looks, uses_shapes=True)])
    graph = net()
    new, facts = optimize(graph, facts_of(graph, x=(2,)), Target(backend="two"))
    assert [node.name for node in new.nodes] == ["x", "exp"]
    assert seen == [("two", True)] and facts[new.outputs[0]].shape == (2,)


def test_what_needs_no_shape_is_made_once_for_all() -> None:
    register_backend("short", [no_tanh])
    graph = net()
    made = [optimize(graph, facts_of(graph, x=(n,)), Target(backend="short")) for n in (2, 3)]
    assert made[0][0] is made[1][0]
    assert [facts[new.outputs[0]].shape for new, facts in made] == [(2,), (3,)]


def test_a_pass_without_shapes_is_shown_none() -> None:
    def must_not_see(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
        assert not facts.shapes and facts.types
        return graph, facts

    register_backend("blind", [must_not_see])
    graph = net()
    optimize(graph, facts_of(graph, x=(2,)), Target(backend="blind"))


def begin(rows: int | str = 0) -> Graph:
    state = S.zeros(shape=(rows, 3), name="state")
    return S.elemwise_add(S.FullyConnected(S.var("x"), num_hidden=3, name="fc"), state, name="sum").graph


def test_what_uses_shapes_is_cached_by_shape() -> None:
    graph = begin()
    assert uses_shapes(graph, Target()) and not uses_shapes(begin(2), Target())
    made = {n: optimize(graph, facts_of(graph, x=(n, 4)), Target())[0] for n in (2, 5)}
    again = optimize(graph, facts_of(graph, x=(2, 4)), Target())[0]
    assert again is made[2] and made[2] is not made[5]
    for n, new in made.items():
        state = next(node for node in new.nodes if node.name == "state")
        assert state.params.shape == (n, 3)


def test_all_shapes_share_a_graph_that_a_pass_leaves_alone() -> None:
    graph = begin(2)
    assert optimize(graph, facts_of(graph, x=(2, 4)), Target())[0] is graph


def test_what_is_made_lives_as_long_as_the_graph() -> None:
    graph = net()
    register_backend("short", [no_tanh])
    new = weakref.ref(optimize(graph, Facts(), Target(backend="short"))[0])
    same = weakref.ref(graph)
    optimize(graph, Facts(), Target())
    gc.collect()
    assert new() is not None
    del graph
    gc.collect()
    assert new() is None and same() is None


def test_a_backend_is_replaced_when_asked() -> None:
    register_backend("default", [], override=True)
    assert passes_of("default") == ()


def optimize_with_a_pass_that_breaks_the_graph() -> None:
    def breaks(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
        entry = graph.outputs[0]
        return Graph([Entry(entry.node.with_inputs([]))]), facts

    register_backend("broken", [*DEFAULT, breaks])
    optimize(net(), Facts(), Target(backend="broken"))


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        pytest.param(
            lambda: passes_of("defalt"),
            NameLookupError,
            "no backend 'defalt'; did you mean 'default'",
            id="unknown-backend",
        ),
        pytest.param(
            lambda: register_backend("default", []),
            ParameterError,
            "name must be new; got 'default'",
            id="backend-that-exists",
        ),
        pytest.param(
            lambda: register_backend(5, []),  # type: ignore[arg-type]  # wrong on purpose
            ArgumentError,
            "register_backend: name must be text; got 5",
            id="name-that-is-a-number",
        ),
        pytest.param(
            lambda: register_backend("numbers", [5]),  # type: ignore[list-item]  # wrong on purpose
            ArgumentError,
            "register_backend: passes must be a list of passes, each a Pass or a function; got \\[5\\]",
            id="passes-that-are-numbers",
        ),
        pytest.param(
            lambda: optimize(S.zeros(shape=(0, 3), name="state").graph, Facts(), Target()),
            ShapeError,
            "_zeros 'state': shape must be given in full",
            id="size-that-does-not-follow",
        ),
        pytest.param(
            optimize_with_a_pass_that_breaks_the_graph,
            MXNetError,
            "exp 'exp' must have the inputs data",
            id="pass-that-breaks-the-graph",
        ),
    ],
)
def test_mistakes_are_named(call: Callable[[], object], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()
