"""One matrix product in place of many: layers that share their weights and do not wait for each other.

In an unrolled recurrent network the same `FullyConnected` is applied to the input of every step. Those inputs are all
there before the first step, so that one product over all steps does the work of many small ones, and the gradient of
the weight is one product too instead of a sum of as many.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ...ops import find
from ..graph import Entry, Graph, Node, depth_first

__all__ = ["join_layers"]


def join_layers(graph: Graph) -> Graph:
    """Return a graph in which independent `FullyConnected` nodes with the same weights are one node."""
    groups = _groups(graph)
    for names in groups:
        # Joining one group can make the members of another wait for each other: each is judged on the newest graph.
        members = [node for node in graph.nodes if node.name in names and node.operator is not None]
        if len(members) == len(names) and _are_independent(graph, members):
            graph = _join(graph, members)
    return graph


def _groups(graph: Graph) -> list[set[str]]:
    """Return the names of nodes that do the same with the same weights, for each such set of two or more."""
    found: dict[tuple, list[str]] = defaultdict(list)
    times: dict[str, int] = defaultdict(int)
    for node in graph.nodes:
        times[node.name] += 1
        if node.operator is not None and node.operator.name == "FullyConnected" and node.params.flatten:
            weights = tuple((id(entry.node), entry.index) for entry in node.inputs[1:])
            found[weights, tuple(node.params.items())].append(node.name)
    return [
        set(names) for names in found.values() if len(names) > 1 and all(times[name] == 1 for name in names)
    ]


def _are_independent(graph: Graph, members: Sequence[Node]) -> bool:
    """Tell whether no member is computed from another."""
    bits = {id(node): 1 << i for i, node in enumerate(members)}
    reached: dict[int, int] = {}  # for each node, the members that it is or is computed from
    for node in graph.nodes:
        before = 0
        for entry in node.inputs:
            before |= reached[id(entry.node)]
        own = bits.get(id(node), 0)
        if own and before:
            return False
        reached[id(node)] = before | own
    return True


def _join(graph: Graph, members: Sequence[Node]) -> Graph:
    op = find("_joint_fully_connected")
    first = members[0]
    places = {id(node): i for i, node in enumerate(members)}
    inputs = [node.inputs[0] for node in members] + list(first.inputs[1:])
    p = op.parse(
        {"num_args": len(inputs), "num_hidden": first.params.num_hidden, "no_bias": first.params.no_bias}
    )
    joint = Node(op, f"{first.name} and {len(members) - 1} more", inputs, p)
    new: dict[int, Node] = {}

    def stands_for(node: Node) -> Node:
        return joint if id(node) in places else node

    def renewed(entry: Entry) -> Entry:
        place = places.get(id(entry.node))
        return Entry(new[id(stands_for(entry.node))], entry.index if place is None else place)

    # The order of the old graph will not do: the joint node's inputs can stand behind the first member's consumers.
    for node in depth_first(
        (stands_for(entry.node) for entry in graph.outputs),
        lambda node: [stands_for(entry.node) for entry in node.inputs],
    ):
        renewed_inputs = tuple(map(renewed, node.inputs))
        new[id(node)] = node if renewed_inputs == node.inputs else node.with_inputs(renewed_inputs)
    return Graph(map(renewed, graph.outputs))
