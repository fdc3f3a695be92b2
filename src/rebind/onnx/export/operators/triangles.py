"""Diagonals and triangles of matrices as vectors, and matrices made from them."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ....shapes import normalize_axis
from ..node_writer import NodeWriter
from ..translations import translation
from .matrices import order

__all__ = ["diag", "extractdiag", "extracttrian", "makediag", "maketrian"]


def _extracted(writer: NodeWriter, a: ir.Value, rank: int, where: np.ndarray) -> ir.Value:
    """Return elements of matrices, by their positions in the flattened ones."""
    flat = writer.reshape(a, [*[0] * (rank - 2), -1])
    return writer.op("Gather", flat, writer.constant(where, np.int64), axis=-1)


def _made(writer: NodeWriter, a: ir.Value, mask: np.ndarray, order_of: np.ndarray) -> ir.Value:
    """Return matrices that hold elements of `a` where a mask says, and zeros elsewhere."""
    count = len(order_of)
    # Behind the elements stands a 0, for all others.
    where = np.full(mask.shape, count)
    where[mask] = order_of
    padded = writer.op("Pad", a, writer.ints([0] * (2 * writer.rank() - 1) + [1]))
    return writer.op("Gather", padded, writer.constant(where, np.int64), axis=-1)


def _triangle(size: int, offset: int, lower: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns: a lower triangle row after row, an upper one column after column."""
    rows, columns = np.tril_indices(size, -abs(offset))
    return (rows, columns) if offset < 0 or (offset == 0 and lower) else (columns, rows)


@translation("_linalg_extractdiag")
def extractdiag(writer: NodeWriter, a: ir.Value) -> ir.Value:
    """Write the diagonal of matrices."""
    size = order(writer)
    where = np.diagonal(np.arange(size * size).reshape(size, size), writer.params.offset)
    return _extracted(writer, a, writer.rank(), where)


@translation("_linalg_makediag")
def makediag(writer: NodeWriter, a: ir.Value) -> ir.Value:
    """Write matrices with a diagonal."""
    size, offset = order(writer), writer.params.offset
    mask = np.eye(size + abs(offset), k=offset, dtype=bool)
    return _made(writer, a, mask, np.arange(size))


@translation("_linalg_extracttrian")
def extracttrian(writer: NodeWriter, a: ir.Value) -> ir.Value:
    """Write a triangle of matrices as one axis."""
    size, p = order(writer), writer.params
    rows, columns = _triangle(size, p.offset, p.lower)
    return _extracted(writer, a, writer.rank(), rows * size + columns)


@translation("_linalg_maketrian")
def maketrian(writer: NodeWriter, a: ir.Value) -> ir.Value:
    """Write matrices with a triangle."""
    count, p = order(writer), writer.params
    side = round((np.sqrt(8 * count + 1) - 1) / 2)
    size = side + abs(p.offset)
    number = np.full((size, size), -1)
    number[_triangle(size, p.offset, p.lower)] = np.arange(count)
    return _made(writer, a, number >= 0, number[number >= 0])


@translation("diag")
def diag(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write diagonals, or the matrix of one."""
    p, shape = writer.params, writer.shape()
    if len(shape) == 1:
        size = order(writer)
        return _made(writer, data, np.eye(size + abs(p.k), k=p.k, dtype=bool), np.arange(size))
    first, second = (normalize_axis(axis, len(shape), "axis1") for axis in (p.axis1, p.axis2))
    rows, columns = shape[first], shape[second]
    if not rows or not columns:
        raise writer.unknown("the sizes of the matrices")
    others = [axis for axis in range(len(shape)) if axis not in (first, second)]
    matrices = writer.op("Transpose", data, perm=[*others, first, second])
    return _extracted(
        writer, matrices, len(shape), np.diagonal(np.arange(rows * columns).reshape(rows, columns), p.k)
    )
