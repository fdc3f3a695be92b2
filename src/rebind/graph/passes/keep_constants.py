"""Inference with what depends on no array computed once: positions, masks, zeros to begin with."""

from __future__ import annotations

from dataclasses import replace

from ...ops import Operator
from ..facts import Facts, Target
from ..graph import Application, Entry, Graph, Node
from .substitution import substitute

__all__ = ["has_constants", "keep_constants"]


def has_constants(graph: Graph) -> bool:
    """Whether a node of a graph has no inputs, and is no variable.

    >>> import rebind as mx
    >>> has_constants(mx.sym.arange(3).graph), has_constants(mx.sym.exp(mx.sym.var("x")).graph)
    (True, False)
    """
    return any(isinstance(node, Application) and not node.inputs for node in graph.nodes)


def keep_constants(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
    """Keep from run to run what follows from no variable, draws nothing and remembers nothing; in inference.

    What leaves the graph is computed in each run, since the caller may write into it.

    >>> import rebind as mx
    >>> graph = mx.sym.broadcast_mul(mx.sym.var("x"), mx.sym.exp(mx.sym.arange(3))).graph
    >>> retained, _ = keep_constants(graph, Facts(), Target())
    >>> [node.operator.kernels.prepared for node in retained.nodes if node.operator]
    [True, True, False]
    """
    if target.training or target.spans_devices:
        return graph, facts
    constant: set[Node] = set()
    for node in graph.nodes:
        known = all(entry.node in constant for entry in node.inputs)
        if isinstance(node, Application) and known and _is_repeatable(node):
            constant.add(node)
    leaving = {entry.node for entry in graph.outputs}
    instead: dict[Entry, Entry] = {}
    for node in constant - leaving:
        assert isinstance(node, Application)
        made = replace(node, operator=_prepared(node.operator))
        instead |= {Entry(node, i): Entry(made, i) for i in range(len(node.output_names))}
    if not instead:
        return graph, facts
    graph, replaced = substitute(graph, instead)
    return graph, facts.after(replaced)


def _is_repeatable(node: Application) -> bool:
    op = node.operator
    return not (
        op.kernels.prepared
        or op.kernels.make
        or op.subgraphs
        or op.signature.aux_names
        or op.draws(node.params, training=False)
        or op.has_open_size(node.params)
    )


def _prepared(op: Operator) -> Operator:
    """Return an operator whose results are retained."""
    return Operator(op.name, op.signature, replace(op.kernels, prepared=True), op.inference, op.record)
