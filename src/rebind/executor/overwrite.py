"""Which nodes may write their result over an input: less memory is taken, and touched, for the same numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from ..graph import Entry, Graph, Node

__all__ = ["count_uses", "overwriting_kernels"]


def count_uses(graph: Graph) -> Counter[Entry]:
    """Return how often each entry is an input of a node or an output of the graph."""
    uses = Counter(entry for node in graph.nodes for entry in node.inputs)
    uses.update(graph.outputs)
    return uses


def overwriting_kernels(graph: Graph) -> dict[int, Callable[..., Any]]:
    """Return, by the id of a node, the kernel to use in place of its operator's own.

    A node may overwrite an input that nothing else uses (no other node, no output of the graph), whose producer made it
    in memory of its own and does not need it for its gradient: the activation behind a convolution or a batch norm, the
    sum at the end of a residual block.
    """
    uses = count_uses(graph)
    found: dict[int, Callable[..., Any]] = {}
    for node in graph.nodes:
        kernel = _kernel(node, uses)
        if kernel is not None:
            found[id(node)] = kernel
    return found


def _kernel(node: Node, uses: Counter[Entry]) -> Callable[..., Any] | None:
    op = node.operator
    if op is None:
        return None
    for name, entry in zip(node.input_names, node.inputs, strict=True):
        producer = entry.node.operator
        if producer is None or not producer.owns_output or entry.index or uses[entry] != 1:
            continue
        kernel = op.in_place_kernel(name, node.params)
        if kernel is not None:
            return kernel
    return None
