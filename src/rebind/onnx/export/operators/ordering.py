"""Sorting, which is stable in ONNX's `TopK` too: of equal elements the first comes first."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir
import torch

from ..node_writer import NodeWriter
from ..translations import translation
from .pieces import filled

__all__ = ["argsort", "sort", "topk"]

#: Types that onnxruntime sorts only in a wider one, which holds them exactly.
_WIDER = {torch.int8: torch.int32, torch.uint8: torch.int32, torch.float16: torch.float32}


def _ordered(
    writer: NodeWriter, data: ir.Value, count: int, ascending: bool
) -> tuple[ir.Value, ir.Value, ir.Value, int]:
    """Return the array that is sorted, its first values in order, their positions, and the axis; 0 counts all."""
    axis, dtype = writer.params.axis, writer.dtype()
    if axis is None:
        data, axis = writer.reshape(data, [-1]), 0
    known = writer.shape()[axis] if writer.params.axis is not None else 0
    number = writer.ints([count or known]) if count or known else writer.size_of(data, axis)
    wide = writer.cast(data, _WIDER[dtype]) if dtype in _WIDER else data
    values, positions = writer.op_of_many(
        "TopK", 2, wide, number, axis=axis, largest=int(not ascending), sorted=1
    )
    return data, writer.cast(values, dtype) if dtype in _WIDER else values, positions, axis


@translation("sort")
def sort(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write an array sorted along an axis."""
    return _ordered(writer, data, 0, writer.params.is_ascend)[1]


@translation("argsort")
def argsort(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the positions that sort an array."""
    return writer.cast(_ordered(writer, data, 0, writer.params.is_ascend)[2], writer.output_dtype())


@translation("topk")
def topk(writer: NodeWriter, data: ir.Value) -> ir.Value | Sequence[ir.Value]:
    """Write the largest or smallest elements: their positions, values, both, or a mask."""
    p = writer.params
    flat, values, positions, axis = _ordered(writer, data, max(p.k, 0), p.is_ascend)
    if p.ret_typ == "value":
        return values
    if p.ret_typ == "indices":
        return writer.cast(positions, writer.output_dtype())
    if p.ret_typ == "both":
        return values, writer.cast(positions, writer.output_dtype(1))
    zeros = filled(writer, writer.shape_of(flat), 0, writer.dtype())
    ones = filled(writer, writer.shape_of(positions), 1, writer.dtype())
    mask = writer.op("ScatterElements", zeros, positions, ones, axis=axis)
    return mask if p.axis is not None else writer.op("Reshape", mask, writer.shape_of(data))
