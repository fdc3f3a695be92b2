"""What the operators on matrices share: checks of shape and type, and the symmetric matrix of a triangle."""

from __future__ import annotations

import torch
from torch import Tensor

from ...errors import DTypeError, ShapeError
from ...grad_mode import is_recorded

__all__ = ["check_matrices", "one_or_more", "symmetric"]


_TYPES = frozenset((torch.float32, torch.float64))


def check_matrices(*arrays: Tensor, square: bool = False) -> None:
    """Raise unless `arrays` are matrices of a type that is computed with, and the first is square if it must be.

    >>> check_matrices(torch.ones(2, 3), square=True)
    Traceback (most recent call last):
        ...
    rebind.errors.ShapeError: A must hold square matrices; got shape (2, 3)
    """
    for i, array in enumerate(arrays):
        if array.ndim >= 2 and array.dtype in _TYPES:
            continue
        name = "ABC"[i]
        if array.ndim < 2:
            raise ShapeError(f"{name} must have two axes or more; got shape {tuple(array.shape)}")
        raise DTypeError(f"{name} must be float32 or float64; got {str(array.dtype).removeprefix('torch.')}")
    if square and (shape := arrays[0].shape)[-1] != shape[-2]:
        raise ShapeError(f"A must hold square matrices; got shape {tuple(shape)}")


def one_or_more(out: Tensor) -> Tensor:
    """Return one number as an array of one axis: MXNet has no arrays without axes here."""
    if out.ndim:
        return out
    # A view would have to be made an array of its own; but a derivative may need the number.
    return out.view(1) if is_recorded(out) else out.unsqueeze_(0)


def symmetric(matrix: Tensor, lower: bool = True) -> Tensor:
    """Return the symmetric matrix of the lower triangle, or of the upper one; its gradient is symmetric too.

    >>> symmetric(torch.tensor([[1.0, 9.0], [2.0, 3.0]]))
    tensor([[1., 2.],
            [2., 3.]])
    """
    mean = (matrix + matrix.mT) / 2  # the derivative is that of the mean, equal on both triangles
    # The value is read from one triangle; the gradient is that of `mean`.
    triangle = matrix if lower else matrix.mT
    read = torch.tril(triangle) + torch.tril(triangle, -1).mT
    return mean + (read - mean).detach()
