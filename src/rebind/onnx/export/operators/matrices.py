"""Products of matrices and of arrays with more axes."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import torch

from ..node_writer import NodeWriter
from ..translations import translation
from .pieces import known_or_size, shape_from

__all__ = ["batch_dot", "dot", "gemm", "khatri_rao", "product", "swapped", "syrk", "triangle"]


def product(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Write a product of matrices; that of small integers wraps around when it is cast back."""
    dtype = writer.dtype()
    if dtype.is_floating_point or dtype.itemsize >= 4:
        return writer.op("MatMul", lhs, rhs)
    wide = (writer.cast(each, torch.int32) for each in (lhs, rhs))
    return writer.cast(writer.op("MatMul", *wide), dtype)


def swapped(writer: NodeWriter, data: ir.Value, rank: int) -> ir.Value:
    """Write the transposed matrices."""
    return writer.op("Transpose", data, perm=[*range(rank - 2), rank - 1, rank - 2])


def scaled(writer: NodeWriter, data: ir.Value, factor: float) -> ir.Value:
    """Write an array times a number."""
    return data if factor == 1 else writer.op("Mul", data, writer.like(factor))


@translation("dot")
def dot(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Write the product over the last axis of `lhs` and the first of `rhs`, as one of two matrices."""
    p, left, right = writer.params, writer.shape(0), writer.shape(1)
    if len(left) == len(right) == 1:
        return writer.reduce("ReduceSum", writer.op("Mul", lhs, rhs), [0], keepdims=True)
    of_left, of_right = known_or_size(lhs, left), known_or_size(rhs, right)
    if p.transpose_a and len(left) > 1:  # the first axis is summed over: it becomes the last one
        lhs = writer.op("Transpose", lhs, perm=[*range(1, len(left)), 0])
        of_left = [*of_left[1:], of_left[0]]
    if p.transpose_b and len(right) > 1:
        rhs = writer.op("Transpose", rhs, perm=[len(right) - 1, *range(len(right) - 1)])
        of_right = [of_right[-1], *of_right[:-1]]
    if len(right) <= 2:
        return product(writer, lhs, rhs)
    found = product(writer, lhs, writer.reshape(rhs, [0, -1]))
    return writer.op("Reshape", found, shape_from(writer, [*of_left[:-1], *of_right[1:]]))


def _operand(writer: NodeWriter, data: ir.Value, index: int, transposed: bool) -> ir.Value:
    return swapped(writer, data, writer.rank(index)) if transposed else data


@translation("batch_dot")
def batch_dot(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Write the product of matrices in the last two axes."""
    p = writer.params
    return product(writer, _operand(writer, lhs, 0, p.transpose_a), _operand(writer, rhs, 1, p.transpose_b))


@translation("khatri_rao")
def khatri_rao(writer: NodeWriter, *args: ir.Value) -> ir.Value:
    """Write the column-wise Kronecker product: every row of the one times every row of the other."""
    columns = known_or_size(args[0], writer.shape())[1]
    found = writer.op("Identity", args[0])
    for matrix in args[1:]:
        rows = writer.op("Mul", writer.unsqueeze(found, [1]), matrix)
        found = writer.op("Reshape", rows, shape_from(writer, [-1, columns]))
    return found


def _product_along(writer: NodeWriter, a: ir.Value, b: ir.Value) -> ir.Value:
    """Write ``alpha * op(A) @ op(B)``; rows in another axis are permuted to the last but one, and back."""
    p, rank = writer.params, writer.rank()
    axis = p.axis % rank
    order = [each for each in range(rank - 1) if each != axis] + [axis, rank - 1]
    if axis != rank - 2:
        a, b = (writer.op("Transpose", each, perm=order) for each in (a, b))
    left, right = _operand(writer, a, 0, p.transpose_a), _operand(writer, b, 1, p.transpose_b)
    found = scaled(writer, writer.op("MatMul", left, right), p.alpha)
    if axis == rank - 2:
        return found
    return writer.op("Transpose", found, perm=[order.index(each) for each in range(rank)])


@translation("_linalg_gemm2")
def gemm2(writer: NodeWriter, a: ir.Value, b: ir.Value) -> ir.Value:
    """Write a product of matrices."""
    return _product_along(writer, a, b)


@translation("_linalg_gemm")
def gemm(writer: NodeWriter, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
    """Write ``alpha * op(A) @ op(B) + beta * C``."""
    return writer.op("Add", _product_along(writer, a, b), scaled(writer, c, writer.params.beta))


@translation("_linalg_syrk")
def syrk(writer: NodeWriter, a: ir.Value) -> ir.Value:
    """Write the product of a matrix and its transpose."""
    other = swapped(writer, a, writer.rank())
    operands = (other, a) if writer.params.transpose else (a, other)
    return scaled(writer, writer.op("MatMul", *operands), writer.params.alpha)


def triangle(writer: NodeWriter, a: ir.Value, *, lower: bool, transpose: bool = False) -> ir.Value:
    """Write one triangle of the first input, zeros in the other, transposed or not."""
    size = order(writer)
    mask = np.tri(size, dtype=bool)
    found = writer.op("Where", writer.constant(mask if lower else mask.T), a, writer.like(0))
    return swapped(writer, found, writer.rank()) if transpose else found


def order(writer: NodeWriter) -> int:
    """Return the size of the square matrices in the first input."""
    size = writer.shape()[-1]
    if not size:
        raise writer.unknown("the size of the matrices")
    return size


@translation("_linalg_trmm")
def trmm(writer: NodeWriter, a: ir.Value, b: ir.Value) -> ir.Value:
    """Write the product with a triangular matrix."""
    p = writer.params
    left = triangle(writer, a, lower=p.lower, transpose=p.transpose)
    return scaled(writer, writer.op("MatMul", *((b, left) if p.rightside else (left, b))), p.alpha)
