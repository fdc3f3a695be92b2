"""Which nodes may write their result over an input: the same values with less memory allocated and touched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from torch import Tensor

from ..graph import Entry, Graph, Node

__all__ = ["overwriting_kernels"]


def overwriting_kernels(graph: Graph) -> dict[Node, Callable[..., Tensor]]:
    """Return, for nodes that may overwrite an input, the kernel to use instead of their operator's own.

    A node may overwrite an input that nothing else uses (no other node, no output of the graph), whose producer made it
    in memory of its own and does not need it for its gradient: the activation after a convolution or a batch norm, the
    sum at the end of a residual block.

    >>> import rebind as mx
    >>> layer = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2)
    >>> [
    ...     node.name
    ...     for node in overwriting_kernels(mx.sym.Activation(layer, act_type="relu", name="relu").graph)
    ... ]
    ['relu']
    """
    found = {node: _kernel(node, graph.uses) for node in graph.nodes}
    return {node: kernel for node, kernel in found.items() if kernel is not None}


def _kernel(node: Node, uses: Counter[Entry]) -> Callable[..., Tensor] | None:
    op = node.operator
    if op is None:
        return None
    for name, entry in zip(node.input_names, node.inputs, strict=True):
        # Only a first output can be memory of its own (`Kernels.owns_output`).
        producer = entry.node.operator
        if producer is None or not producer.kernels.owns_output or entry.index or uses[entry] != 1:
            continue
        kernel = op.kernels.over_input(name, node.params)
        if kernel is not None:
            return kernel
    return None
