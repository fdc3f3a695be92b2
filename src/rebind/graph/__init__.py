"""How a network is understood: nodes, traversal, inference of shapes and types, JSON."""

from .graph import Entry, Graph, Node, check, depth_first, input_variable, rewrite
from .inference import Inferred, infer_shapes, infer_types

__all__ = [
    "Entry",
    "Graph",
    "Inferred",
    "Node",
    "check",
    "depth_first",
    "infer_shapes",
    "infer_types",
    "input_variable",
    "rewrite",
]
