"""What `NDArrayIter` takes rows from: arrays, dense and csr, and datasets of h5py, which are read batch by batch."""

from __future__ import annotations

import sys
from typing import Protocol, TypeAlias

import numpy as np
import torch

from ..device import current_device
from ..ndarray import NDArray, array
from ..ndarray.base import wrap, wrap_tensor
from ..ndarray.sending import sent
from ..ndarray.sparse.csr import CSRStorage

__all__ = ["RowsOnDemand", "Samples", "from_scipy", "rows_at", "rows_between", "rows_on_demand"]


class RowsOnDemand(Protocol):
    """An array whose rows are read when they are asked for."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""

    def __getitem__(self, rows: slice | np.ndarray) -> object:
        """Return some of its rows; an array of their numbers must ascend."""


#: What `NDArrayIter` takes batches from.
Samples: TypeAlias = NDArray | RowsOnDemand


def rows_on_demand(value: object) -> RowsOnDemand | None:
    """Return a dataset of h5py as it is; None for anything else.

    >>> rows_on_demand(np.zeros(3)) is None
    True
    """
    # The package is not needed, nor imported here: one who has a dataset has imported it.
    h5py = sys.modules.get("h5py")
    return value if h5py is not None and isinstance(value, h5py.Dataset) else None


def from_scipy(value: object) -> NDArray | None:
    """Return a sparse matrix or array of SciPy as a csr array of float32; None for anything else.

    >>> from scipy import sparse
    >>> from_scipy(sparse.coo_matrix([[0, 5], [0, 0]])).indptr.asnumpy()
    array([0, 1, 1])
    """
    sparse = sys.modules.get("scipy.sparse")  # not imported, as h5py
    if sparse is None or not sparse.issparse(value):
        return None
    csr = value.tocsr()  # type: ignore[attr-defined]  # a matrix, from the test
    with np.errstate(over="ignore"):
        parts = (csr.data.astype(np.float32), csr.indptr.astype(np.int64), csr.indices.astype(np.int64))
    device = current_device()
    storage = CSRStorage.from_members(csr.shape, [torch.from_numpy(part) for part in parts])
    return wrap(storage.to(device.torch), device)


def rows_between(samples: Samples, start: int, stop: int) -> NDArray:
    """Return consecutive rows: a view of a dense array, a copy of a csr one; of float32 if they are read on demand.

    >>> rows_between(array([1, 2, 3]), 1, 3).asnumpy()
    array([2., 3.], dtype=float32)
    """
    if not isinstance(samples, NDArray):
        return _as_float32(samples[start:stop])
    if isinstance(samples.storage, CSRStorage):
        return wrap(samples.storage.row_range(start, stop), samples.device)
    return wrap_tensor(samples.tensor.narrow(0, start, stop - start), samples.device)


def rows_at(samples: Samples, indices: torch.Tensor) -> NDArray:
    """Return a copy of the rows at `indices`, of float32 if they are read on demand.

    >>> rows_at(array([1, 2, 3]), torch.tensor([2, 0])).asnumpy()
    array([3., 1.], dtype=float32)
    """
    if isinstance(samples, NDArray):
        storage = samples.storage
        if storage.device.type == "cuda":
            indices = sent(indices, storage.device)
        if isinstance(storage, CSRStorage):
            return wrap(storage.take_rows(indices), samples.device)
        return NDArray(samples.tensor.index_select(0, indices), samples.context)
    # Files are read forward, each row once.
    rows, positions = np.unique(indices.numpy(), return_inverse=True)
    return rows_at(_as_float32(samples[rows]), torch.from_numpy(positions.reshape(-1)))


def _as_float32(rows: object) -> NDArray:
    return array(np.asarray(rows), dtype=np.float32)
