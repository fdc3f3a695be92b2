"""Operators of neural networks: layers, activations, normalizations and pooling."""

from . import activation, convolution, ctc, dropout, linear, normalization, pooling, recurrent, sync_norm

__all__ = [
    "activation", "convolution", "ctc", "dropout", "linear", "normalization", "pooling", "recurrent", "sync_norm",
]  # fmt: skip
