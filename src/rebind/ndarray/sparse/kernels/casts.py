"""Casts between storage types, and operators that only sparse arrays have."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from ....errors import ParameterError
from ....ops.storage_types import storage_kernel
from ....params import Params
from ...storage import DenseStorage, Storage, storage_kind
from ..csr import CSRStorage
from ..row_sparse import RowSparseStorage
from .stored import look_up

__all__ = ["cast_storage", "edge_id", "getnnz", "sparse_retain"]


def _cast_gradient(
    p: Params, inputs: list[Storage], outputs: list[Storage], heads: list[Storage]
) -> list[Storage | None]:
    return [storage_kind(p.stype, "cast_storage: stype").from_storage(heads[0]).copy()]


def _casts_to(stype: str) -> Callable[[Params], bool]:
    return lambda p: bool(p.stype == stype)


# The gradient is stored as the output is, whatever the input is. Dense outputs of dense inputs are the operator's own.
for _given, _stype in (("csr", "default"), ("row_sparse", "default"), ("*", "csr"), ("*", "row_sparse")):

    @storage_kernel(
        "cast_storage",
        [_given],
        (_stype,),
        when=_casts_to(_stype),
        gradient=_cast_gradient,
        gradients=(_stype,),
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
    if axis not in (None, 1):
        raise ParameterError(f"axis must be None or 1; got {axis}")
    return DenseStorage(data.indptr[-1:].clone() if axis is None else data.indptr.diff())


@storage_kernel("_contrib_edge_id", ["csr", "default", "default"], ("default",))
def edge_id(data: CSRStorage, u: DenseStorage, v: DenseStorage) -> DenseStorage:
    """Return the elements at rows `u` and columns `v`, -1 where none is stored."""
    return DenseStorage(look_up(data, _indices(u) * data.shape[1] + _indices(v), -1))
