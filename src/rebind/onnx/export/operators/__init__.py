"""How each operator is said in ONNX, by families."""

from . import layers

__all__ = ["layers"]
