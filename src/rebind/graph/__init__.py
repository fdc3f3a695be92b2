"""How a network is understood: nodes, traversal, inference of shapes and types, JSON."""

from .graph import Entry, Graph, Node, check, input_variable, rewrite
from .inference import Inferred, infer_shapes, infer_types

__all__ = [
    "Entry",
    "Graph",
    "Inferred",
    "Node",
    "check",
    "infer_shapes",
    "infer_types",
    "input_variable",
    "rewrite",
]
