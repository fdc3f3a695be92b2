"""What reads the operators of PyTorch, by families: importing them fills the table."""

from . import (
    activations,
    attention,
    control_flow,
    convolutions,
    creation,
    elementwise,
    indexing,
    matrices,
    normalization,
    pooling,
    recurrent,
    reductions,
    resampling,
    shapes,
)  # fmt: skip

__all__ = [
    "activations", "attention", "control_flow", "convolutions", "creation", "elementwise", "indexing", "matrices",
    "normalization", "pooling", "recurrent", "reductions", "resampling", "shapes",
]  # fmt: skip
