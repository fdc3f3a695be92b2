"""Elements chosen by arrays of indices, and elements written to such positions.

Indices of any type are cut to whole numbers, as ONNX's `Cast` does. Where MXNet's mode is ``raise``, ONNX's own
check remains; it counts negative indices from the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import onnx_ir as ir
import torch

from ....shapes import normalize_axis
from ..node_writer import NodeWriter
from ..translations import translation
from .pieces import filled, positions, shape_from

__all__ = [
    "gather_nd",
    "one_hot",
    "pick",
    "ravel_multi_index",
    "scatter_nd",
    "take",
    "unravel_index",
    "within",
]


def within(writer: NodeWriter, indices: ir.Value, data: ir.Value, axis: int, mode: str) -> ir.Value:
    """Return indices as 64-bit integers in the range of an axis of the first input."""
    whole, known = writer.cast(indices, torch.int64), writer.shape()[axis]
    if mode == "raise":
        return whole
    size = writer.ints([known]) if known else writer.size_of(data, axis)
    if mode == "wrap":
        return writer.op("Mod", whole, size)
    last = writer.ints([known - 1]) if known else writer.op("Sub", size, writer.ints([1]))
    return writer.op("Min", writer.op("Max", whole, writer.ints([0])), last)


@translation("take")
def take(writer: NodeWriter, a: ir.Value, indices: ir.Value) -> ir.Value:
    """Write slices at indices, whose axes replace the axis."""
    p = writer.params
    return writer.op("Gather", a, within(writer, indices, a, p.axis, p.mode), axis=p.axis)


@translation("pick")
def pick(writer: NodeWriter, data: ir.Value, index: ir.Value) -> ir.Value:
    """Write one element along an axis for each position on the others."""
    p, shape = writer.params, writer.shape()
    axis = normalize_axis(p.axis, len(shape), "axis")
    where = within(writer, index, data, axis, p.mode)
    if len(writer.shape(1)) < len(shape):
        where = writer.unsqueeze(where, [axis])
    chosen = writer.op("GatherElements", data, where, axis=axis)
    return chosen if p.keepdims or len(shape) == 1 else writer.squeeze(chosen, [axis])


@translation("batch_take")
def batch_take(writer: NodeWriter, a: ir.Value, indices: ir.Value) -> ir.Value:
    """Write one element of each row."""
    where = writer.unsqueeze(within(writer, indices, a, 1, "clip"), [1])
    return writer.squeeze(writer.op("GatherElements", a, where, axis=1), [1])


@translation("one_hot")
def one_hot(writer: NodeWriter, indices: ir.Value) -> ir.Value:
    """Write vectors that differ at an index; by comparison, since ONNX's `OneHot` counts negative ones from the end."""
    p, dtype = writer.params, writer.output_dtype()
    index = writer.unsqueeze(writer.cast(indices, torch.int64), [-1])
    hit = writer.op("Equal", index, writer.ints(range(p.depth)))
    on, off = (value if dtype.is_floating_point else int(value) for value in (p.on_value, p.off_value))
    return writer.op("Where", hit, writer.constant(on, dtype), writer.constant(off, dtype))


def _last(writer: NodeWriter, indices: ir.Value, index: int) -> ir.Value:
    """Return coordinates, which MXNet has in the first axis, as ONNX has them: in the last one."""
    rank = writer.rank(index)
    return writer.op("Transpose", writer.cast(indices, torch.int64), perm=[*range(1, rank), 0])


@translation("gather_nd")
def gather_nd(writer: NodeWriter, data: ir.Value, indices: ir.Value) -> ir.Value:
    """Write elements or slices at coordinates."""
    return writer.op("GatherND", data, _last(writer, indices, 1))


@translation("scatter_nd")
def scatter_nd(writer: NodeWriter, data: ir.Value, indices: ir.Value) -> ir.Value:
    """Write zeros with elements or slices at coordinates."""
    zeros = filled(writer, writer.ints(writer.params.shape), 0, writer.dtype())
    return writer.op("ScatterND", zeros, _last(writer, indices, 1), data)


@translation("_scatter_set_nd")
def scatter_set_nd(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value, indices: ir.Value) -> ir.Value:
    """Write a copy of an array with elements or slices replaced at coordinates."""
    return writer.op("ScatterND", lhs, _last(writer, indices, 2), rhs)


def _steps(shape: Sequence[int]) -> list[int]:
    """Return how many elements a step along each axis passes."""
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


@translation("_ravel_multi_index")
def ravel_multi_index(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write positions in a flattened array from coordinates, in their type."""
    steps = writer.constant(_steps(writer.params.shape), writer.dtype())
    steps = writer.unsqueeze(steps, range(1, writer.rank())) if writer.rank() > 1 else steps
    return writer.reduce("ReduceSum", writer.op("Mul", data, steps), [0], keepdims=writer.rank() == 1)


@translation("_unravel_index")
def unravel_index(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write coordinates from positions in a flattened array."""
    rest = writer.cast(data, torch.int64)
    rows = []
    # From the last axis to the first; what is left at the end is the first coordinate.
    for size in writer.params.shape[:0:-1]:
        rows.append(writer.op("Mod", rest, writer.ints(size)))
        rest = writer.op("Div", writer.op("Sub", rest, rows[-1]), writer.ints(size))
    rows.append(rest)
    stacked = writer.concat(*[writer.unsqueeze(row, [0]) for row in rows[::-1]])
    return writer.cast(stacked, writer.dtype())


@translation("fill_element_0index")
def fill_element_0index(writer: NodeWriter, lhs: ir.Value, mhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Write a matrix with one element of each row replaced; a column out of range matches none."""
    columns = positions(writer, lhs, writer.shape()[1], 1)
    hit = writer.op("Equal", columns, writer.unsqueeze(writer.cast(rhs, torch.int64), [1]))
    return writer.op("Where", hit, writer.unsqueeze(mhs, [1]), lhs)


@translation("_onehot_encode")
def onehot_encode(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Write rows in the shape of `rhs` that are 1 at a column."""
    columns = positions(writer, rhs, writer.shape(1)[1], 1)
    hit = writer.op("Equal", columns, writer.unsqueeze(writer.cast(lhs, torch.int64), [1]))
    return writer.cast(hit, writer.dtype(1))


@translation("_contrib_index_array")
def index_array(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the coordinates of each element."""
    shape, rank = writer.shape(), writer.rank()
    axes = range(rank) if writer.params.axes is None else writer.params.axes
    target = shape_from(writer, [writer.shape_of(data)])
    columns = []
    for axis in (normalize_axis(each, rank, "axes") for each in axes):
        along = positions(writer, data, shape[axis], axis)
        others = [at for at in range(rank) if at != axis]
        along = writer.unsqueeze(along, others) if others else along
        columns.append(writer.unsqueeze(writer.op("Expand", along, target), [rank]))
    return writer.concat(*columns, axis=rank)
