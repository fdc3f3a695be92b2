"""Rows of which only the numbers are kept that are given: what a line of a LibSVM file is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["SparseRows"]


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

        >>> SparseRows.blank(1, width=3).nbytes
        16
        """
        return self.indptr.nbytes + self.indices.nbytes + self.values.nbytes

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, rows: slice) -> SparseRows:
        first, last, _ = rows.indices(len(self))
        bounds = self.indptr[first : max(first, last) + 1]
        inside = slice(bounds[0], bounds[-1])
        return SparseRows(bounds - bounds[0], self.indices[inside], self.values[inside], self.width)

    @staticmethod
    def join(parts: Sequence[SparseRows]) -> SparseRows:
        """Return the rows of all parts, which have the same width.

        >>> one = SparseRows(np.array([0, 1]), np.array([1]), np.array([5.0]), width=2)
        >>> SparseRows.join([one, one]).dense()
        array([[0., 5.],
               [0., 5.]])
        """
        before = np.cumsum([0, *(part.indptr[-1] for part in parts)])
        ends = [part.indptr[1:] + offset for part, offset in zip(parts, before)]
        return SparseRows(
            np.concatenate([[0], *ends]),
            np.concatenate([part.indices for part in parts]),
            np.concatenate([part.values for part in parts]),
            parts[0].width,
        )

    @staticmethod
    def blank(count: int, width: int) -> SparseRows:
        """Return `count` rows of zeros.

        >>> SparseRows.blank(1, 2).dense()
        array([[0., 0.]], dtype=float32)
        """
        nothing = np.zeros(0, np.int64)
        return SparseRows(np.zeros(count + 1, np.int64), nothing, np.zeros(0, np.float32), width)

    def dense(self) -> np.ndarray:
        """Return the rows with their zeros; of several values for one column the last counts."""
        found = np.zeros(len(self) * self.width, self.values.dtype)
        rows = np.repeat(np.arange(len(self)) * self.width, np.diff(self.indptr))
        found[rows + self.indices] = self.values
        return found.reshape(len(self), self.width)
