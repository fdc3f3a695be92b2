"""One matrix product instead of many: layers that share their weights and do not wait for each other.

In an unrolled recurrent network the same `FullyConnected` is applied to the input of every step. Those inputs are all
there before the first step, so that one product over all steps does the work of many small ones, and the gradient of
the weight is one product too instead of a sum of as many.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from ..facts import Facts, Target
from ..graph import Entry, Graph, Node
from .substitution import application, common_attributes, substitute

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
    first = members[0]
    inputs = [node.inputs[0] for node in members] + list(first.inputs[1:])
    joint = application(
        "_joint_fully_connected",
        f"{first.name} and {len(members) - 1} more",
        inputs,
        common_attributes(members),
        num_args=len(inputs),
        num_hidden=first.params.num_hidden,
        no_bias=first.params.no_bias,
    )
    return substitute(graph, {Entry(member): Entry(joint, i) for i, member in enumerate(members)})
