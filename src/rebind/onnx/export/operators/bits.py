"""Functions of bits, and numbers in fewer bits than MXNet's arrays have."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from ..node_writer import NodeWriter
from ..translations import translation

__all__ = ["bitwise", "cast_through"]


@translation("_onnx_bitwise")
def bitwise(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Write logical functions of bits, and shifts."""
    kind = writer.params.kind
    if kind not in ("left", "right"):
        writer.need(18, f"Bitwise{kind.title()}")
        return writer.op(f"Bitwise{kind.title()}", lhs, rhs)
    return _shift(writer, lhs, rhs, kind.upper())


#: Types with a sign, and those without that BitShift takes.
_UNSIGNED = {
    torch.int8: ir.DataType.UINT8,
    torch.int16: ir.DataType.UINT16,
    torch.int32: ir.DataType.UINT32,
    torch.int64: ir.DataType.UINT64,
}


def _shift(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value, direction: str) -> ir.Value:
    """Write bits moved; to the right those of negative numbers, which would get zeros in front, all turned."""
    if writer.dtype() not in _UNSIGNED or direction == "LEFT":
        return _shift_unsigned(writer, lhs, rhs, direction)
    is_negative, top = writer.op("Less", lhs, writer.like(0)), writer.like(-1)

    def turned(data: ir.Value) -> ir.Value:  # -1 - x has all bits turned
        return writer.op("Where", is_negative, writer.op("Sub", top, data), data)

    return turned(_shift_unsigned(writer, turned(lhs), rhs, direction))


def _shift_unsigned(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value, direction: str) -> ir.Value:
    """Write bits moved as those of integers without a sign: ONNX takes no others."""
    dtype = writer.dtype()
    if dtype not in _UNSIGNED:
        return writer.op("BitShift", lhs, rhs, direction=direction)
    bits, steps = (writer.op("Cast", each, to=_UNSIGNED[dtype].value) for each in (lhs, rhs))
    return writer.cast(writer.op("BitShift", bits, steps, direction=direction), dtype)


#: Since when a type of few bits is there; others always were.
_TYPES_SINCE = {
    "float8": 19,
    "uint4": 21,
    "int4": 21,
    "float4e2m1": 23,
    "float8e8m0": 24,
    "uint2": 25,
    "int2": 25,
}


@translation("_onnx_cast_through")
def cast_through(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write a cast to a type that MXNet lacks, and one back."""
    p = writer.params
    writer.need(_TYPES_SINCE.get(p.kind) or _TYPES_SINCE.get(p.kind[:6], 1), f"the type {p.kind}")
    how: dict[str, Any] = {}
    if p.kind.startswith("float8"):
        how["saturate"] = int(p.saturate)
    if p.kind == "float8e8m0":
        how["round_mode"] = p.rounding
    narrow = writer.op("Cast", data, to=ir.DataType[p.kind.upper()].value, **how)
    return writer.cast(narrow, writer.dtype())
