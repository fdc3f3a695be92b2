"""Symbols, arrays and generators that are checked."""

import numpy as np

import rebind as mx

X, Y = mx.sym.var("x"), mx.sym.var("y")
ONES = np.ones((2, 2))

NET = mx.sym.FullyConnected(X, num_hidden=2, name="fc")
OTHER = mx.sym.FullyConnected(X, num_hidden=2, name="fc") * 1.01


def positions(*types):
    return [{"ctx": mx.cpu(i), "x": (2, 3), "type_dict": {"x": kind}} for i, kind in enumerate(types)]


def normal(loc=0.0, scale=1.0):
    generator = np.random.default_rng(3)
    return lambda n: generator.normal(loc, scale, n).astype(np.float32)
