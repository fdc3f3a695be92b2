"""How far gradients reach in a graph: from the outputs back, to a loss or to an operator that blocks them."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import Entry, Graph, Node

__all__ = ["blocks", "gradient_receivers", "head_gradient_reaches"]


def head_gradient_reaches(graph: Graph, arguments: Sequence[Node]) -> tuple[tuple[int, ...], ...]:
    """Return, for each output, the positions of the arguments that its head gradient reaches.

    >>> import rebind as mx
    >>> x = mx.sym.var("x")
    >>> net = mx.sym.Group([x * mx.sym.var("y"), mx.sym.MakeLoss(x) * 2])
    >>> head_gradient_reaches(net.graph, net.graph.arguments)
    ((0, 1), ())
    """
    positions = {node: i for i, node in enumerate(arguments)}

    def reached(output: Entry) -> tuple[int, ...]:
        # The usual output is a loss, where the walk ends at once.
        found = [output.node]
        seen = set(found)
        for node in found:  # it grows
            if node.operator is not None and node.operator.kernels.needs_head_gradient(node.params):
                new = [entry.node for entry in node.inputs if entry.node not in seen]
                seen.update(new)
                found += dict.fromkeys(new)
        return tuple(sorted(positions[node] for node in found if node in positions))

    return tuple(map(reached, graph.outputs))


def gradient_receivers(graph: Graph) -> set[Node]:
    """Return the nodes that a gradient of some output can reach: not those before an operator that blocks it.

    >>> import rebind as mx
    >>> x = mx.sym.exp(mx.sym.var("x"), name="e")
    >>> [
    ...     sorted(node.name for node in gradient_receivers(net.graph))
    ...     for net in (x, mx.sym.BlockGrad(x, name="b"))
    ... ]
    [['e', 'x'], ['b']]
    """
    found = {entry.node for entry in graph.outputs}
    for node in reversed(graph.nodes):  # what uses a node comes before it
        if node in found and node.operator is not None and not blocks(node):
            found.update(entry.node for entry in node.inputs)
    return found


def blocks(node: Node) -> bool:
    """Return whether no gradient goes through a node.

    >>> import rebind as mx
    >>> x = mx.sym.var("x")
    >>> [
    ...     blocks(net.graph.outputs[0].node)
    ...     for net in (mx.sym.BlockGrad(x), mx.sym.MakeLoss(x), mx.sym.exp(x))
    ... ]
    [True, False, False]
    """
    assert node.operator is not None
    kernels = node.operator.kernels
    # A loss needs no head gradient either, but has a gradient of its own; so may a custom operator.
    own = kernels.gradient is not None or kernels.make is not None
    return not own and not kernels.needs_head_gradient(node.params)
