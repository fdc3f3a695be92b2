"""Nodes that make arrays of a size that cannot be inferred."""

from __future__ import annotations

from collections.abc import Callable

from ..shapes import Shape, is_known
from .graph import Application, Entry, Graph
from .inference import Inferred

__all__ = ["open_nodes"]


def open_nodes(
    graph: Graph, shapes: Inferred[Shape], known: Callable[[Shape | None], bool] = is_known
) -> list[Application]:
    """Return nodes that make an array of a size that must follow from their consumers and does not.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.graph import infer_shapes
    >>> state, x = mx.sym.zeros(shape=(0, 3), name="state"), mx.sym.var("x")
    >>> for net in (state + x, mx.sym.broadcast_add(mx.sym.sum(state), x)):
    ...     open_nodes(net.graph, infer_shapes(net.graph, {"x": (2, 3)}))
    []
    [<_zeros 'state'>]
    """
    return [
        node
        for node in graph.nodes
        if not node.is_variable
        and node.operator.has_open_size(node.params)
        and not known(shapes.of(Entry(node)))
    ]
