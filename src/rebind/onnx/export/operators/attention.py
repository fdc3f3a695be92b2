"""Attention: products of projections that lie interleaved, head by head."""

from __future__ import annotations

import math
from collections.abc import Callable

import onnx_ir as ir
import torch

from ..expressions import Expression, size
from ..node_writer import NodeWriter
from ..translations import translation

__all__ = ["encdec_qk", "selfatt_qk"]


def _projections(writer: NodeWriter, value: ir.Value, index: int, kinds: int) -> list[Expression]:
    """Return each kind of projection as (batch * heads, length, size)."""
    features = writer.shape(index)[2]
    if not features:
        raise writer.unknown("the number of features")
    width = features // (writer.params.heads * kinds)
    mixed = Expression(writer, value, writer.dtype(index)).reshape(0, -1, kinds, width)
    return [mixed.select(2, kind).permute(1, 0, 2) for kind in range(kinds)]


def _scores(queries: Expression, keys: Expression, width: int) -> ir.Value:
    return (queries / math.sqrt(width)).matmul(keys.permute(0, 2, 1)).value


@translation("_contrib_interleaved_matmul_selfatt_qk")
def selfatt_qk(writer: NodeWriter, queries_keys_values: ir.Value) -> ir.Value:
    """Write products of queries and keys, divided by the square root of their size."""
    queries, keys, _ = _projections(writer, queries_keys_values, 0, 3)
    return _scores(queries, keys, writer.shape()[2] // (3 * writer.params.heads))


@translation("_contrib_interleaved_matmul_encdec_qk")
def encdec_qk(writer: NodeWriter, queries: ir.Value, keys_values: ir.Value) -> ir.Value:
    """Write products of a decoder's queries and an encoder's keys."""
    (wanted,) = _projections(writer, queries, 0, 1)
    keys, _ = _projections(writer, keys_values, 1, 2)
    return _scores(wanted, keys, writer.shape()[2] // writer.params.heads)


def _weighted(kinds: int) -> Callable[[NodeWriter, ir.Value, ir.Value], ir.Value]:
    """Return the translation that weights values, which are the last of so many kinds of projections."""

    def translate(writer: NodeWriter, mixed: ir.Value, attention: ir.Value) -> ir.Value:
        values = _projections(writer, mixed, 0, kinds)[-1]
        out = Expression(writer, attention, writer.dtype(1)).matmul(values).permute(1, 0, 2)
        return out.reshape(0, -1, writer.shape()[2] // kinds).value

    return translate


translation("_contrib_interleaved_matmul_selfatt_valatt")(_weighted(3))
translation("_contrib_interleaved_matmul_encdec_valatt")(_weighted(2))


@translation("_contrib_div_sqrt_dim")
def div_sqrt_dim(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write `data` divided by the square root of the size of its last axis."""
    found = Expression(writer, data, writer.dtype())
    own = found.dtype
    if not own.is_floating_point:
        found = found.to(torch.float32)
    width = size(found, writer.shape(), -1)
    root = width.apply("Sqrt") if isinstance(width, Expression) else math.sqrt(width)
    return (found / root).to(own).value
