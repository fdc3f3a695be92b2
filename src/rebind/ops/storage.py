"""Storage of arrays: casts between storage types, and operators that only sparse arrays have.

Arrays are dense here. An operator that needs a sparse one raises an error.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from ..errors import ArgumentError
from ..params import Params
from .declaration import operator

__all__ = ["cast_storage", "edge_id", "getnnz", "sparse_retain"]


@operator("cast_storage", "_sparse_cast_storage", same_shape=True)
def cast_storage(data: Tensor, *, stype: Literal["csr", "default", "row_sparse"]) -> Tensor:
    """`data` in the storage `stype`; arrays are dense here, so that only ``default`` is possible.

    >>> cast_storage(torch.ones(2), stype="default")
    tensor([1., 1.])
    """
    return data.view_as(data)


@cast_storage.check
def _(p: Params) -> str | None:
    if p.stype != "default":
        return f"stype must be 'default', arrays without sparse storage; got {p.stype!r}, which is not supported yet"
    return None


def _needs_sparse(kind: str) -> ArgumentError:
    return ArgumentError(
        f"data must be a {kind} array; got a dense one. Sparse storage is not supported yet."
    )


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
