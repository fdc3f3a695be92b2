"""How much memory the results of a graph take: what is little goes other ways than what is much."""

from __future__ import annotations

import math

import torch

from ..graph import Entry, Facts, Graph
from ..shapes import is_known, size

__all__ = ["bytes_of_results", "is_small", "multiply_adds"]


#: Multiply-adds of a forward run up to which one thread computes it, with backward and by itself. Measured with two on
#: networks of fully connected layers: training took as long with one thread (3 million), 1.1 (7), 1.2 (10 to 45) and
#: 1.5 times as long (150); inference 1.2 (1 to 3) and 1.5 (7 to 15). Beside two busy loops training took 1.5 to 3 times
#: as long with two threads, inference 2.2 and more up to 3 million, and 1.4 at 7.
_SMALL, _SMALL_INFERENCE = 8_000_000, 5_000_000
#: To read a number from the processor's outer cache takes about as long as so many multiply-adds: a few rows times a
#: large weight take as long as the weight is large.
_READING = 5


def multiply_adds(graph: Graph, facts: Facts) -> int | None:
    """Return about how many multiply-adds a forward run takes; None where an operator does not say.

    Products count as their operators declare, or as reading the largest input takes; of the others, each element of an
    output counts as one.

    >>> import rebind as mx
    >>> from rebind.graph import infer_shapes
    >>> graph = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=10).graph
    >>> multiply_adds(graph, Facts.of(infer_shapes(graph, {"x": (8, 100)})))
    8080
    """
    total = 0
    for node in graph.nodes:
        if node.operator is None:
            continue
        inference = node.operator.inference
        shapes = [facts.shapes.get(entry) for entry in node.inputs]
        results = [facts.shapes.get(Entry(node, i)) for i in range(len(node.output_names))]
        known = [shape for shape in (*shapes, *results) if shape is not None]
        # Only of common operators is it known that they do not compute much more than they return.
        if inference.forward_rule is None or len(known) < len(shapes) or not all(map(is_known, known)):
            return None
        total += sum(size(shape) for shape in results if shape is not None)
        if inference.products_rule is not None:
            products = inference.products_rule(dict(zip(node.input_names, shapes, strict=True)), node.params)
            total += max(products, _READING * max(size(shape) for shape in shapes if shape is not None))
    return total


def is_small(effort: int | None, inference: bool = False) -> bool:
    """Whether one thread is left to run a graph of so many multiply-adds; see `OneThread`.

    >>> [is_small(effort) for effort in (7_000_000, None)], is_small(7_000_000, inference=True)
    ([True, False], False)
    """
    return effort is not None and effort <= (_SMALL_INFERENCE if inference else _SMALL)


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
