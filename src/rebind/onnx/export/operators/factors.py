"""Factors, inverses and determinants of matrices, which ONNX has not: one step for each row, written out.

The size of the matrices must be known. Where MXNet raises an error, for a matrix that is singular or not positive
definite, the result here is infinite or not a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import onnx_ir as ir
import torch

from ..node_writer import NodeWriter
from ..translations import translation
from .matrices import order, scaled, swapped, triangle

__all__ = ["det", "gelqf", "inverse", "potrf", "potri", "slogdet", "sumlogdiag", "trsm"]


def _row(writer: NodeWriter, a: ir.Value, i: int) -> ir.Value:
    return writer.op("Gather", a, writer.ints([i]), axis=-2)


def _column(writer: NodeWriter, a: ir.Value, i: int) -> ir.Value:
    return writer.op("Gather", a, writer.ints([i]), axis=-1)


def _eye(writer: NodeWriter, size: int) -> ir.Value:
    return writer.constant(np.eye(size), writer.dtype())


def _at_row(writer: NodeWriter, size: int, i: int) -> ir.Value:
    """Return a mask of one row, of shape (size, 1)."""
    return writer.constant((np.arange(size) == i)[:, None])


@translation("_linalg_potrf")
def potrf(writer: NodeWriter, a: ir.Value) -> ir.Value:
    """Write the Cholesky factor: from column to column, what it explains of the rest is subtracted."""
    size, op = order(writer), writer.op
    # One triangle is read, whatever is in the other; for the upper factor its mirror.
    rest = a if writer.params.lower else swapped(writer, a, writer.rank())
    columns = []
    for i in range(size):
        column = _column(writer, rest, i)
        below = writer.constant((np.arange(size) >= i)[:, None])
        column = op("Where", below, op("Div", column, op("Sqrt", _row(writer, column, i))), writer.like(0))
        columns.append(column)
        rest = op("Sub", rest, op("MatMul", column, swapped(writer, column, writer.rank())))
    factor = writer.concat(*columns, axis=-1)
    return factor if writer.params.lower else swapped(writer, factor, writer.rank())


def _solved(writer: NodeWriter, a: ir.Value, b: ir.Value, size: int, *, lower: bool) -> ir.Value:
    """Write the solution of ``a @ x = b`` for triangular `a`, by substitution."""
    op = writer.op
    rows: dict[int, ir.Value] = {}
    for i in range(size) if lower else range(size)[::-1]:
        column = _column(writer, a, i)
        rows[i] = op("Div", _row(writer, b, i), _row(writer, column, i))
        b = op("Sub", b, op("MatMul", column, rows[i]))
    return writer.concat(*[rows[i] for i in range(size)], axis=-2)


@translation("_linalg_trsm")
def trsm(writer: NodeWriter, a: ir.Value, b: ir.Value) -> ir.Value:
    """Write the solution of a triangular system; that from the right is the transposed one from the left."""
    p, rank = writer.params, writer.rank()
    # X @ op(A) = B is op(A).T @ X.T = B.T, so that one more transposition turns the triangle over.
    transposed = p.transpose != p.rightside
    factor = triangle(writer, a, lower=p.lower, transpose=transposed)
    b = scaled(writer, b, p.alpha)
    b = swapped(writer, b, rank) if p.rightside else b
    found = _solved(writer, factor, b, order(writer), lower=p.lower != transposed)
    return swapped(writer, found, rank) if p.rightside else found


@translation("_linalg_potri")
def potri(writer: NodeWriter, a: ir.Value) -> ir.Value:
    """Write the inverse of the matrix whose Cholesky factor is given."""
    size, lower = order(writer), writer.params.lower
    factor = triangle(writer, a, lower=lower, transpose=not lower)
    inverse = _solved(writer, factor, _eye(writer, size), size, lower=True)
    return writer.op("MatMul", swapped(writer, inverse, writer.rank()), inverse)


def _eliminated(
    writer: NodeWriter, a: ir.Value, size: int, *, over_zeros: bool = False
) -> Iterable[tuple[ir.Value, ir.Value, ir.Value]]:
    """Yield, for each column, the pivot, whether rows were exchanged, and what is left of `a`; rows may be longer.

    This is the elimination of Gauss and Jordan, with the largest number of a column, by size, as its pivot.
    With `over_zeros` a pivot of 0 leaves the others as they are; else nothing after it is a number.
    """
    op, rows = writer.op, writer.constant(np.arange(size)[:, None], np.int64)
    for i in range(size):
        below = writer.constant((np.arange(size) >= i)[:, None])
        heights = op("Where", below, op("Abs", _column(writer, a, i)), writer.like(-1))
        at = op("ArgMax", heights, axis=-2, keepdims=1)
        chosen = op("Equal", rows, at)
        pivot_row = writer.reduce("ReduceSum", op("Where", chosen, a, writer.like(0)), [-2], keepdims=True)
        this = _at_row(writer, size, i)
        a = op("Where", this, pivot_row, op("Where", chosen, _row(writer, a, i), a))
        pivot = _column(writer, pivot_row, i)
        scaled_row = op("Div", pivot_row, _not_zero(writer, pivot) if over_zeros else pivot)
        a = op("Where", this, scaled_row, op("Sub", a, op("Mul", _column(writer, a, i), scaled_row)))
        yield pivot, op("Not", op("Equal", at, writer.ints(i))), a


def _not_zero(writer: NodeWriter, pivot: ir.Value) -> ir.Value:
    """Return a pivot, or 1 instead of 0."""
    return writer.op("Where", writer.op("Equal", pivot, writer.like(0)), writer.like(1), pivot)


@translation("_linalg_inverse")
def inverse(writer: NodeWriter, a: ir.Value) -> ir.Value:
    """Write the inverse: what turns the matrix into that of ones turns ones into it."""
    size = order(writer)
    ones = writer.op("Expand", _eye(writer, size), writer.op("Shape", a))
    both = writer.concat(a, ones, axis=-1)
    *_, (_, _, both) = _eliminated(writer, both, size)
    return writer.op("Slice", both, *(writer.ints([each]) for each in (size, 2 * size, -1)))


def _one_or_more(writer: NodeWriter, value: ir.Value, axes: Sequence[int]) -> ir.Value:
    """Return a value without some axes of size 1, or the number of a single matrix as an array of one."""
    return (
        writer.reshape(value, [1]) if writer.rank() == 2 else writer.op("Squeeze", value, writer.ints(axes))
    )


@translation("_linalg_slogdet")
def slogdet(writer: NodeWriter, a: ir.Value) -> Sequence[ir.Value]:
    """Write the sign of the determinant and the logarithm of its size, from the pivots."""
    op, one, minus = writer.op, writer.like(1), writer.like(-1)
    steps = list(_eliminated(writer, a, order(writer), over_zeros=True))
    pivots = writer.concat(*[pivot for pivot, _, _ in steps], axis=-1)
    turned = writer.concat(*[op("Where", exchanged, minus, one) for _, exchanged, _ in steps], axis=-1)
    sign = writer.reduce("ReduceProd", op("Mul", op("Sign", pivots), turned), [-1], keepdims=True)
    size = writer.reduce("ReduceSum", op("Log", op("Abs", pivots)), [-1], keepdims=True)
    return _one_or_more(writer, sign, (-2, -1)), _one_or_more(writer, size, (-2, -1))


@translation("_linalg_det")
def det(writer: NodeWriter, a: ir.Value) -> ir.Value:
    """Write the determinant, from the pivots: onnxruntime's `Det` takes float32 only."""
    op = writer.op
    if writer.dtype() is torch.float32:
        found = op("Det", a)
        return writer.reshape(found, [1]) if writer.rank() == 2 else found
    steps = list(_eliminated(writer, a, order(writer), over_zeros=True))
    factors = [op("Where", exchanged, op("Neg", pivot), pivot) for pivot, exchanged, _ in steps]
    found = writer.reduce("ReduceProd", writer.concat(*factors, axis=-1), [-1], keepdims=True)
    return _one_or_more(writer, found, (-2, -1))


@translation("_linalg_sumlogdiag")
def sumlogdiag(writer: NodeWriter, a: ir.Value) -> ir.Value:
    """Write the sum of the logarithms of the diagonal."""
    ones = writer.constant(np.eye(order(writer), dtype=bool))
    logarithms = writer.op("Log", writer.op("Where", ones, a, writer.like(1)))
    return _one_or_more(writer, writer.reduce("ReduceSum", logarithms, [-2, -1], keepdims=True), (-2, -1))


@translation("_linalg_gelqf")
def gelqf(writer: NodeWriter, a: ir.Value) -> Sequence[ir.Value]:
    """Write orthonormal rows and a lower triangle, by Householder's reflections from the right."""
    op, rank = writer.op, writer.rank()
    rows, columns = writer.shape()[-2:]
    if not rows or not columns:
        raise writer.unknown("the sizes of the matrices")
    rest = a
    q = writer.constant(np.eye(rows, columns), writer.dtype())
    reflections = []
    for i in range(min(rows, columns - 1)):
        inside = writer.constant(np.arange(columns) >= i)
        x = op("Where", inside, _row(writer, rest, i), writer.like(0))
        length = writer.reduce("ReduceL2", x, [-1], keepdims=True)
        head = _column(writer, x, i)
        # To the side away from the head, as LAPACK does: nothing cancels.
        sign = op("Where", op("Less", head, writer.like(0)), writer.like(-1), writer.like(1))
        v = op(
            "Add",
            x,
            op("Where", writer.constant(np.arange(columns) == i), op("Mul", sign, length), writer.like(0)),
        )
        square = _not_zero(writer, writer.reduce("ReduceSumSquare", v, [-1], keepdims=True))
        scaled_v = op("Div", op("Mul", v, writer.like(2)), square)
        reflections.append((v, scaled_v))
        rest = _reflected(writer, rest, v, scaled_v, rank)
    for v, scaled_v in reflections[::-1]:
        q = _reflected(writer, q, v, scaled_v, rank)
    lower = op("Slice", rest, *(writer.ints([each]) for each in (0, rows, -1)))
    lower = op("Where", writer.constant(np.tri(rows, dtype=bool)), lower, writer.like(0))
    return q, lower


def _reflected(writer: NodeWriter, a: ir.Value, v: ir.Value, scaled_v: ir.Value, rank: int) -> ir.Value:
    return writer.op(
        "Sub", a, writer.op("MatMul", writer.op("MatMul", a, swapped(writer, v, rank)), scaled_v)
    )
