"""How each operator is said in ONNX, by families."""

from . import arithmetic, casts, elementwise, layers, reductions

__all__ = [
    "arithmetic",
    "casts",
    "elementwise",
    "layers",
    "reductions",
]
