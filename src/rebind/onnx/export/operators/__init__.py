"""How each operator is said in ONNX, by families."""

from . import (
    arithmetic,
    casts,
    elementwise,
    indexing,
    joining,
    layers,
    ordering,
    reductions,
    reshaping,
    sequences,
    slicing,
)

__all__ = [
    "arithmetic",
    "casts",
    "elementwise",
    "indexing",
    "joining",
    "layers",
    "ordering",
    "reductions",
    "reshaping",
    "sequences",
    "slicing",
]
