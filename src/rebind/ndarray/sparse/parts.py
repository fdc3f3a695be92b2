"""Checks of the tensors that a sparse array consists of: from users, from files and from pickles."""

from __future__ import annotations

import torch
from torch import Tensor

from ...errors import ParameterError, ShapeError

__all__ = ["check_indptr", "check_lengths", "check_range", "check_row_indices"]


def check_row_indices(indices: Tensor, data: Tensor, shape: tuple[int, ...]) -> None:
    """Raise an error unless `indices` has a row of the array for each row of `data`.

    >>> check_row_indices(torch.tensor([2, 0]), torch.ones(2, 3), (4, 3))
    """
    if data.dim() != len(shape) or data.shape[1:] != shape[1:]:
        raise ShapeError(
            f"data must have rows of shape {shape[1:]}, as the array of shape {shape}; got {tuple(data.shape)}"
        )
    if indices.shape != data.shape[:1]:
        raise ShapeError(
            f"indices must have one element for each of the {len(data)} rows of data; got shape {tuple(indices.shape)}"
        )
    check_range("indices", indices, shape[0])


def check_indptr(indptr: Tensor, rows: int, stored: int) -> None:
    """Raise an error unless `indptr` has the ends of `rows` rows, which together have at most `stored` elements.

    >>> check_indptr(torch.tensor([0, 2, 2]), rows=2, stored=2)
    """
    if indptr.shape != (rows + 1,):
        raise ShapeError(
            f"indptr must have {rows + 1} elements for {rows} rows; got shape {tuple(indptr.shape)}"
        )
    _check_whole("indptr", indptr)
    if indptr[0] != 0 or indptr[-1] > stored:
        raise ParameterError(
            f"indptr must begin with 0 and end with {stored}, the number of elements; got {indptr[0].item()} and "
            f"{indptr[-1].item()}"
        )
    falls = indptr[1:] < indptr[:-1]
    if falls.any():
        row = int(falls.nonzero()[0])
        raise ParameterError(
            f"indptr must not decrease; got {indptr[row].item()} and then {indptr[row + 1].item()}, at row {row}"
        )


def check_lengths(indices: Tensor, data: Tensor) -> None:
    """Raise an error unless `indices` has one element for each of `data`.

    >>> check_lengths(torch.tensor([2, 0]), torch.ones(2))
    """
    if data.dim() != 1 or indices.shape != data.shape:
        raise ShapeError(
            "data and indices must have one axis, and equal numbers of elements; got shapes "
            f"{tuple(data.shape)} and {tuple(indices.shape)}"
        )


def check_range(name: str, indices: Tensor, size: int) -> None:
    """Raise an error unless indices are of an axis of this size.

    >>> check_range("indices", torch.tensor([2, 0]), 3)
    """
    _check_whole(name, indices)
    wrong = (indices < 0) | (indices >= size)
    if wrong.any():
        where = int(wrong.nonzero()[0])
        raise ParameterError(
            f"{name} must be from 0 to {size - 1}; got {indices[where].item()} at position {where}"
        )


def _check_whole(name: str, indices: Tensor) -> None:
    if indices.is_floating_point() or indices.dtype is torch.bool:
        raise ParameterError(f"{name} must be whole numbers; got {indices.dtype}")
