"""Activations of what a pooling leaves, instead of poolings of what an activation gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...params import Params
from ..facts import Facts, Target
from ..graph import Application, Entry, Graph
from .substitution import substitute

__all__ = ["pool_first"]

#: By operator, whether it never falls where its input rises.
_RISES: Mapping[str, Callable[[Params], bool]] = {
    # Not softsign: rounding its divisor lets it fall a little.
    "Activation": lambda p: p.act_type in ("relu", "sigmoid", "softrelu", "tanh"),
    "relu": lambda p: True,
    "sigmoid": lambda p: True,
    "tanh": lambda p: True,
}


def pool_first(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
    """Let an activation that only a maximum over windows uses come after it, where there are fewer elements.

    The greatest of rising values is the value of the greatest: the numbers are the same, and the gradient goes to the
    same element, or to another with the same value where rounding makes them equal.

    >>> import rebind as mx
    >>> net = mx.sym.Pooling(mx.sym.tanh(mx.sym.var("x"), name="t"), kernel=(2, 2), name="p")
    >>> pool_first(net.graph, Facts(), Target())[0].nodes
    (<variable 'x'>, <Pooling 'p'>, <tanh 't'>)
    """
    if target.spans_devices:
        return graph, facts
    instead: dict[Entry, Entry] = {}
    for node in graph.nodes:
        if not isinstance(node, Application) or not _is_maximum(node):
            continue
        source = node.inputs[0]
        activation = source.node
        if isinstance(activation, Application) and _rises(activation) and graph.uses[source] == 1:
            pooled = Entry(node.with_inputs(activation.inputs))
            instead[Entry(node)] = Entry(activation.with_inputs((pooled,)))
    if not instead:
        return graph, facts
    graph, replaced = substitute(graph, instead)
    return graph, facts.after(replaced)


def _is_maximum(node: Application) -> bool:
    """Whether a node gives maxima of windows, each of which has an element of the data."""
    p = node.params
    if node.operator.name != "Pooling" or p.pool_type != "max":
        return False
    # By the other conventions a window may lie beyond the data: it gives the least number, which is no activation.
    inside = p.pooling_convention == "valid" and all(pad < k for pad, k in zip(p.pad, p.kernel, strict=False))
    return p.global_pool or inside


def _rises(node: Application) -> bool:
    rises = _RISES.get(node.operator.name)
    return rises is not None and rises(node.params)
