"""One matrix product instead of many: layers that share their weights and do not wait for each other.

In an unrolled recurrent network the same `FullyConnected` is applied to the input of every step. Those inputs are all
there before the first step, so that one product over all steps does the work of many small ones, and the gradient of
the weight is one product too instead of a sum of as many.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from ...ops import find
from ..facts import Facts, Target
from ..graph import Application, Entry, Graph, Node, depth_first

__all__ = ["join_layers"]


def join_layers(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
    """Make independent `FullyConnected` nodes with the same weights, on one device, one node.

    >>> import rebind as mx
    >>> w = mx.sym.var("w")
    >>> steps = [mx.sym.FullyConnected(mx.sym.var(x), w, num_hidden=2, no_bias=True) for x in "ab"]
    >>> joined, _ = join_layers(mx.sym.Group(steps).graph, Facts(), Target())
    >>> [node.operator.name for node in joined.nodes if not node.is_variable]
    ['_joint_fully_connected']
    """
    for names in _groups(graph, facts):
        # Joining one group can make the members of another wait for each other: each is judged on the newest graph.
        members = [node for node in graph.nodes if node.name in names and node.operator is not None]
        if len(members) == len(names) and _are_independent(graph, members):
            graph, replaced = _join(graph, members)
            facts = facts.after(replaced)
    return graph, facts


def _groups(graph: Graph, facts: Facts) -> list[set[str]]:
    """Return the names of nodes that do the same with the same weights, for each such set of two or more."""
    found: dict[tuple[object, ...], list[str]] = defaultdict(list)
    # Members are found again by name in the rewritten graph, where nodes are new: a name used twice would be ambiguous.
    times = Counter(node.name for node in graph.nodes)
    for node in graph.nodes:
        if node.operator is not None and node.operator.name == "FullyConnected" and node.params.flatten:
            device = facts.devices.get(Entry(node))
            found[device, node.inputs[1:], tuple(node.params.items())].append(node.name)
    return [
        set(names) for names in found.values() if len(names) > 1 and all(times[name] == 1 for name in names)
    ]


def _are_independent(graph: Graph, members: Sequence[Node]) -> bool:
    """Whether no member is computed from another."""
    # Sets of members as bits of an int: one walk over the graph, also for thousands of steps.
    bits = {node: 1 << i for i, node in enumerate(members)}
    reached: dict[Node, int] = {}  # for each node, the members that it is or is computed from
    for node in graph.nodes:
        before = 0
        for entry in node.inputs:
            before |= reached[entry.node]
        own = bits.get(node, 0)
        if own and before:
            return False
        reached[node] = before | own
    return True


def _join(graph: Graph, members: Sequence[Node]) -> tuple[Graph, dict[Entry, Entry]]:
    op = find("_joint_fully_connected")
    first = members[0]
    position = {node: i for i, node in enumerate(members)}
    inputs = [node.inputs[0] for node in members] + list(first.inputs[1:])
    given = {"num_args": len(inputs), "num_hidden": first.params.num_hidden, "no_bias": first.params.no_bias}
    name = f"{first.name} and {len(members) - 1} more"
    texts = {key: str(value) for key, value in given.items()}
    joint = Application(op, name, tuple(inputs), op.parse(given), texts, _common_attributes(members))
    replaced: dict[Entry, Entry] = {}

    def in_place_of(node: Node) -> Node:
        return joint if node in position else node

    # The order of the old graph will not do: the joint node's inputs can come after the first member's consumers.
    for node in depth_first(
        (in_place_of(entry.node) for entry in graph.outputs),
        lambda node: [in_place_of(entry.node) for entry in node.inputs],
    ):
        renewed = tuple(replaced.get(entry, entry) for entry in node.inputs)
        new = node if renewed == node.inputs else node.with_inputs(renewed)
        if node is joint:
            replaced |= {Entry(member): Entry(new, i) for member, i in position.items()}
        elif new is not node:
            replaced |= {Entry(node, i): Entry(new, i) for i in range(len(node.output_names))}
    return Graph(replaced.get(entry, entry) for entry in graph.outputs), replaced


def _common_attributes(members: Sequence[Node]) -> dict[str, str]:
    """Return the attributes that all members share: the context group above all."""
    first, *others = members
    return {
        key: value
        for key, value in first.attributes.items()
        if all(other.attributes.get(key) == value for other in others)
    }
