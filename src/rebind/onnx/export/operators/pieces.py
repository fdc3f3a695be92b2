"""What the translations of tensor operators have in common: sizes that may be free, and types."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import onnx_ir as ir
import torch

from ..node_writer import NodeWriter

__all__ = [
    "arange",
    "arithmetic",
    "filled",
    "known_or_size",
    "positions",
    "shape_from",
    "with_integers_as",
]


def with_integers_as(
    writer: NodeWriter, data: ir.Value, dtype: torch.dtype, compute: Callable[[ir.Value], ir.Value]
) -> ir.Value:
    """Return what `compute` makes of the first input; integers are computed in `dtype`, and cut to their own type."""
    own = writer.dtype()
    if own.is_floating_point or own is dtype:
        return compute(data)
    return writer.cast(compute(writer.cast(data, dtype)), own)


def shape_from(writer: NodeWriter, target: Sequence[int | tuple[ir.Value, int] | ir.Value]) -> ir.Value:
    """Return a shape: numbers, sizes ``(value, axis)``, and arrays of sizes, one after the other."""
    if all(isinstance(each, int) for each in target):
        return writer.ints([each for each in target if isinstance(each, int)])
    parts = [
        writer.ints([each])
        if isinstance(each, int)
        else writer.size_of(each[0], each[1])
        if isinstance(each, tuple)
        else each
        for each in target
    ]
    return writer.concat(*parts)


def known_or_size(value: ir.Value, shape: Sequence[int]) -> list[int | tuple[ir.Value, int]]:
    """Return the sizes of a value as `shape_from` takes them: numbers where they are known."""
    return [n or (value, axis) for axis, n in enumerate(shape)]


def arange(writer: NodeWriter, length: ir.Value) -> ir.Value:
    """Return 0, 1, 2, ... as 64-bit integers, as many as an array of one number says."""
    return writer.op("Range", writer.ints(0), writer.squeeze(length, [0]), writer.ints(1))


def positions(writer: NodeWriter, value: ir.Value, known: int, axis: int) -> ir.Value:
    """Return 0, 1, 2, ... along an axis; `known` is its size, 0 where that is free."""
    return writer.ints(range(known)) if known else arange(writer, writer.size_of(value, axis))


def filled(writer: NodeWriter, shape: ir.Value, value: float, dtype: torch.dtype) -> ir.Value:
    """Return an array of one number."""
    return writer.op("Expand", writer.constant(value, dtype), shape)


def arithmetic(writer: NodeWriter, kind: str, lhs: ir.Value, rhs: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write `Add`, `Sub`, `Mul` or `Div`, which take short integers from opset 14 on: before it they are widened."""
    if writer.opset >= 14 or dtype.is_floating_point or dtype.itemsize >= 4:
        return writer.op(kind, lhs, rhs)
    wide = (writer.cast(each, torch.int32) for each in (lhs, rhs))
    return writer.cast(writer.op(kind, *wide), dtype)
