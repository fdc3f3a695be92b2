"""Other types, which MXNet may lack: then as `element_types` says."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from ....symbol import Symbol
from ..element_types import NARROW
from ..node_reader import NodeReader
from ..readings import reading

__all__ = ["bit_cast", "cast", "cast_like"]

#: Types without a sign whose arrays are of wider ones, and the types with their bits.
_SIGNED = {ir.DataType.UINT16: "int16", ir.DataType.UINT32: "int32", ir.DataType.UINT64: "int64"}


@reading("Cast")
def cast(reader: NodeReader) -> Symbol:
    """Another type."""
    to = reader.required("to")
    if isinstance(to, str):  # before version 6
        if to not in ir.DataType.__members__:
            raise reader.refuse(f"'to' must be the name of a type; got {to!r}")
        to = ir.DataType[to]
    return _converted(reader, ir.DataType(to))


@reading("CastLike")
def cast_like(reader: NodeReader) -> Symbol:
    """The type of the second input."""
    return _converted(reader, reader.onnx_type(1))


def _converted(reader: NodeReader, to: ir.DataType) -> Symbol:
    how: dict[str, Any] = {}
    if to in NARROW and reader.type_name(to) == "float32":
        saturate, rounding = reader.attribute("saturate", 1), reader.attribute("round_mode", "up")
        how = {"saturate": bool(saturate), "rounding": rounding}
    return reader.convert(reader.input(0), reader.dtype(), to, **how)


@reading("BitCast")
def bit_cast(reader: NodeReader) -> Symbol:
    """The same bits as another type of the same width."""
    own, to = reader.onnx_type(), ir.DataType(reader.required("to"))
    for kind in (own, to):
        if kind in NARROW and kind not in _SIGNED:
            raise reader.refuse(f"MXNet has no arrays with the bits of {kind.name.lower()}")
    data = reader.cast(reader.input(0), _SIGNED[own]) if own in _SIGNED else reader.input(0)
    data = reader.op("_onnx_bit_cast", data, dtype=_SIGNED.get(to) or reader.type_name(to))
    return reader.convert(data, "", to) if to in _SIGNED else data
