"""Arrays joined, split and repeated."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import onnx_ir as ir

from ....shapes import normalize_axis
from ..node_writer import NodeWriter
from ..translations import translation
from .arithmetic import number_as
from .pieces import arange, known_or_size, shape_from

__all__ = ["broadcast_like", "concat", "pad", "repeat", "slice_channel", "split_v2", "stack", "tile"]


@translation("Concat")
def concat(writer: NodeWriter, *data: ir.Value) -> ir.Value:
    """Write arrays joined along an axis."""
    return writer.op("Concat", *data, axis=writer.params.dim)


@translation("stack")
def stack(writer: NodeWriter, *data: ir.Value) -> ir.Value:
    """Write arrays joined along a new axis."""
    axis = writer.params.axis
    return writer.op("Concat", *(writer.unsqueeze(each, [axis]) for each in data), axis=axis)


def _sections(writer: NodeWriter, data: ir.Value, count: int) -> Sequence[ir.Value]:
    """Write equal sections; with `squeeze_axis` they lack the axis, unless it is the only one."""
    axis = writer.params.axis
    if count == 1:
        sections: Sequence[ir.Value] = [writer.op("Identity", data)]
    else:
        number = count if writer.opset >= 18 else None
        sections = writer.op_of_many("Split", count, data, axis=axis, num_outputs=number)
    return _squeezed(writer, sections)


def _squeezed(writer: NodeWriter, sections: Sequence[ir.Value]) -> Sequence[ir.Value]:
    if not writer.params.squeeze_axis or writer.rank() == 1:
        return sections
    return [writer.squeeze(each, [writer.params.axis]) for each in sections]


@translation("SliceChannel")
def slice_channel(writer: NodeWriter, data: ir.Value) -> Sequence[ir.Value]:
    """Write equal sections along an axis."""
    return _sections(writer, data, writer.params.num_outputs)


@translation("_split_v2")
def split_v2(writer: NodeWriter, data: ir.Value) -> Sequence[ir.Value]:
    """Write sections along an axis: equal ones, or from each of the indices to the next."""
    p = writer.params
    if p.sections:
        return _sections(writer, data, p.sections)
    bounds = [0, *p.indices[1:], 2**63 - 1]
    return _squeezed(
        writer, [writer.slice(data, [pair[0]], [pair[1]], [p.axis]) for pair in pairwise(bounds)]
    )


@translation("tile")
def tile(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write an array laid side by side; of the array and the numbers, the shorter one gets leading ones."""
    reps, rank = writer.params.reps, writer.rank()
    if len(reps) > rank:
        data = writer.unsqueeze(data, range(len(reps) - rank))
    return writer.op("Tile", data, writer.ints([1] * (rank - len(reps)) + list(reps)))


@translation("repeat")
def repeat(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write each slice along an axis several times, each element of the flattened array without one."""
    axis, repeats = writer.params.axis, writer.params.repeats
    known = writer.shape()[axis] if axis is not None else 0
    if axis is None:
        data, axis = writer.reshape(data, [-1]), 0
    if known or not repeats:
        return writer.op(
            "Gather", data, writer.constant(np.repeat(np.arange(known), repeats), np.int64), axis=axis
        )
    total = writer.op("Mul", writer.size_of(data, axis), writer.ints([repeats]))
    where = writer.op("Div", arange(writer, total), writer.ints(repeats))
    return writer.op("Gather", data, where, axis=axis)


@translation("Pad")
def pad(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write an array with a border; ONNX takes all widths before, then all widths after."""
    p = writer.params
    widths = writer.ints([*p.pad_width[::2], *p.pad_width[1::2]])
    value = writer.like(number_as(writer.dtype(), p.constant_value)) if p.mode == "constant" else None
    return writer.op("Pad", data, widths, value, mode=p.mode)


@translation("broadcast_to")
def broadcast_to(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write an array repeated along axes of size 1; ONNX's 1, as MXNet's 0, leaves a size as it is."""
    return writer.op("Expand", data, writer.ints([n or 1 for n in writer.params.shape]))


@translation("broadcast_axis")
def broadcast_axis(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write an array repeated along some axes of size 1."""
    target = [1] * writer.rank()
    for axis, n in zip(writer.params.axis, writer.params.size, strict=True):
        target[axis] = n
    return writer.op("Expand", data, writer.ints(target))


@translation("broadcast_like")
def broadcast_like(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Write an array repeated up to the shape of another, or to some of its sizes."""
    p, rank = writer.params, writer.rank()
    of_rhs = known_or_size(rhs, writer.shape(1))
    if p.lhs_axes is None and p.rhs_axes is None:
        return writer.op("Expand", lhs, shape_from(writer, of_rhs))
    target: list[int | tuple[ir.Value, int]] = [1] * rank
    for left, right in zip(p.lhs_axes, p.rhs_axes, strict=True):
        target[normalize_axis(left, rank, "lhs_axes")] = of_rhs[right]
    return writer.op("Expand", lhs, shape_from(writer, target))
