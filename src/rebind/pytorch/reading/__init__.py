"""From a program of `torch.export` to a symbol and its parameters.

`program` makes and prepares one, `graph_reader` walks its graph, and `operators` has a function for each operator of
PyTorch, by families, that says it in MXNet's.
"""

from . import operators
from .program import from_torch, read_pt2

__all__ = ["from_torch", "operators", "read_pt2"]
