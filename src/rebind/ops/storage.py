"""Storage of arrays: casts between storage types, and operators that only sparse arrays have.

These are the forms for dense arrays: an operator that needs a sparse one raises an error. Those for sparse arrays are
kernels, in `ndarray.sparse.kernels`.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from ..errors import ArgumentError
from .declaration import operator

__all__ = ["cast_storage", "edge_id", "getnnz", "sparse_retain"]


@operator("cast_storage", "_sparse_cast_storage", same_shape=True)
def cast_storage(data: Tensor, *, stype: Literal["csr", "default", "row_sparse"]) -> Tensor:
    """`data` in the storage `stype`.

    A csr array cannot become a row_sparse one, as in MXNet.

    >>> cast_storage(torch.ones(2), stype="default")
    tensor([1., 1.])
    """
    return data.view_as(data)


def _needs_sparse(kind: str) -> ArgumentError:
    return ArgumentError(f"data must be a {kind} array; got a dense one. x.tostype('{kind}') makes one.")


@operator("_sparse_retain", types={"indices": "any"})
def sparse_retain(data: Tensor, indices: Tensor) -> Tensor:
    """The rows `indices` of a row_sparse array; a dense one is refused, as in MXNet."""
    raise _needs_sparse("row_sparse")


@operator("_contrib_getnnz", types={"output": torch.int64}, head_gradient=False)
def getnnz(data: Tensor, *, axis: int | None = None) -> Tensor:
    """How many values a csr array stores; a dense one is refused, as in MXNet.

    Parameters
    ----------
    axis
        None for all, 1 for each row.
    """
    raise _needs_sparse("csr")


@operator("_contrib_edge_id", types={"u": "any", "v": "any"}, head_gradient=False)
def edge_id(data: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """Values of a graph's csr array at rows `u` and columns `v`, -1 where there are none.

    A dense array is refused, as in MXNet.
    """
    raise _needs_sparse("csr")
