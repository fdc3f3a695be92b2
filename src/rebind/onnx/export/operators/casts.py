"""Types changed, and arrays that stay as they are."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from ..node_writer import NodeWriter
from ..translations import translation

__all__ = ["amp_multicast", "identity", "to_type"]


@translation("Cast", "amp_cast")
def to_type(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write an array in another type; ONNX too cuts fractions off."""
    return writer.cast(data, writer.output_dtype())


@translation("amp_multicast")
def amp_multicast(writer: NodeWriter, *data: ir.Value) -> Sequence[ir.Value]:
    """Write arrays in one of their types."""
    return [writer.cast(each, writer.output_dtype(i)) for i, each in enumerate(data)]


@translation("_copy", "_copyto", "_contrib_gradientmultiplier")
def identity(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write what differs only in its gradient, or not at all."""
    return writer.op("Identity", data)


@translation("_identity_with_attr_like_rhs")
def identity_like(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Write the first input; the second was there for its shape."""
    return writer.op("Identity", lhs)
