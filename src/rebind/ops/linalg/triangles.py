"""Diagonals and triangles of matrices as vectors, and matrices made from them."""

from __future__ import annotations

import torch
from torch import Tensor

from ...errors import ShapeError
from .._signatures import with_interface_of
from ..declaration import operator
from ._matrices import check_matrices

__all__ = ["extractdiag", "extracttrian", "makediag", "maketrian"]


def _check_offset(a: Tensor, offset: int) -> None:
    check_matrices(a, square=True)
    if abs(offset) >= a.shape[-1]:
        most = a.shape[-1] - 1
        raise ShapeError(f"offset must be in [{-most}, {most}] for A of shape {tuple(a.shape)}; got {offset}")


def _make_checks(a: Tensor) -> None:
    if not a.ndim:
        raise ShapeError("A must have 1 axis or more; got shape ()")
    check_matrices(a[..., None])


@operator("_linalg_extractdiag", "linalg_extractdiag")
def extractdiag(A: Tensor, *, offset: int = 0) -> Tensor:
    """Diagonal of square matrices, `offset` above the main one.

    Shapes
    ------
    A : (B..., N, N)
    out : (B..., N - abs(offset))

    >>> extractdiag(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), offset=1)
    tensor([2.])
    """
    _check_offset(A, offset)
    return torch.diagonal(A, offset, -2, -1)


@operator("_linalg_makediag", "linalg_makediag")
def makediag(A: Tensor, *, offset: int = 0) -> Tensor:
    """Square matrices of zeros with `A` on the diagonal that is `offset` above the main one.

    Shapes
    ------
    A : (B..., N)
    out : (B..., N + abs(offset), N + abs(offset))

    >>> makediag(torch.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    _make_checks(A)
    return torch.diag_embed(A, offset)


def _triangle_indices(size: int, offset: int, lower: bool, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return rows and columns of a triangle: above the main diagonal, below it, or by `lower` for the main one."""
    rows, columns = torch.tril_indices(size, size, -abs(offset), device=device)
    if offset < 0 or (offset == 0 and lower):
        return rows, columns
    return columns, rows  # the upper triangle is read column after column, the mirror of the lower


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
    rows, columns = _triangle_indices(A.shape[-1], offset, lower, A.device)
    # One index into flattened matrices serves all of the batch.
    return torch.index_select(A.flatten(-2), -1, rows * A.shape[-1] + columns)


@operator("_linalg_maketrian", "linalg_maketrian")
@with_interface_of(extracttrian.kernels.function)
def maketrian(A: Tensor, *, offset: int = 0, lower: bool = True) -> Tensor:
    """Square matrices of zeros with a triangle from `A`, in the order of `extracttrian`, which it undoes.

    Shapes
    ------
    A : (B..., M * (M + 1) / 2)
    out : (B..., N, N)     N = M + abs(offset)

    >>> maketrian(torch.tensor([1.0, 3.0, 4.0]))
    tensor([[1., 0.],
            [3., 4.]])
    """
    _make_checks(A)
    count = A.shape[-1]
    # The number n with n * (n + 1) / 2 elements.
    side = next(n for n in range(count + 1) if n * (n + 1) // 2 >= count)
    if side * (side + 1) // 2 != count:
        raise ShapeError(
            f"the last axis of A must have n * (n + 1) / 2 elements (1, 3, 6, 10, ...); got {count}"
        )
    # A diagonal `offset` away is that much shorter than the main one.
    size = side + abs(offset)
    rows, columns = _triangle_indices(size, offset, lower, A.device)
    # A copy into zeros at computed indices: differentiable, and one kernel for the whole batch.
    zeros = A.new_zeros(*A.shape[:-1], size * size)
    return torch.index_copy(zeros, -1, rows * size + columns, A).unflatten(-1, (size, size))
