"""Rows of text files: matrices, or sparse rows of the numbers that a line of a LibSVM file gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

__all__ = ["Rows", "SparseRows", "join_rows", "zero_rows"]


@dataclass(frozen=True)
class SparseRows:
    """Rows in compressed form (CSR): the columns and values of row i are at ``indptr[i]`` to ``indptr[i + 1]``.

    Examples
    --------
    >>> rows = SparseRows(np.array([0, 1, 1, 3]), np.array([2, 0, 1]), np.array([5.0, 6.0, 7.0]), width=3)
    >>> rows[2:].dense()
    array([[6., 7., 0.]])
    """

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    width: int

    @property
    def nbytes(self) -> int:
        """The bytes that the arrays take.

        >>> SparseRows(np.array([0, 1]), np.array([1]), np.array([5.0]), width=2).nbytes
        32
        """
        return self.indptr.nbytes + self.indices.nbytes + self.values.nbytes

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, rows: slice) -> SparseRows:
        first, last, _ = rows.indices(len(self))
        bounds = self.indptr[first : max(first, last) + 1]
        inside = slice(bounds[0], bounds[-1])
        return SparseRows(bounds - bounds[0], self.indices[inside], self.values[inside], self.width)

    def dense(self) -> np.ndarray:
        """Return the rows with their zeros; of several values for one column the last counts."""
        numbers = np.zeros(len(self) * self.width, self.values.dtype)
        rows = np.repeat(np.arange(len(self)) * self.width, np.diff(self.indptr))
        numbers[rows + self.indices] = self.values
        return numbers.reshape(len(self), self.width)


#: Consecutive rows of one array of a batch; a slice of them has the same form.
Rows: TypeAlias = "SparseRows | np.ndarray"


def join_rows(parts: Sequence[Rows]) -> Rows:
    """Return the rows of all parts, which have the same form and width.

    >>> one = SparseRows(np.array([0, 1]), np.array([1]), np.array([5.0]), width=2)
    >>> join_rows([one, one]).dense()
    array([[0., 5.],
           [0., 5.]])
    """
    sparse = [part for part in parts if isinstance(part, SparseRows)]
    if not sparse:
        return np.concatenate([np.asarray(part) for part in parts])
    before = np.cumsum([0, *(part.indptr[-1] for part in sparse)])
    ends = [part.indptr[1:] + offset for part, offset in zip(sparse, before)]
    return SparseRows(
        np.concatenate([[0], *ends]),
        np.concatenate([part.indices for part in sparse]),
        np.concatenate([part.values for part in sparse]),
        sparse[0].width,
    )


def zero_rows(count: int, like: Rows) -> Rows:
    """Return `count` rows of zeros of the form and type of others.

    >>> zero_rows(1, like=np.ones((3, 2), np.float32))
    array([[0., 0.]], dtype=float32)
    """
    if isinstance(like, SparseRows):
        return SparseRows(np.zeros(count + 1, np.int64), like.indices[:0], like.values[:0], like.width)
    return np.zeros((count, *like.shape[1:]), like.dtype)
