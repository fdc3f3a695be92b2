"""Inference without operators that give their input as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...params import Params
from ..facts import Facts, Target
from ..graph import Application, Entry, Graph
from .substitution import substitute

__all__ = ["IDENTITIES", "drop_identities"]

#: Operators that give their first input in inference, for parameters.
IDENTITIES: Mapping[str, Callable[[Params], bool]] = {
    "BlockGrad": lambda p: True,
    "Dropout": lambda p: p.mode == "training",
    "_copy": lambda p: True,
}


def _is_identity(node: Application) -> bool:
    holds = IDENTITIES.get(node.operator.name)
    return holds is not None and holds(node.params)


def drop_identities(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
    """Let what follows a `Dropout`, or another operator that does nothing in inference, use its input.

    >>> import rebind as mx
    >>> graph = mx.sym.tanh(mx.sym.Dropout(mx.sym.var("x")), name="tanh").graph
    >>> drop_identities(graph, Facts(), Target())[0].nodes
    (<variable 'x'>, <tanh 'tanh'>)
    """
    if target.training:
        return graph, facts
    outputs = set(graph.outputs)
    instead: dict[Entry, Entry] = {}
    for node in graph.nodes:
        # A variable as an output would be the caller's array.
        if isinstance(node, Application) and _is_identity(node) and Entry(node) not in outputs:
            source = node.inputs[0]
            instead[Entry(node)] = instead.get(source, source)
    if not instead:
        return graph, facts
    graph, replaced = substitute(graph, instead)
    return graph, facts.after(replaced)
