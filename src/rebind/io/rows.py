"""Rows of text files: matrices of NumPy, or csr of the columns that a line of a LibSVM file has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch

from ..ndarray.sparse.csr import CSRStorage

__all__ = ["Rows", "csr_rows", "join_rows", "rows_between", "zero_rows"]

#: Consecutive rows of one array of a batch.
Rows: TypeAlias = "CSRStorage | np.ndarray"


def csr_rows(data: np.ndarray, indptr: np.ndarray, indices: np.ndarray, width: int) -> CSRStorage:
    """Return the parts of a csr matrix of this width as one.

    >>> csr_rows(np.array([5.0]), np.array([0, 1]), np.array([1]), width=2).to_dense()
    tensor([[0., 5.]], dtype=torch.float64)
    """
    values, ends, columns = map(torch.from_numpy, (data, indptr, indices))
    return CSRStorage(values, ends, columns, (len(indptr) - 1, width))


def rows_between(rows: Rows, start: int, stop: int) -> Rows:
    """Return some of the rows: a view of a matrix, a copy of csr.

    >>> rows_between(np.arange(4), 1, 3)
    array([1, 2])
    """
    return rows.row_range(start, stop) if isinstance(rows, CSRStorage) else rows[start:stop]


def join_rows(parts: Sequence[Rows]) -> Rows:
    """Return the rows of all parts, which have the same form and width.

    >>> one = CSRStorage.from_dense(torch.tensor([[0.0, 5.0]]))
    >>> join_rows([one, one]).to_dense()
    tensor([[0., 5.],
            [0., 5.]])
    """
    sparse = [part for part in parts if isinstance(part, CSRStorage)]
    if not sparse:
        return np.concatenate([np.asarray(part) for part in parts])
    counts = torch.cat([part.indptr.diff() for part in sparse])
    return CSRStorage(
        torch.cat([part.data for part in sparse]),
        torch.cat([counts.new_zeros(1), counts.cumsum(0)]),
        torch.cat([part.indices for part in sparse]),
        (len(counts), sparse[0].shape[1]),
    )


def zero_rows(count: int, like: Rows) -> Rows:
    """Return `count` rows of zeros of the form and type of others.

    >>> zero_rows(1, like=np.ones((3, 2), np.float32))
    array([[0., 0.]], dtype=float32)
    """
    shape = (count, *like.shape[1:])
    return like.zeros_like(shape) if isinstance(like, CSRStorage) else np.zeros(shape, like.dtype)
