"""Sparse arrays in files of arrays, which are dense in memory until there is sparse storage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from ..errors import ParameterError
from ..ops.storage_types import warn_of_dense
from .storage import DenseStorage, Storage

__all__ = ["RECORDS", "StorageRecord"]


class StorageRecord(Protocol):
    """What a file says of a kind of storage: its tensors in order, and how a storage is made of them."""

    @property
    def stype(self) -> str:
        """The name of the storage type."""

    @property
    def members(self) -> tuple[str, ...]:
        """The names of the tensors."""

    def from_members(self, shape: tuple[int, ...], members: Sequence[Tensor]) -> Storage:
        """Return the storage of an array of a shape, from its tensors."""


class _RowSparse:
    """The rows that are present, and which they are."""

    stype = "row_sparse"
    members = ("data", "indices")

    def from_members(self, shape: tuple[int, ...], members: Sequence[Tensor]) -> Storage:
        rows, indices = members
        if indices.shape != (len(rows),) or rows.shape[1:] != shape[1:]:
            raise ParameterError(
                f"rows of shape {tuple(rows.shape)} need as many indices, and an array of such rows; got indices of "
                f"shape {tuple(indices.shape)} and an array of shape {shape}"
            )
        _check_indices(indices, shape[0])
        if (indices[1:] <= indices[:-1]).any():
            raise ParameterError("indices must increase; got others")
        dense = _zeros(shape, rows)
        dense[indices.long()] = rows
        return _with_warning(dense, self.stype)


class _CSR:
    """The numbers of all rows, one row after the other, where each row begins, and the column of each number."""

    stype = "csr"
    members = ("data", "indptr", "indices")

    def from_members(self, shape: tuple[int, ...], members: Sequence[Tensor]) -> Storage:
        numbers, begins, columns = members
        if (
            len(shape) != 2
            or numbers.ndim != 1
            or columns.shape != numbers.shape
            or begins.shape != (shape[0] + 1,)
        ):
            raise ParameterError(
                "a matrix needs a column for each number, and where each of its rows begins and ends; got shapes "
                f"{tuple(numbers.shape)}, {tuple(columns.shape)} and {tuple(begins.shape)} for {shape}"
            )
        if begins[0] != 0 or begins[-1] != len(numbers) or (begins[1:] < begins[:-1]).any():
            raise ParameterError(
                "rows must begin at 0, one after the other, and end with the numbers; got others"
            )
        _check_indices(columns, shape[1])
        dense = _zeros(shape, numbers)
        rows = torch.repeat_interleave(torch.arange(shape[0]), begins.long().diff())
        dense[rows, columns.long()] = numbers
        return _with_warning(dense, self.stype)


def _check_indices(indices: Tensor, size: int) -> None:
    if indices.is_floating_point() or ((indices < 0) | (indices >= size)).any():
        raise ParameterError(f"indices must be whole numbers from 0 to {size - 1}; got others")


def _zeros(shape: tuple[int, ...], like: Tensor) -> Tensor:
    try:
        return like.new_zeros(shape)
    except RuntimeError:
        raise ParameterError(f"its dense form must fit into memory; got shape {shape}") from None


def _with_warning(dense: Tensor, stype: str) -> Storage:
    warn_of_dense(f"arrays of storage type {stype!r} in files")
    return DenseStorage(dense)


#: By the number of the storage type in files.
RECORDS: dict[int, StorageRecord] = {1: _RowSparse(), 2: _CSR()}
