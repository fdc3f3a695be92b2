"""From an ONNX model to a symbol and its parameters.

`files` reads and checks a file, `graph_reader` walks its graph, and `operators` has a function for each operator of
ONNX, by families, that says it in MXNet's.
"""

from . import operators
from .importing import import_model, import_to_gluon, read_model

__all__ = ["import_model", "import_to_gluon", "operators", "read_model"]
