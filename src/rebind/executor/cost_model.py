"""How much memory the results of a graph take: what is little goes other ways than what is much."""

from __future__ import annotations

import math

import torch

from ..graph import Entry, Facts, Graph
from ..shapes import is_known, size

__all__ = ["are_small", "bytes_of_results"]

#: Bytes of all results of a forward run up to which each may be retained until the end of backward.
_SMALL_RESULTS = 8 * 2**20


def bytes_of_results(graph: Graph, facts: Facts) -> float:
    """Return how much memory the results of all operators take together; infinity where a shape is not known.

    >>> import rebind as mx
    >>> from rebind.graph import infer_shapes
    >>> graph = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=1000).graph
    >>> bytes_of_results(graph, Facts.of(infer_shapes(graph, {"x": (100, 10)})))
    400000
    """
    total = 0
    for node in graph.nodes:
        if node.operator is None:
            continue
        for i in range(len(node.output_names)):
            shape = facts.shapes.get(Entry(node, i))
            if shape is None or not is_known(shape):
                return math.inf
            total += size(shape) * facts.types.get(Entry(node, i), torch.float32).itemsize
    return total


def are_small(results: float) -> bool:
    """Whether results of so many bytes, of all operators, take little memory together.

    >>> are_small(2**20), are_small(2**30)
    (True, False)
    """
    return results <= _SMALL_RESULTS
