"""How much memory the results of a graph take: what is little goes other ways than what is much."""

from __future__ import annotations

import math

import torch

from ..graph import Entry, Facts, Graph
from ..shapes import is_known, size

__all__ = ["bytes_of_results"]


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
