"""Levels of 8 bits and the real numbers that they are worth: constants, where their ranges are known."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import torch

from ..expressions import Expression, numbers, where
from ..node_writer import NodeWriter

__all__ = [
    "REAL", "as_levels", "from_levels", "in_float32", "known_numbers", "magnitude", "negated", "product_of",
    "quotient_of", "without_axes",
]  # fmt: skip

#: Where a value notes the real numbers that its whole numbers stand for.
REAL = "real"


def in_float32(writer: NodeWriter, value: ir.Value) -> Expression:
    """Return an array of float32."""
    return Expression(writer, value, torch.float32)


def known_numbers(value: ir.Value) -> np.ndarray | None:
    """Return the numbers of a constant or a parameter: ranges that are known are computed while a graph is written."""
    return None if value.const_value is None else value.const_value.numpy()


def magnitude(writer: NodeWriter, low: ir.Value, high: ir.Value) -> Expression:
    """Return the larger absolute value of the two ends of a range, in shape (1,): a constant, if both are known."""
    known = known_numbers(low), known_numbers(high)
    if known[0] is not None and known[1] is not None:
        return numbers(writer, np.maximum(np.abs(known[0]), np.abs(known[1])).reshape(1))
    return in_float32(writer, low).apply("Abs").maximum(in_float32(writer, high).apply("Abs")).reshape(1)


def product_of(one: Expression, other: Expression | float) -> Expression:
    """Return a product, as a constant where both factors are known."""
    known = known_numbers(one.value)
    factor = known_numbers(other.value) if isinstance(other, Expression) else np.float32(other)
    if known is None or factor is None:
        return one * other
    return numbers(one.writer, known.astype(np.float32) * factor)


def without_axes(number: Expression) -> ir.Value:
    """Return an array of one number without axes, as scales are."""
    known = known_numbers(number.value)
    return (
        number.apply("Reshape", number.writer.ints([])).value
        if known is None
        else (number.writer.constant(known.reshape(()).astype(np.float32)))
    )


def from_levels(writer: NodeWriter, levels: ir.Value, level: Expression, dtype: torch.dtype) -> Expression:
    """Return the real numbers of levels in a type; `level` is what one is worth."""
    zero = writer.constant(0, dtype)  # written, for runtimes join only what has it
    return in_float32(writer, writer.op("DequantizeLinear", levels, without_axes(level), zero))


def as_levels(real: Expression, largest: Expression, count: float, dtype: torch.dtype) -> ir.Value:
    """Return real numbers as the nearest levels; `largest` is what the last of `count` levels is worth.

    Where that is known, ONNX's operator does it, which runtimes join with others.
    """
    writer, known = real.writer, known_numbers(largest.value)
    zero = writer.constant(0, dtype)
    if known is not None:
        scale = numbers(writer, np.where(known > 0, known / np.float32(count), np.inf))
        return writer.op("QuantizeLinear", real.value, without_axes(scale), zero)
    levels = real * quotient_of(numbers(writer, [count]), largest)
    # The operator rounds and cuts as MXNet does; the factor is multiplied before, which rounds as MXNet does too.
    return writer.op("QuantizeLinear", levels.value, writer.constant(1.0, torch.float32), zero)


def negated(number: Expression) -> ir.Value:
    """Return a number with the other sign, as a constant where it is known."""
    return product_of(number, -1.0).value


def quotient_of(one: Expression, other: Expression) -> Expression:
    """Return a quotient, 0 where the divisor is, as a constant where both are known."""
    known, divisor = known_numbers(one.value), known_numbers(other.value)
    if known is None or divisor is None:
        return where(other > 0.0, one / other, 0.0)
    return numbers(one.writer, np.divide(known, divisor, out=np.zeros_like(known), where=divisor > 0))
