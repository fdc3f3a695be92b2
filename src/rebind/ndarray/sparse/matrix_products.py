"""Products of a csr matrix, or of its transpose, with dense rows."""

from __future__ import annotations

import torch
from torch import Tensor

from ...threads import OneThread
from ...tuning import current
from ..storage import Storage
from .csr import CSRStorage
from .grouping import sum_segments
from .row_sparse import RowSparseStorage

__all__ = ["multiply", "multiply_transposed"]

#: What PyTorch's product of a csr tensor takes, on the CPU.
_OF_TENSOR = {torch.float32, torch.float64}


def multiply(matrix: CSRStorage, rows: Storage) -> Tensor:
    """Return the product with an array whose first axis is the columns of the matrix.

    >>> from rebind.ndarray.storage import DenseStorage
    >>> matrix = CSRStorage.from_dense(torch.tensor([[0.0, 5.0], [6.0, 7.0]]))
    >>> multiply(matrix, DenseStorage(torch.ones(2)))
    tensor([ 5., 13.])
    """
    if isinstance(rows, RowSparseStorage) and not rows.is_whole:
        matrix, dense = _on_stored_rows(matrix, rows), rows.data
    else:
        dense = rows.to_dense()
    others = dense.shape[1:]
    with OneThread(matrix.data.numel() * others.numel() <= current().one_thread_sparse_products):
        if dense.dim() == 2:
            return _times_matrix(matrix, dense)
        product = _times_matrix(matrix, dense.reshape(dense.shape[0], -1))
    return product.reshape(matrix.shape[0], *others)


def _times_matrix(matrix: CSRStorage, dense: Tensor) -> Tensor:
    if dense.dtype not in _OF_TENSOR:
        return sum_segments(dense, matrix.indices, matrix.indptr[:-1], matrix.data)
    if dense.shape[1] == 1:  # the kernel for vectors takes a third of the time
        return matrix.matrix.mv(dense.view(-1)).view(-1, 1)
    return matrix.matrix @ dense


def multiply_transposed(matrix: CSRStorage, rows: Storage) -> RowSparseStorage:
    """Return the product of the transpose with an array whose first axis is the rows of the matrix.

    It has the rows for which the matrix has a stored element.

    >>> from rebind.ndarray.storage import DenseStorage
    >>> matrix = CSRStorage.from_dense(torch.tensor([[0.0, 5.0], [0.0, 7.0]]))
    >>> product = multiply_transposed(matrix, DenseStorage(torch.ones(2)))
    >>> product.indices, product.data
    (tensor([1]), tensor([12.]))
    """
    if isinstance(rows, RowSparseStorage) and not rows.is_whole:  # absent rows there give none here
        matrix, dense = matrix.take_rows(rows.indices), rows.data
    else:
        dense = rows.to_dense()
    others = dense.shape[1:]
    dense = dense.reshape(len(dense), -1)
    columns, order, begins = matrix.by_column
    with OneThread(matrix.data.numel() * others.numel() <= current().one_thread_transposed_products):
        # `index_select` takes a quarter of the time that indexing does.
        rows_of_columns = matrix.row_of_each().index_select(0, order)
        sums = sum_segments(dense, rows_of_columns, begins, matrix.data.index_select(0, order))
    return RowSparseStorage(sums.reshape(-1, *others), columns, (matrix.shape[1], *others))


def _on_stored_rows(matrix: CSRStorage, rows: RowSparseStorage) -> CSRStorage:
    """Return the part of a matrix that the stored rows are multiplied by; its columns are these rows."""
    at, present = rows.positions(matrix.indices)
    if present is None:
        return CSRStorage(matrix.data, matrix.indptr, at, (matrix.shape[0], len(rows.data)))
    before = torch.cat([present.new_zeros(1, dtype=torch.int64), present.cumsum(0)])
    return CSRStorage(
        matrix.data[present], before[matrix.indptr], at[present], (matrix.shape[0], len(rows.data))
    )
