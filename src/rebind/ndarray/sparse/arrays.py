"""Sparse arrays: `CSRNDArray` and `RowSparseNDArray`."""

from __future__ import annotations

from ..ndarray import NDArray
from .csr import CSRStorage
from .row_sparse import RowSparseStorage

__all__ = ["BaseSparseNDArray", "CSRNDArray", "RowSparseNDArray"]


class BaseSparseNDArray(NDArray):
    """What sparse arrays of both kinds have."""

    __slots__ = ()

    def _member(self, name: str) -> NDArray:
        """Return one of the storage's tensors as an array with memory of its own."""
        return NDArray(self.storage.tensors[name].clone(), self.device)


class CSRNDArray(BaseSparseNDArray):
    """A matrix of which only some elements are stored, row after row.

    >>> import rebind as mx
    >>> x = mx.nd.array([[0, 5], [0, 0], [6, 7]]).tostype("csr")
    >>> x.data.asnumpy().tolist(), x.indptr.asnumpy().tolist(), x.indices.asnumpy().tolist()
    ([5.0, 6.0, 7.0], [0, 1, 1, 3], [1, 0, 1])
    """

    __slots__ = ()
    storage: CSRStorage

    @property
    def data(self) -> NDArray:
        """A copy of the stored elements."""
        return self._member("data")

    @property
    def indices(self) -> NDArray:
        """A copy of the columns of the stored elements, int64."""
        return self._member("indices")

    @property
    def indptr(self) -> NDArray:
        """A copy of where each row begins in `data`, and of the end of the last one, int64."""
        return self._member("indptr")


class RowSparseNDArray(BaseSparseNDArray):
    """An array of which only some rows are stored.

    >>> import rebind as mx
    >>> x = mx.nd.array([[0, 0], [1, 2], [0, 0]]).tostype("row_sparse")
    >>> x.data.asnumpy().tolist(), x.indices.asnumpy().tolist()
    ([[1.0, 2.0]], [1])
    """

    __slots__ = ()
    storage: RowSparseStorage

    @property
    def data(self) -> NDArray:
        """A copy of the stored rows."""
        return self._member("data")

    @property
    def indices(self) -> NDArray:
        """A copy of which rows are stored, int64."""
        return self._member("indices")


CSRStorage.array_class = CSRNDArray  # type: ignore[assignment]  # it takes any storage
RowSparseStorage.array_class = RowSparseNDArray  # type: ignore[assignment]
