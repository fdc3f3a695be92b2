"""Facts about entries, and what becomes of them when a graph is rewritten."""

from __future__ import annotations

import pytest
import torch

import rebind as mx
from rebind.graph import (
    Entry,
    Facts,
    Graph,
    Target,
    Variable,
    infer_shapes,
    infer_types,
    rewrite_with_map,
)

S = mx.sym


def facts_of(graph: Graph, **shapes: tuple[int, ...]) -> Facts:
    types = infer_types(graph, {}, torch.float32)
    return Facts.of(infer_shapes(graph, shapes, types), types)


def without(name: str) -> object:
    """Return a replacement that takes a node out of a graph."""
    return lambda node, inputs: list(inputs) if node.name == name else None


def test_facts_follow_what_is_replaced() -> None:
    graph = S.exp(S.tanh(S.var("x"), name="tanh"), name="exp").graph
    facts = facts_of(graph, x=(2, 3))
    new, replaced = rewrite_with_map(graph, without("tanh"))
    carried = facts.after(replaced)
    assert [node.name for node in new.nodes] == ["x", "exp"]
    for entry in new.internals.outputs:
        assert carried[entry].shape == (2, 3) and carried[entry].dtype is torch.float32
    assert carried.origins[new.outputs[0]] == graph.outputs[0]
    assert carried.from_origins({graph.outputs[0]: "known"})[new.outputs[0]] == "known"


@pytest.mark.parametrize("removed", [("tanh",), ("sin", "tanh"), ("tanh", "sin")], ids="-".join)
def test_origins_are_those_of_the_first_graph(removed: tuple[str, ...]) -> None:
    graph = S.exp(S.tanh(S.sin(S.var("x"), name="sin"), name="tanh"), name="exp").graph
    facts, new = Facts(), graph
    for name in removed:
        new, replaced = rewrite_with_map(new, without(name))
        facts = facts.after(replaced)
    assert facts.origins[new.outputs[0]] == graph.outputs[0]


def test_a_graph_that_nothing_changes_is_the_same_object() -> None:
    graph = S.exp(S.var("x")).graph
    assert rewrite_with_map(graph, lambda node, inputs: None) == (graph, {})


def test_what_is_not_known() -> None:
    assert Facts()[Entry(Variable("x"))] == (None, None, "default", None, None)


@pytest.mark.parametrize(
    ("groups", "spans", "devices"),
    [
        ((), False, ["cpu", "cpu"]),
        ((("a", torch.device("meta")),), True, ["meta", "cpu"]),
        ((("b", torch.device("cpu")),), False, ["cpu", "cpu"]),
    ],
)
def test_devices_of_context_groups(
    groups: tuple[tuple[str, torch.device], ...], spans: bool, devices: list[str]
) -> None:
    with mx.AttrScope(ctx_group="a"):
        first = S.exp(S.var("x"), name="first")
    graph = S.tanh(first, name="second").graph
    target = Target(groups=groups)
    facts = Facts().on(graph, target)
    nodes = [node for node in graph.nodes if node.operator is not None]
    assert target.spans_devices is spans
    assert [target.device_of(node).type for node in nodes] == devices
    assert [facts[Entry(node)].device for node in nodes] == (
        [torch.device(device) for device in devices] if spans else [None, None]
    )
