"""Small operators of ``contrib``, and of sparse arrays, whose numbers are those of dense ones."""

from __future__ import annotations

import onnx_ir as ir
import torch

from ..expressions import Expression, arange, numbers, real
from ..node_writer import NodeWriter
from ..translations import translation

__all__ = [
    "allclose", "arange_like", "boolean_mask", "cast_storage", "count_sketch", "index_copy", "quadratic",
    "sparse_embedding",
]  # fmt: skip


@translation("_contrib_quadratic")
def quadratic(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write ``a * data**2 + b * data + c``."""
    p, x = writer.params, real(writer, data)
    return (((x * p.a + p.b) * x) + p.c).to(writer.output_dtype()).value


@translation("_contrib_arange_like")
def arange_like(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write evenly spaced values, as many as an array or an axis has elements."""
    p, given = writer.params, Expression(writer, data, writer.dtype())
    dtype = writer.output_dtype()
    if p.axis is None:
        position = arange(writer, Expression(writer, writer.op("Size", data), torch.int64), torch.int64)
    else:
        position = arange(writer, given.length(p.axis).squeeze(0), torch.int64)
    start, step = (p.start, p.step) if dtype.is_floating_point else (int(p.start), int(p.step))
    values = (position / p.repeat if p.repeat > 1 else position).to(dtype) * step + start
    return values.value if p.axis is not None else values.apply("Reshape", given.shape().value).value


@translation("_contrib_index_copy")
def index_copy(writer: NodeWriter, old: ir.Value, index: ir.Value, new: ir.Value) -> ir.Value:
    """Write rows at positions of a copy."""
    where_to = Expression(writer, index, writer.dtype(1)).to(torch.int64).unsqueeze(-1)
    return writer.op("ScatterND", old, where_to.value, new)


@translation("_contrib_boolean_mask")
def boolean_mask(writer: NodeWriter, data: ir.Value, index: ir.Value) -> ir.Value:
    """Write the slices where `index` is not 0."""
    return writer.op("Compress", data, writer.cast(index, torch.bool), axis=writer.params.axis)


@translation("_contrib_allclose")
def allclose(writer: NodeWriter, a: ir.Value, b: ir.Value) -> ir.Value:
    """Write whether two arrays are equal up to a tolerance."""
    p, one, other = writer.params, real(writer, a), real(writer, b, 1)
    close = (one - other).apply("Abs") <= other.apply("Abs") * p.rtol + p.atol
    # Infinite numbers are close to themselves only.
    finite = other.apply("Abs") < float("inf")
    close = one.equals(other) | (close & finite)
    if p.equal_nan:
        close = close | (~one.equals(one) & ~other.equals(other))
    found = writer.reduce("ReduceMin", close.to(torch.int32).value)
    return writer.cast(found, torch.uint8)


@translation("_contrib_count_sketch")
def count_sketch(writer: NodeWriter, data: ir.Value, h: ir.Value, s: ir.Value) -> ir.Value:
    """Write the product with a matrix that has a sign for each element in the column that it is added to."""
    count = writer.params.out_dim
    index = Expression(writer, h, writer.dtype(1)).to(torch.int64).clamp(0, count - 1).reshape(-1, 1)
    given = real(writer, data)
    columns = index.equals(numbers(writer, list(range(count)), torch.int64))
    signed = given * real(writer, s, 2).to(given.dtype).reshape(-1)
    return signed.matmul(columns.to(given.dtype)).to(writer.output_dtype()).value


@translation("_contrib_SparseEmbedding")
def sparse_embedding(writer: NodeWriter, data: ir.Value, weight: ir.Value) -> ir.Value:
    """Write rows of a table; an index outside of it takes the nearest one."""
    index = Expression(writer, data, writer.dtype()).to(torch.int64).clamp(0, writer.params.input_dim - 1)
    return writer.op("Gather", weight, index.value)


@translation("cast_storage")
def cast_storage(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the same numbers: ONNX's arrays are dense."""
    return writer.op("Identity", data)
