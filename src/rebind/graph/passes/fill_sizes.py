"""Arrays of a size that only their consumers know, made in that size.

The first state of an unrolled network is ``zeros(shape=(0, 200))``: its batch size follows, by inference, from the
addition that uses it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ...errors import ShapeError
from ...params import Params
from ...shapes import is_known
from ..facts import Facts, Target
from ..graph import Entry, Graph, Node, rewrite_with_map

__all__ = ["fill_sizes", "has_open_sizes"]


def has_open_sizes(graph: Graph) -> bool:
    """Whether a node makes an array of a size that follows from its consumers.

    >>> import rebind as mx
    >>> has_open_sizes(mx.sym.zeros(shape=(0, 2)).graph), has_open_sizes(mx.sym.zeros(shape=(1, 2)).graph)
    (True, False)
    """
    return any(map(_is_open, graph.nodes))


def _is_open(node: Node) -> bool:
    return node.operator is not None and node.operator.has_open_size(node.params)


def fill_sizes(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
    """Give nodes of an open size the one that inference found.

    Raises
    ------
    ShapeError
        When a shape does not follow; it names the node.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.graph import infer_shapes
    >>> graph = (mx.sym.zeros(shape=(0, 2), name="z") + mx.sym.var("x")).graph
    >>> filled, _ = fill_sizes(graph, Facts.of(infer_shapes(graph, {"x": (3, 2)})), Target())
    >>> filled.nodes[0].params.shape
    (3, 2)
    """

    def replace(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        if node.is_variable or not node.operator.has_open_size(node.params):
            return None
        shape = facts.shapes.get(Entry(node))
        if not is_known(shape):
            raise node.locate(
                ShapeError(
                    f"shape must be given in full, as it cannot be inferred from the arrays; got {shape}"
                )
            )
        assert shape is not None
        # Not every such operator has a parameter `shape`: each declares which of its parameters the sizes go into.
        found = node.operator.inference.size_keywords(node.params, shape)
        given = {**node.given, **{name: str(value) for name, value in found.items()}}
        params = Params({**node.params, **found})
        return [Entry(dataclasses.replace(node, inputs=inputs, params=params, given=given))]

    graph, replaced = rewrite_with_map(graph, replace)
    return graph, facts.after(replaced)
