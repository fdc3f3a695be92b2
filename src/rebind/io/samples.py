"""Arrays whose rows a batch reads when it is made: datasets of h5py, sparse matrices of SciPy."""

from __future__ import annotations

import sys
from typing import Protocol, TypeAlias

import numpy as np
import torch

from ..ndarray import NDArray, array
from ..ndarray.base import wrap_tensor
from ..ndarray.sending import sent

__all__ = ["RowsOnDemand", "Samples", "rows_at", "rows_between", "rows_on_demand"]


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
    """Return a dataset of h5py as it is, and a sparse matrix of SciPy by rows; None for anything else.

    >>> rows_on_demand(np.zeros(3)) is None
    True
    """
    # Neither package is needed, nor imported here: one who has such an array has imported it.
    h5py, sparse = sys.modules.get("h5py"), sys.modules.get("scipy.sparse")
    if h5py is not None and isinstance(value, h5py.Dataset):
        return value
    if sparse is not None and sparse.issparse(value):
        return value.tocsr()  # type: ignore[attr-defined]  # a matrix, from the test
    return None


def rows_between(samples: Samples, start: int, stop: int) -> NDArray:
    """Return consecutive rows: a view of an array in memory, else a copy of float32.

    >>> rows_between(array([1, 2, 3]), 1, 3).asnumpy()
    array([2., 3.], dtype=float32)
    """
    if isinstance(samples, NDArray):
        return wrap_tensor(samples.tensor.narrow(0, start, stop - start), samples.device)
    return _as_float32(samples[start:stop])


def rows_at(samples: Samples, indices: torch.Tensor) -> NDArray:
    """Return a copy of the rows at `indices`, of float32 if they are read on demand.

    >>> rows_at(array([1, 2, 3]), torch.tensor([2, 0])).asnumpy()
    array([3., 1.], dtype=float32)
    """
    if isinstance(samples, NDArray):
        tensor = samples.tensor
        if tensor.is_cuda:
            indices = sent(indices, tensor.device)
        return NDArray(tensor.index_select(0, indices), samples.context)
    # Files are read forward, each row once.
    rows, positions = np.unique(indices.numpy(), return_inverse=True)
    return rows_at(_as_float32(samples[rows]), torch.from_numpy(positions.reshape(-1)))


def _as_float32(rows: object) -> NDArray:
    # Dense, whatever the storage: arrays have no other yet.
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    return array(np.asarray(dense), dtype=np.float32)
