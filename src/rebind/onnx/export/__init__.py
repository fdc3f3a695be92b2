"""From a symbol and its parameters to an ONNX model.

`graph_writer` walks the graph; `operators` has a function for each operator, by families, that says it in ONNX's.
"""

from . import operators
from .graph_writer import to_onnx

__all__ = ["operators", "to_onnx"]
