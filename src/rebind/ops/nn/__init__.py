"""Operators of neural networks: layers, activations, normalizations and pooling."""

from . import activation, convolution, dropout, linear, normalization, pooling, recurrent

__all__ = ["activation", "convolution", "dropout", "linear", "normalization", "pooling", "recurrent"]
