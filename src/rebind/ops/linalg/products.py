"""Products of matrices, of any kind and of triangular ones, and the solution of triangular systems."""

from __future__ import annotations

import torch
from torch import Tensor

from ...errors import ShapeError
from ...params import Params
from .._signatures import with_interface_of
from .._types import Double
from ..declaration import Shapes, operator
from ._matrices import check_matrices

__all__ = ["gemm", "gemm2", "syrk", "trmm", "trsm"]


def _product(
    a: Tensor,
    b: Tensor,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: Double = 1.0,
    axis: int = -2,
) -> Tensor:
    """Return ``alpha * op(a) @ op(b)`` for matrices in `axis` and the last axis."""
    check_matrices(a, b)
    axes = a.ndim
    if axes != b.ndim:
        raise ShapeError(
            f"A and B must have the same number of axes; got {tuple(a.shape)} and {tuple(b.shape)}"
        )
    # For another axis the rows are permuted to axis -2 first, and back at the end.
    inner = axis == -2 or axis == axes - 2
    if not inner and (not -axes <= axis < axes or axis % axes == axes - 1):
        raise ShapeError(f"axis must be one of the {axes} axes of A and B, but not the last; got {axis}")
    left, right = (a, b) if inner else (a.movedim(axis, -2), b.movedim(axis, -2))
    left, right = left.mT if transpose_a else left, right.mT if transpose_b else right
    one, other = left.shape, right.shape
    if one[-1] != other[-2] or (axes > 2 and one[:-2] != other[:-2]):
        raise ShapeError(
            "A and B must have equal leading axes, and op(A) as many columns as op(B) has rows; got "
            f"{tuple(a.shape)} and {tuple(b.shape)}, transpose_a={transpose_a}, transpose_b={transpose_b}"
        )
    out = torch.matmul(left, right)
    out = out if alpha == 1.0 else alpha * out
    return out if inner else out.movedim(-2, axis)


@operator("_linalg_gemm", "linalg_gemm")
def gemm(
    A: Tensor,
    B: Tensor,
    C: Tensor,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: Double = 1.0,
    beta: Double = 1.0,
    axis: int = -2,
) -> Tensor:
    """Product of matrices and a sum: ``alpha * op(A) @ op(B) + beta * C``.

    Parameters
    ----------
    transpose_a, transpose_b
        Whether ``op`` transposes.
    axis
        The axis of the rows of the matrices; the columns are in the last axis.

    Shapes
    ------
    A : (B..., M, K)     with ``transpose_a``: (B..., K, M)
    B : (B..., K, N)     with ``transpose_b``: (B..., N, K)
    C, out : (B..., M, N)

    >>> gemm(torch.ones(2, 3), torch.ones(3, 2), torch.eye(2), beta=10.0)
    tensor([[13.,  3.],
            [ 3., 13.]])
    """
    # C is not broadcast, as in MXNet.
    product = _product(A, B, transpose_a=transpose_a, transpose_b=transpose_b, alpha=alpha, axis=axis)
    if C.shape != product.shape:
        raise ShapeError(
            f"C must have the shape of the product, {tuple(product.shape)}; got {tuple(C.shape)}"
        )
    return product + beta * C


@gemm.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    a, b = shapes["A"], shapes["B"]
    # Checked in full by the kernel: inference answers only what follows without doubt.
    if a is None or b is None or len(a) != len(b) or not -len(a) <= p.axis < len(a):
        return {}
    # As the kernel's product: rows of op(A), columns of op(B), at the axis that holds rows.
    rows, c = p.axis % len(a), list(a)
    c[rows] = a[-1] if p.transpose_a else a[rows]
    c[-1] = b[rows] if p.transpose_b else b[-1]
    return {"C": tuple(c)}


@operator("_linalg_gemm2", "linalg_gemm2")
@with_interface_of(gemm.kernels.function, without=("C", "beta"))
def gemm2(
    A: Tensor,
    B: Tensor,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: Double = 1.0,
    axis: int = -2,
) -> Tensor:
    """Product of matrices: ``alpha * op(A) @ op(B)``.

    Shapes
    ------
    A : (B..., M, K)     with ``transpose_a``: (B..., K, M)
    B : (B..., K, N)     with ``transpose_b``: (B..., N, K)
    out : (B..., M, N)

    >>> gemm2(torch.ones(2, 3), torch.ones(2, 3), transpose_b=True, alpha=2.0)
    tensor([[6., 6.],
            [6., 6.]])
    """
    return _product(A, B, transpose_a=transpose_a, transpose_b=transpose_b, alpha=alpha, axis=axis)


def _triangle(a: Tensor, b: Tensor, *, transpose: bool, rightside: bool, lower: bool) -> Tensor:
    """Return the triangle of `a`, transposed or not, after checking that it fits `b`."""
    check_matrices(a, b, square=True)
    side = -1 if rightside else -2
    if a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[side]:
        raise ShapeError(
            "A and B must have equal leading axes, and A as many rows as B has "
            f"{'columns' if rightside else 'rows'}; got {tuple(a.shape)} and {tuple(b.shape)}, rightside={rightside}"
        )
    # As in BLAS: whatever the other triangle holds does not count, and gets no gradient.
    triangle = torch.tril(a) if lower else torch.triu(a)
    return triangle.mT if transpose else triangle


@operator("_linalg_trmm", "linalg_trmm")
def trmm(
    A: Tensor,
    B: Tensor,
    *,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: Double = 1.0,
) -> Tensor:
    """Product with a triangular matrix: ``alpha * op(A) @ B``, or ``alpha * B @ op(A)`` with `rightside`.

    Parameters
    ----------
    transpose
        Whether ``op`` transposes.
    lower
        Which triangle of `A` counts, before it is transposed.

    Shapes
    ------
    A : (B..., M, M)     with ``rightside``: (B..., N, N)
    B, out : (B..., M, N)

    >>> trmm(torch.tensor([[1.0, 9.0], [2.0, 3.0]]), torch.eye(2))
    tensor([[1., 0.],
            [2., 3.]])
    """
    triangle = _triangle(A, B, transpose=transpose, rightside=rightside, lower=lower)
    # torch has no triangular product; this one multiplies the zeros too.
    return alpha * torch.matmul(*((B, triangle) if rightside else (triangle, B)))


@operator("_linalg_trsm", "linalg_trsm")
@with_interface_of(trmm.kernels.function)
def trsm(
    A: Tensor,
    B: Tensor,
    *,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: Double = 1.0,
) -> Tensor:
    """Solution X of ``op(A) @ X = alpha * B``, or of ``X @ op(A) = alpha * B`` with `rightside`, for triangular A.

    Shapes
    ------
    A : (B..., M, M)     with ``rightside``: (B..., N, N)
    B, out : (B..., M, N)

    >>> trsm(torch.tensor([[2.0, 0.0], [1.0, 1.0]]), torch.tensor([[2.0], [3.0]]))
    tensor([[1.],
            [2.]])
    """
    triangle = _triangle(A, B, transpose=transpose, rightside=rightside, lower=lower)
    # A lower triangle that was transposed is an upper one.
    return torch.linalg.solve_triangular(triangle, alpha * B, upper=lower == transpose, left=not rightside)


@operator("_linalg_syrk", "linalg_syrk")
def syrk(A: Tensor, *, transpose: bool = False, alpha: Double = 1.0) -> Tensor:
    """Product of a matrix and itself: ``alpha * A @ A.T``, with `transpose` ``alpha * A.T @ A``.

    Shapes
    ------
    A : (B..., M, N)
    out : (B..., M, M)     with ``transpose``: (B..., N, N)

    >>> syrk(torch.tensor([[1.0, 2.0]]), alpha=2.0)
    tensor([[10.]])
    """
    check_matrices(A)
    product = torch.matmul(*((A.mT, A) if transpose else (A, A.mT)))
    return product if alpha == 1 else alpha * product
