"""Which operators of a network MXNet itself does not have: those that a model of ONNX brought with it."""

from __future__ import annotations

from .graph import Application, Graph

__all__ = ["onnx_operators"]


def onnx_operators(graph: Graph) -> list[str]:
    """Return the names of the operators ``_onnx_X`` in a graph and in the bodies of its loops and branches.

    >>> from rebind import sym
    >>> net = sym._internal._onnx_round(sym.exp(sym.var("x")))
    >>> onnx_operators(net.graph)
    ['_onnx_round']
    """
    operators = [node.operator for node in graph.nodes if isinstance(node, Application)]
    names = {each.name for each in operators if each.name.startswith("_onnx_")}
    return sorted(names.union(*(onnx_operators(body) for each in operators for body in each.subgraphs)))
