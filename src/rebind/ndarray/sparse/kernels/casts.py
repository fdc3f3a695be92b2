"""Casts between storage types, and operators that only sparse arrays have."""

from __future__ import annotations

from torch import Tensor

from ....ops.storage_types import storage_kernel
from ....params import Params
from ...storage import DenseStorage, Storage, storage_kind
from ..csr import CSRStorage
from ..row_sparse import RowSparseStorage

__all__ = ["cast_storage", "sparse_retain"]


@storage_kernel(
    "cast_storage",
    ["*"],
    lambda p: (p.stype,),
    gradient=lambda p, inputs, outputs, heads: [DenseStorage(heads[0].to_dense())],
    gradients=("default",),
)
def cast_storage(data: Storage, *, stype: str) -> Storage:
    """Return the values in another storage."""
    return storage_kind(stype, "cast_storage: stype").from_storage(data).copy()


def _retain_gradient(
    p: Params, inputs: list[Storage], outputs: list[Storage], heads: list[Storage]
) -> list[Storage | None]:
    indices = _indices(inputs[1])
    return [RowSparseStorage(heads[0].rows(indices), indices, inputs[0].shape), None]


@storage_kernel(
    "_sparse_retain",
    ["row_sparse", "default"],
    ("row_sparse",),
    gradient=_retain_gradient,
    gradients=("row_sparse", "default"),
)
def sparse_retain(data: RowSparseStorage, indices: DenseStorage) -> RowSparseStorage:
    """Return the rows at `indices` of an array, in their order."""
    return data.retain(_indices(indices))


def _indices(storage: Storage) -> Tensor:
    return storage.to_dense().detach().long().flatten()


@storage_kernel("_contrib_getnnz", ["csr"], ("default",))
def getnnz(data: CSRStorage, *, axis: int | None = None) -> DenseStorage:
    """Return how many elements are stored, or how many in each row (`axis` 1)."""
    if axis is None:
        return DenseStorage(data.indptr[-1:].clone())
    return DenseStorage(data.indptr.diff())
