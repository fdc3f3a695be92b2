"""Factors, inverse and determinants of matrices."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ...errors import MXNetError, ShapeError
from ...params import Params
from ...shapes import Shape
from ..declaration import Shapes, operator
from ._matrices import check_matrices, one_or_more, symmetric

__all__ = ["det", "gelqf", "inverse", "potrf", "potri", "slogdet", "sumlogdiag", "syevd"]


@operator("_linalg_potrf", "linalg_potrf", same_shape=True, listed={"lower": None})
def potrf(A: Tensor, *, lower: bool = True) -> Tensor:
    """Cholesky factor: the lower triangular L with ``L @ L.T = A``, for symmetric positive definite A.

    With ``lower=False`` the upper triangular U with ``U.T @ U = A``.

    Raises
    ------
    MXNetError
        When a matrix is not positive definite.

    >>> potrf(torch.tensor([[4.0, 2.0], [2.0, 10.0]]))
    tensor([[2., 0.],
            [1., 3.]])
    """
    check_matrices(A, square=True)
    try:
        # MXNet reads one triangle only, whatever is in the other.
        return torch.linalg.cholesky(symmetric(A, lower), upper=not lower)
    except torch.linalg.LinAlgError:
        raise MXNetError("A must be positive definite; a matrix is not") from None


@operator("_linalg_potri", "linalg_potri", same_shape=True, listed={"lower": None})
def potri(A: Tensor, *, lower: bool = True) -> Tensor:
    """Inverse of ``A @ A.T`` for lower triangular A: of the matrix whose Cholesky factor is A.

    With ``lower=False`` that of ``A.T @ A``, for upper triangular A.

    Unlike in MXNet, which fails, the result for a 0 on the diagonal is infinite or not a number.

    >>> potri(torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([[0.2500, 0.0000],
            [0.0000, 1.0000]])
    """
    check_matrices(A, square=True)
    # The inverse of A @ A.T is inv(A).T @ inv(A): one triangular system is enough.
    one = torch.eye(A.shape[-1], dtype=A.dtype, device=A.device)
    factor = torch.tril(A) if lower else torch.triu(A).mT
    inverse = torch.linalg.solve_triangular(factor, one.expand(A.shape), upper=False)
    return torch.matmul(inverse.mT, inverse)


@operator("_linalg_gelqf", "linalg_gelqf", outputs=("output0", "output1"))
def gelqf(A: Tensor) -> tuple[Tensor, Tensor]:
    """Orthonormal rows Q and lower triangular L with ``L @ Q = A``, in this order.

    Shapes
    ------
    A, output0 : (B..., M, N)     M at most N
    output1 : (B..., M, M)

    >>> a = torch.tensor([[3.0, 4.0]])
    >>> q, lower = gelqf(a)
    >>> torch.allclose(lower @ q, a)
    True
    """
    check_matrices(A)
    if A.shape[-2] > A.shape[-1]:
        raise ShapeError(f"A must have no more rows than columns; got shape {tuple(A.shape)}")
    # LQ of A is the transpose of QR of its transpose.
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

    >>> vectors, values = syevd(torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
    >>> values
    tensor([1., 2.])
    """
    check_matrices(A, square=True)
    eigenvalues, columns = torch.linalg.eigh(symmetric(A))
    largest = torch.argmax(torch.abs(columns), -2, keepdim=True)
    # An eigenvector is unique up to its sign; this choice is MXNet's. It is a constant for the gradient.
    sign = torch.sign(torch.gather(columns, -2, largest)).detach()
    return (columns * sign).mT, eigenvalues


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
    check_matrices(A, square=True)
    try:
        return torch.linalg.inv(A)
    except torch.linalg.LinAlgError:
        raise MXNetError("A must have an inverse; a matrix is singular") from None


# The factors that MXNet saves for the gradient count as outputs in its files.
@operator("_linalg_det", "linalg_det", outputs=("output0",), counted=3)
def det(A: Tensor) -> Tensor:
    """Determinant of square matrices; that of a single one has shape ``(1,)``.

    Unlike in MXNet, where it is 0, the gradient of a singular matrix is the derivative.

    >>> det(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([-2.])
    """
    check_matrices(A, square=True)
    return one_or_more(torch.linalg.det(A))


@operator("_linalg_slogdet", "linalg_slogdet", outputs=("output0", "output1"), counted=4)
def slogdet(A: Tensor) -> tuple[Tensor, Tensor]:
    """Sign of the determinant of square matrices, and the logarithm of its size.

    For a singular matrix they are 0 and minus infinity. The gradient of a singular matrix is 0.

    >>> slogdet(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    (tensor([-1.]), tensor([0.]))
    """
    check_matrices(A, square=True)
    sign, size = torch.linalg.slogdet(A)
    return one_or_more(sign), one_or_more(size)


@slogdet.gradient
def _(
    p: Params, inputs: Sequence[Tensor], outputs: Sequence[Tensor], head_grads: Sequence[Tensor]
) -> Sequence[Tensor]:
    # The derivative of log|det A| is inv(A).T (Jacobi's formula).
    sign, head_grad = outputs[0][..., None, None], head_grads[1][..., None, None]
    # `inv_ex` does not raise for a singular matrix; its gradient is replaced by 0 below.
    inverse = torch.linalg.inv_ex(inputs[0]).inverse.mT
    return (torch.where(sign == 0, 0.0, head_grad * inverse).reshape(inputs[0].shape),)


@operator("_linalg_sumlogdiag", "linalg_sumlogdiag")
def sumlogdiag(A: Tensor) -> Tensor:
    """Sum of the logarithms of the diagonal; that of a single matrix has shape ``(1,)``.

    >>> sumlogdiag(torch.eye(3))
    tensor([0.])
    """
    check_matrices(A, square=True)
    return one_or_more(torch.log(torch.diagonal(A, 0, -2, -1)).sum(-1))


@sumlogdiag.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    A = shapes["A"]
    return [] if A is None else [A[:-2] or (1,)]
