"""Regions of arrays, and arrays with such a region replaced."""

from __future__ import annotations

import onnx_ir as ir

from ....shapes import normalize_axis
from ..node_writer import NodeWriter
from ..translations import translation
from .arithmetic import number_as
from .pieces import arange, filled, known_or_size, shape_from

__all__ = ["slice_", "slice_assign", "slice_axis", "slice_like"]

#: What ONNX reads as "from the first", "to the last".
_FIRST, _LAST = -(2**63), 2**63 - 1


def _region(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the region that ranges along the first axes choose, as Python's slices do."""
    p = writer.params
    steps = [step or 1 for step in p.step or (1,) * len(p.begin)]
    begins = [
        ((_LAST if step < 0 else 0) if begin is None else begin)
        for begin, step in zip(p.begin, steps, strict=True)
    ]
    ends = [
        ((_FIRST if step < 0 else _LAST) if end is None else end)
        for end, step in zip(p.end, steps, strict=True)
    ]
    axes = range(len(begins))
    return writer.op("Slice", data, *(writer.ints(each) for each in (begins, ends, axes, steps)))


@translation("slice")
def slice_(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write a slice of the first axes."""
    return _region(writer, data)


@translation("slice_axis")
def slice_axis(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write a slice of one axis."""
    p = writer.params
    end = _LAST if p.end is None else p.end
    return writer.op("Slice", data, *(writer.ints([each]) for each in (p.begin, end, p.axis)))


@translation("slice_like")
def slice_like(writer: NodeWriter, data: ir.Value, shape_like: ir.Value) -> ir.Value:
    """Write the beginning of an array, as large as another on all axes or on some."""
    rank, like = writer.rank(), writer.shape(1)
    # Counted on data for both, as MXNet does.
    axes = [normalize_axis(axis, rank, "axes") for axis in writer.params.axes or range(rank)]
    of_like = known_or_size(shape_like, like)
    ends = shape_from(writer, [of_like[axis] for axis in axes])
    return writer.op("Slice", data, writer.ints([0] * len(axes)), ends, writer.ints(axes))


def _replaced(writer: NodeWriter, data: ir.Value, value: ir.Value | None) -> ir.Value:
    """Write a copy of an array whose region is a value, or the parameter `scalar`."""
    shape = writer.shape_of(data)
    # The positions of the region in the flattened array: those of all elements, sliced as the array would be.
    everywhere = writer.op("Reshape", arange(writer, writer.reshape(writer.op("Size", data), [1])), shape)
    where = writer.reshape(_region(writer, everywhere), [-1])
    if value is None:
        number = number_as(writer.dtype(), writer.params.scalar)
        value = filled(writer, writer.shape_of(where), number, writer.dtype())
    flat = writer.op(
        "ScatterElements", writer.reshape(data, [-1]), where, writer.reshape(value, [-1]), axis=0
    )
    return writer.op("Reshape", flat, shape)


@translation("_slice_assign")
def slice_assign(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Write a copy of `lhs` whose region is `rhs`."""
    return _replaced(writer, lhs, rhs)


@translation("_slice_assign_scalar")
def slice_assign_scalar(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write a copy of an array whose region is one number."""
    return _replaced(writer, data, None)
