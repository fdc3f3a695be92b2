"""Operators of neural networks: layers, activations, normalizations and pooling."""

from . import (
    activation,
    batch_norm,
    convolution,
    ctc,
    dropout,
    joined_cells,
    linear,
    memory_order,
    normalization,
    pooling,
    recurrent,
    softmax,
    sync_norm,
)  # fmt: skip

__all__ = [
    "activation", "batch_norm", "convolution", "ctc", "dropout", "joined_cells", "linear", "memory_order",
    "normalization", "pooling", "recurrent", "softmax", "sync_norm",
]  # fmt: skip
