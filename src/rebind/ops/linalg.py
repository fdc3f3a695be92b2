"""Linear algebra on matrices that stand in the last two axes, for each position on the axes before.

Matrices are of float32 or float64, as in MXNet. Where only a triangle of a matrix counts, the rest is never looked
at and gets no gradient; symmetric matrices are read from their lower triangle and get a symmetric gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..errors import DTypeError, MXNetError, ShapeError
from ..params import Params
from ._signatures import with_interface_of
from .spec import Shapes, operator


def _matrices(*arrays: Tensor, square: bool = False) -> None:
    """Raise unless `arrays` are matrices of a type that is computed with, and the first is square if it must be."""
    for name, array in zip("ABC", arrays, strict=False):
        if array.ndim < 2:
            raise ShapeError(f"{name} must have two axes or more; got shape {tuple(array.shape)}")
        if array.dtype not in (torch.float32, torch.float64):
            raise DTypeError(
                f"{name} must be float32 or float64; got {str(array.dtype).removeprefix('torch.')}"
            )
    if square and arrays[0].shape[-1] != arrays[0].shape[-2]:
        raise ShapeError(f"A must hold square matrices; got shape {tuple(arrays[0].shape)}")


def _one_or_more(out: Tensor) -> Tensor:
    """Return one number as an array of one axis: MXNet has no arrays without axes here."""
    return out if out.ndim else out.reshape(1)


def _symmetric(matrix: Tensor) -> Tensor:
    """Return the symmetric matrix that stands in the lower triangle; its gradient is symmetric too."""
    mean = (matrix + matrix.mT) / 2  # the derivative is this one's, on both triangles alike
    read = torch.tril(matrix) + torch.tril(matrix, -1).mT
    return mean + (read - mean).detach()


# ---- products -----------------------------------------------------------------------------------------


def _product(
    a: Tensor,
    b: Tensor,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    axis: int = -2,
) -> Tensor:
    """Return ``alpha * op(a) @ op(b)`` for matrices that stand in `axis` and the last axis."""
    _matrices(a, b)
    if a.ndim != b.ndim:
        raise ShapeError(f"A and B must have as many axes; got {tuple(a.shape)} and {tuple(b.shape)}")
    if not -a.ndim <= axis < a.ndim or axis % a.ndim == a.ndim - 1:
        raise ShapeError(f"axis must name one of the first {a.ndim - 1} of {a.ndim} axes; got {axis}")
    inner = axis in (-2, a.ndim - 2)
    left, right = (a, b) if inner else (a.movedim(axis, -2), b.movedim(axis, -2))
    left, right = left.mT if transpose_a else left, right.mT if transpose_b else right
    if left.shape[:-2] != right.shape[:-2] or left.shape[-1] != right.shape[-2]:
        raise ShapeError(
            f"A and B must be alike but for the axes of the matrices, and fit as matrices; got "
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
    alpha: float = 1.0,
    beta: float = 1.0,
    axis: int = -2,
) -> Tensor:
    """Product of matrices and a sum: ``alpha * op(A) @ op(B) + beta * C``.

    Parameters
    ----------
    transpose_a, transpose_b
        Whether ``op`` transposes.
    axis
        Where the rows of the matrices stand; the columns are in the last axis.

    Shapes
    ------
    A : (B..., M, K)     with ``transpose_a``: (B..., K, M)
    B : (B..., K, N)     with ``transpose_b``: (B..., N, K)
    C, out : (B..., M, N)
    """
    product = _product(A, B, transpose_a=transpose_a, transpose_b=transpose_b, alpha=alpha, axis=axis)
    if C.shape != product.shape:
        raise ShapeError(
            f"C must have the shape of the product, {tuple(product.shape)}; got {tuple(C.shape)}"
        )
    return product + beta * C


@gemm.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    a, b = shapes["A"], shapes["B"]
    if a is None or b is None or len(a) != len(b) or not -len(a) <= p.axis < len(a):
        return {}
    rows, c = p.axis % len(a), list(a)
    c[rows] = a[-1] if p.transpose_a else a[rows]
    c[-1] = b[rows] if p.transpose_b else b[-1]
    return {"C": tuple(c)}


@operator("_linalg_gemm2", "linalg_gemm2")
@with_interface_of(gemm.kernels.function, without=("C", "beta"))
def gemm2(*matrices: Tensor, **settings: Any) -> Tensor:
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
    return _product(*matrices, **settings)


def _triangle(a: Tensor, b: Tensor, *, transpose: bool, rightside: bool, lower: bool) -> Tensor:
    """Return the triangle of `a`, transposed or not, after checking that it fits `b`."""
    _matrices(a, b, square=True)
    side = -1 if rightside else -2
    if a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[side]:
        raise ShapeError(
            f"A and B must be alike but for the last two axes, and fit as matrices; got "
            f"{tuple(a.shape)} and {tuple(b.shape)}, rightside={rightside}"
        )
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
    alpha: float = 1.0,
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
    """
    triangle = _triangle(A, B, transpose=transpose, rightside=rightside, lower=lower)
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
    alpha: float = 1.0,
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
    return torch.linalg.solve_triangular(triangle, alpha * B, upper=lower == transpose, left=not rightside)


@operator("_linalg_syrk", "linalg_syrk")
def syrk(A: Tensor, *, transpose: bool = False, alpha: float = 1.0) -> Tensor:
    """Product of a matrix and itself: ``alpha * A @ A.T``, with `transpose` ``alpha * A.T @ A``.

    Shapes
    ------
    A : (B..., M, N)
    out : (B..., M, M)     with ``transpose``: (B..., N, N)
    """
    _matrices(A)
    product = torch.matmul(*((A.mT, A) if transpose else (A, A.mT)))
    return product if alpha == 1 else alpha * product


# ---- factors ------------------------------------------------------------------------------------------


@operator("_linalg_potrf", "linalg_potrf", alike=True)
def potrf(A: Tensor) -> Tensor:
    """Cholesky factor: the lower triangular L with ``L @ L.T = A``, for symmetric positive definite A.

    Raises
    ------
    MXNetError
        When a matrix is not positive definite.

    >>> potrf(torch.tensor([[4.0, 2.0], [2.0, 10.0]]))
    tensor([[2., 0.],
            [1., 3.]])
    """
    _matrices(A, square=True)
    try:
        return torch.linalg.cholesky(_symmetric(A))
    except torch.linalg.LinAlgError:
        raise MXNetError("A must be positive definite; a matrix is not") from None


@operator("_linalg_potri", "linalg_potri", alike=True)
def potri(A: Tensor) -> Tensor:
    """Inverse of ``A @ A.T`` for lower triangular A: of the matrix whose Cholesky factor is A.

    Different from MXNet, which fails, the result for a 0 on the diagonal is infinite or not a number.
    """
    _matrices(A, square=True)
    one = torch.eye(A.shape[-1], dtype=A.dtype, device=A.device)
    inverse = torch.linalg.solve_triangular(torch.tril(A), one.expand(A.shape), upper=False)
    return torch.matmul(inverse.mT, inverse)


@operator("_linalg_gelqf", "linalg_gelqf", outputs=("output0", "output1"))
def gelqf(A: Tensor) -> tuple[Tensor, Tensor]:
    """Orthonormal rows Q and lower triangular L with ``L @ Q = A``, in this order.

    Shapes
    ------
    A, output0 : (B..., M, N)     M at most N
    output1 : (B..., M, M)
    """
    _matrices(A)
    if A.shape[-2] > A.shape[-1]:
        raise ShapeError(f"A must have no more rows than columns; got shape {tuple(A.shape)}")
    columns, upper = torch.linalg.qr(A.mT)
    return columns.mT, upper.mT


@operator("_linalg_syevd", outputs=("output0", "output1"))
def syevd(A: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvectors, as the rows of U, and ascending eigenvalues L of symmetric A: ``U.T @ diag(L) @ U = A``.

    The largest number of each eigenvector, by size, is positive.

    Shapes
    ------
    A, output0 : (B..., N, N)
    output1 : (B..., N)
    """
    _matrices(A, square=True)
    eigenvalues, columns = torch.linalg.eigh(_symmetric(A))
    largest = torch.argmax(torch.abs(columns), -2, keepdim=True)
    sign = torch.sign(torch.gather(columns, -2, largest)).detach()
    return (columns * sign).mT, eigenvalues


# ---- inverse and determinants -------------------------------------------------------------------------


@operator("_linalg_inverse", "linalg_inverse")
def inverse(A: Tensor) -> Tensor:
    """Inverse of square matrices.

    Raises
    ------
    MXNetError
        When a matrix has none.

    >>> inverse(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    _matrices(A, square=True)
    try:
        return torch.linalg.inv(A)
    except torch.linalg.LinAlgError:
        raise MXNetError("A must have an inverse; a matrix is singular") from None


# The factors that MXNet keeps for the gradient are outputs in its files.
@operator("_linalg_det", "linalg_det", outputs=("output0",), rows=3)
def det(A: Tensor) -> Tensor:
    """Determinant of square matrices; that of a single one has shape ``(1,)``.

    Different from MXNet, where it is 0, the gradient of a singular matrix is the derivative.
    """
    _matrices(A, square=True)
    return _one_or_more(torch.linalg.det(A))


@operator("_linalg_slogdet", "linalg_slogdet", outputs=("output0", "output1"), rows=4)
def slogdet(A: Tensor) -> tuple[Tensor, Tensor]:
    """Sign of the determinant of square matrices, and the logarithm of its size.

    For a singular matrix they are 0 and minus infinity, and the gradient is 0.
    """
    _matrices(A, square=True)
    sign, size = torch.linalg.slogdet(A)
    return _one_or_more(sign), _one_or_more(size)


@slogdet.gradient
def _(
    p: Params, inputs: Sequence[Tensor], outputs: Sequence[Tensor], heads: Sequence[Tensor]
) -> Sequence[Tensor]:
    sign, head = outputs[0][..., None, None], heads[1][..., None, None]
    inverse = torch.linalg.inv_ex(inputs[0]).inverse.mT
    return (torch.where(sign == 0, 0.0, head * inverse).reshape(inputs[0].shape),)


@operator("_linalg_sumlogdiag", "linalg_sumlogdiag")
def sumlogdiag(A: Tensor) -> Tensor:
    """Sum of the logarithms of the diagonal; that of a single matrix has shape ``(1,)``."""
    _matrices(A, square=True)
    return _one_or_more(torch.log(torch.diagonal(A, 0, -2, -1)).sum(-1))


# ---- diagonals and triangles --------------------------------------------------------------------------


def _check_offset(a: Tensor, offset: int) -> None:
    _matrices(a, square=True)
    if abs(offset) >= a.shape[-1]:
        raise ShapeError(f"offset must name a diagonal of matrices of size {a.shape[-1]}; got {offset}")


def _make_checks(a: Tensor) -> None:
    if not a.ndim:
        raise ShapeError("A must have an axis; got shape ()")
    _matrices(a[..., None])


@operator("_linalg_extractdiag", "linalg_extractdiag")
def extractdiag(A: Tensor, *, offset: int = 0) -> Tensor:
    """Diagonal of square matrices, `offset` places above the main one.

    Shapes
    ------
    A : (B..., N, N)
    out : (B..., N - abs(offset))
    """
    _check_offset(A, offset)
    return torch.diagonal(A, offset, -2, -1)


@operator("_linalg_makediag", "linalg_makediag")
def makediag(A: Tensor, *, offset: int = 0) -> Tensor:
    """Square matrices of zeros with `A` on the diagonal that is `offset` places above the main one.

    Shapes
    ------
    A : (B..., N)
    out : (B..., N + abs(offset), N + abs(offset))
    """
    _make_checks(A)
    return torch.diag_embed(A, offset)


def _places(size: int, offset: int, lower: bool, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return rows and columns of a triangle: above the main diagonal, below it, or as `lower` says with both."""
    rows, columns = torch.tril_indices(size, size, -abs(offset), device=device)
    if offset < 0 or (offset == 0 and lower):
        return rows, columns
    return columns, rows  # the upper triangle goes column after column, the mirror of the lower


@operator("_linalg_extracttrian", "linalg_extracttrian")
def extracttrian(A: Tensor, *, offset: int = 0, lower: bool = True) -> Tensor:
    """Triangle of square matrices as one axis: the lower one row after row, the upper one column after column.

    Parameters
    ----------
    offset
        Above 0: the upper triangle from this diagonal on; below 0: the lower one.
    lower
        Which triangle it is with offset 0.

    Shapes
    ------
    A : (B..., N, N)
    out : (B..., M * (M + 1) / 2)     M = N - abs(offset)

    >>> extracttrian(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([1., 3., 4.])
    """
    _check_offset(A, offset)
    rows, columns = _places(A.shape[-1], offset, lower, A.device)
    return torch.index_select(A.flatten(-2), -1, rows * A.shape[-1] + columns)


@operator("_linalg_maketrian", "linalg_maketrian")
@with_interface_of(extracttrian.kernels.function)
def maketrian(A: Tensor, *, offset: int = 0, lower: bool = True) -> Tensor:
    """Square matrices of zeros with a triangle from `A`, in the order of `extracttrian`, which it undoes.

    Shapes
    ------
    A : (B..., M * (M + 1) / 2)
    out : (B..., N, N)     N = M + abs(offset)
    """
    _make_checks(A)
    count = A.shape[-1]
    side = next(n for n in range(count + 1) if n * (n + 1) // 2 >= count)
    if side * (side + 1) // 2 != count:
        raise ShapeError(f"the last axis of A must be as long as a triangle, 1, 3, 6, 10, ...; got {count}")
    size = side + abs(offset)
    rows, columns = _places(size, offset, lower, A.device)
    zeros = A.new_zeros(*A.shape[:-1], size * size)
    return torch.index_copy(zeros, -1, rows * size + columns, A).unflatten(-1, (size, size))
