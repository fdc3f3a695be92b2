"""Which nodes may write their result over an input: the same values with less memory allocated and touched."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

from ..graph import Application, Entry, Graph, Node

__all__ = ["Overwriting", "overwriting_kernels"]


class Overwriting(NamedTuple):
    """How a node writes its result over an input.

    Attributes
    ----------
    kernel
        What computes it.
    entry
        The input.
    """

    kernel: Callable[..., Tensor]
    entry: Entry


def overwriting_kernels(graph: Graph, recorded: bool = True) -> dict[Node, Overwriting]:
    """Return, for nodes that may overwrite an input, the kernel to use instead of their operator's own.

    A node may overwrite an input that nothing else uses (no other node, no output of the graph), whose producer made it
    in memory of its own and does not need it for its gradient: the activation after a convolution or a batch norm, the
    sum at the end of a residual block. Where no gradient will be asked for (not `recorded`), it may also have been used
    before, by nodes that have read it when they are done.

    >>> import rebind as mx
    >>> layer = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2)
    >>> [
    ...     node.name
    ...     for node in overwriting_kernels(mx.sym.Activation(layer, act_type="relu", name="relu").graph)
    ... ]
    ['relu']
    """
    users: defaultdict[Entry, list[Application]] = defaultdict(list)
    for node in graph.nodes:
        if isinstance(node, Application):
            for entry in node.inputs:
                users[entry].append(node)

    def is_free(entry: Entry, node: Application) -> bool:
        """Whether nothing needs the value once the node has run."""
        *before, last = users[entry]
        # More uses than users: it is an output of the graph too.
        if last is not node or graph.uses[entry] != len(users[entry]):
            return False
        # What does not own its result may have returned a view of its input.
        return not before or not (recorded or node in before or any(map(_may_share, before)))

    found = {node: _kernel(node, is_free) for node in graph.nodes if isinstance(node, Application)}
    return {node: overwriting for node, overwriting in found.items() if overwriting is not None}


def _may_share(node: Application) -> bool:
    return not node.operator.kernels.owns_output


def _kernel(node: Application, is_free: Callable[[Entry, Application], bool]) -> Overwriting | None:
    for name, entry in zip(node.input_names, node.inputs, strict=True):
        # Only a first output can be memory of its own (`Kernels.owns_output`).
        producer = entry.node.operator
        if producer is None or not producer.kernels.owns_output or entry.index or not is_free(entry, node):
            continue
        kernel = node.operator.kernels.over_input(name, node.params)
        if kernel is not None:
            return Overwriting(kernel, entry)
    return None
