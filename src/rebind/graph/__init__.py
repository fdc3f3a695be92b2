"""How a network is understood: nodes, traversal, inference of shapes and types, JSON."""

from .deployment import Deployment, deployed
from .facts import EntryFacts, Facts, Target
from .graph import (
    Application,
    Entry,
    Graph,
    Node,
    Variable,
    check,
    depth_first,
    input_variable,
    rewrite,
    rewrite_with_map,
)
from .inference import Inferred, infer_shapes, infer_types
from .numpy_shapes import infer_numpy_shapes
from .open_sizes import open_nodes
from .storage_inference import infer_gradient_storage, infer_storage

__all__ = [
    "Application",
    "Deployment",
    "Entry",
    "EntryFacts",
    "Facts",
    "Graph",
    "Inferred",
    "Node",
    "Target",
    "Variable",
    "check",
    "deployed",
    "depth_first",
    "infer_gradient_storage",
    "infer_numpy_shapes",
    "infer_shapes",
    "infer_storage",
    "infer_types",
    "input_variable",
    "open_nodes",
    "rewrite",
    "rewrite_with_map",
]
