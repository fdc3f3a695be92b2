"""Activations, and dropout."""

from __future__ import annotations

import math

from ....symbol import Symbol
from ..node_reader import NodeReader
from ..readings import reading

__all__ = ["dropout"]


@reading("leaky_relu")
def leaky_relu(reader: NodeReader) -> Symbol:
    """Negative elements times a number."""
    slope = float(reader.argument("negative_slope", 0.01))
    return reader.op("LeakyReLU", reader.input(), act_type="leaky", slope=slope)


@reading("elu", "celu")
def elu(reader: NodeReader) -> Symbol:
    """``alpha (exp(x) - 1)`` of negative elements; CELU is ``alpha elu(x / alpha)``."""
    data, alpha = reader.input(), float(reader.argument("alpha", 1))
    if str(reader.node.target).startswith("aten.celu"):
        inner = reader.op("LeakyReLU", reader.scaled(data, 1 / alpha), act_type="elu", slope=1.0)
        return reader.scaled(inner, alpha)
    if (scale := reader.argument("input_scale", 1)) != 1:
        raise reader.refuse(f"input_scale must be 1; got {scale}")
    inner = reader.op("LeakyReLU", data, act_type="elu", slope=alpha)
    return reader.scaled(inner, float(reader.argument("scale", 1)))


@reading("selu")
def selu(reader: NodeReader) -> Symbol:
    """A scaled exponential unit, with constants of its own."""
    inner = reader.op("LeakyReLU", reader.input(), act_type="elu", slope=1.6732632423543772)
    return reader.scaled(inner, 1.0507009873554805)


@reading("prelu", "_prelu_kernel")
def prelu(reader: NodeReader) -> Symbol:
    """Negative elements times a slope that is learnt, one for each channel."""
    gamma = reader.input("weight", "gamma")
    if len(reader.shape("weight")) > 1:
        gamma = reader.op("Reshape", gamma, shape=(-1,))
    return reader.op("LeakyReLU", reader.input(), gamma, act_type="prelu")


@reading("gelu")
def gelu(reader: NodeReader) -> Symbol:
    """A Gaussian error unit, exact or by tanh."""
    data = reader.input()
    if reader.argument("approximate", "none") == "none":
        return reader.op("LeakyReLU", data, act_type="gelu")
    cubed = reader.scaled(reader.op("_power_scalar", data, scalar=3.0), 0.044715)
    inner = reader.scaled(reader.op("broadcast_add", data, cubed), math.sqrt(2 / math.pi))
    one_more = reader.op("_plus_scalar", reader.op("tanh", inner), scalar=1.0)
    return reader.op("broadcast_mul", reader.scaled(data, 0.5), one_more)


@reading("silu")
def silu(reader: NodeReader) -> Symbol:
    """Elements times their sigmoid."""
    data = reader.input()
    return reader.op("broadcast_mul", data, reader.op("sigmoid", data))


@reading("mish")
def mish(reader: NodeReader) -> Symbol:
    """Elements times the tanh of their softplus."""
    data = reader.input()
    return reader.op("broadcast_mul", data, reader.op("tanh", _soft(reader, data)))


def _soft(reader: NodeReader, data: Symbol) -> Symbol:
    return reader.op("Activation", data, act_type="softrelu")


@reading("softplus")
def softplus(reader: NodeReader) -> Symbol:
    """``log(1 + exp(beta x)) / beta``; behind the threshold, where PyTorch gives x, it is x but for rounding."""
    beta = float(reader.argument("beta", 1))
    if (threshold := float(reader.argument("threshold", 20))) < 20:
        raise reader.refuse(f"threshold must be 20 or more; got {threshold}")
    return reader.scaled(_soft(reader, reader.scaled(reader.input(), beta)), 1 / beta)


@reading("log_sigmoid", "log_sigmoid_forward")
def log_sigmoid(reader: NodeReader) -> list[Symbol | None] | Symbol:
    """The logarithm of the sigmoid."""
    found = reader.op("negative", _soft(reader, reader.op("negative", reader.input())))
    return [found, None] if isinstance(reader.node.meta["val"], tuple | list) else found


@reading("hardsigmoid")
def hard_sigmoid(reader: NodeReader) -> Symbol:
    """A line between 0 and 1."""
    return reader.op("hard_sigmoid", reader.input(), alpha=1 / 6, beta=0.5)


@reading("hardswish")
def hard_swish(reader: NodeReader) -> Symbol:
    """Elements times a line between 0 and 1."""
    data = reader.input()
    return reader.op("broadcast_mul", data, reader.op("hard_sigmoid", data, alpha=1 / 6, beta=0.5))


@reading("softshrink", "hardshrink")
def shrink(reader: NodeReader) -> Symbol:
    """0 for elements near it; others as they are, or nearer to it."""
    data, limit = reader.input(), float(reader.argument("lambd", 0.5))
    bias = limit if str(reader.node.target).startswith("aten.softshrink") else 0.0
    above = reader.op("_greater_scalar", data, scalar=limit)
    below = reader.op("_lesser_scalar", data, scalar=-limit)
    high = reader.op("broadcast_mul", above, reader.op("_minus_scalar", data, scalar=bias))
    low = reader.op("broadcast_mul", below, reader.op("_plus_scalar", data, scalar=bias))
    return reader.op("broadcast_add", high, low)


@reading("threshold")
def threshold(reader: NodeReader) -> Symbol:
    """Elements above a threshold, and a number for the others."""
    data = reader.input()
    above = reader.op("_greater_scalar", data, scalar=float(reader.argument("threshold")))
    other = reader.scaled(reader.op("ones_like", data), float(reader.argument("value")))
    return reader.op("where", above, data, other)


@reading("glu")
def gated(reader: NodeReader) -> Symbol:
    """One half times the sigmoid of the other."""
    first, second = reader.op("SliceChannel", reader.input(), num_outputs=2, axis=reader.argument("dim", -1))
    return reader.op("broadcast_mul", first, reader.op("sigmoid", second))


@reading("rebind.dropout", "native_dropout")
def dropout(reader: NodeReader) -> list[Symbol | None] | Symbol:
    """Dropout, which acts in training: of elements, or of whole channels."""
    if str(reader.node.target).startswith("aten"):
        return [reader.op("Dropout", reader.input(), p=float(reader.argument("p"))), None]
    axes = tuple(range(2, reader.rank("data"))) if reader.argument("channels") else None
    return reader.op("Dropout", reader.input("data"), p=float(reader.argument("p")), axes=axes)
