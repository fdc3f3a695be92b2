"""Matrices cut out of csr matrices, or made of several: the results are csr."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ....errors import ShapeError
from ....ops.storage_types import storage_kernel
from ....params import Params
from ...storage import DenseStorage, Storage
from ..csr import CSRStorage
from .stored import Gradients

__all__ = ["concat", "slice_", "take"]


def _concat_gradient(
    p: Params, inputs: Sequence[Storage], outputs: Sequence[Storage], heads: Sequence[Storage]
) -> Gradients:
    parts = heads[0].to_dense().detach().split([each.shape[0] for each in inputs])
    return [DenseStorage(part.clone()) for part in parts]


@storage_kernel(
    "Concat",
    ["csr"],
    ("csr",),
    # Of matrices, the axis of rows; columns are joined by way of dense matrices, as in MXNet.
    when=lambda p: p.dim == 0,
    repeats=True,
    gradient=_concat_gradient,
    gradients=("default",),
)
def concat(*data: CSRStorage, dim: int) -> CSRStorage:
    """Return the rows of all matrices, one after the other."""
    columns = data[0].shape[1]
    if any(each.shape[1] != columns for each in data):
        raise ShapeError(
            f"data must have equal numbers of columns; got shapes {', '.join(str(each.shape) for each in data)}"
        )
    counts = torch.cat([each.indptr.diff() for each in data])
    return CSRStorage(
        torch.cat([each.data for each in data]),
        torch.cat([counts.new_zeros(1), counts.cumsum(0)]),
        torch.cat([each.indices for each in data]),
        (len(counts), columns),
    )


def _ranges(shape: Sequence[int], begin: Sequence[int | None], end: Sequence[int | None]) -> list[range]:
    """Return the rows and the columns that bounds choose, as Python's slices do."""
    chosen = [
        range(*slice(*bounds).indices(size))
        for bounds, size in zip(zip(begin, end, strict=True), shape, strict=False)
    ]
    return [*chosen, *map(range, shape[len(chosen) :])]


def _slice_gradient(
    p: Params, inputs: Sequence[Storage], outputs: Sequence[Storage], heads: Sequence[Storage]
) -> Gradients:
    rows, columns = _ranges(inputs[0].shape, p.begin, p.end)
    head = heads[0].to_dense().detach()
    gradient = head.new_zeros(inputs[0].shape)
    gradient[rows.start : rows.start + len(rows), columns.start : columns.start + len(columns)] = head
    return [DenseStorage(gradient)]


@storage_kernel(
    "slice",
    ["csr"],
    ("csr",),
    when=lambda p: len(p.begin) == len(p.end) <= 2 and all(step in (None, 1) for step in p.step),
    gradient=_slice_gradient,
    gradients=("default",),
)
def slice_(
    data: CSRStorage,
    *,
    begin: Sequence[int | None],
    end: Sequence[int | None],
    step: Sequence[int | None] = (),
) -> CSRStorage:
    """Return the matrix of some rows and columns."""
    rows, columns = _ranges(data.shape, begin, end)
    part = data.row_range(rows.start, rows.start + len(rows))
    if len(columns) == data.shape[1]:
        return part
    inside = (part.indices >= columns.start) & (part.indices < columns.start + len(columns))
    # How many of the elements up to the end of each row are inside.
    before = torch.cat([part.indptr.new_zeros(1), inside.cumsum(0)])
    return CSRStorage(
        part.data[inside],
        before[part.indptr],
        part.indices[inside] - columns.start,
        (len(rows), len(columns)),
    )


def _rows_taken(data: CSRStorage, indices: Storage, mode: str) -> Tensor:
    rows = indices.to_dense().detach().long()
    if rows.dim() != 1:
        raise ShapeError(
            f"indices must have one axis where a csr array is taken from; got shape {tuple(rows.shape)}. "
            "a.tostype('default') can be taken from with any."
        )
    return rows % data.shape[0] if mode == "wrap" else rows.clamp(0, data.shape[0] - 1)


def _take_gradient(
    p: Params, inputs: Sequence[Storage], outputs: Sequence[Storage], heads: Sequence[Storage]
) -> Gradients:
    data, indices = inputs
    assert isinstance(data, CSRStorage)
    head = heads[0].to_dense().detach()
    gradient = head.new_zeros(data.shape).index_add_(0, _rows_taken(data, indices, p.mode), head)
    return [DenseStorage(gradient), None]


@storage_kernel(
    "take",
    ["csr", "default"],
    ("csr",),
    when=lambda p: p.axis in (0, -2) and p.mode in ("clip", "wrap"),
    gradient=_take_gradient,
    gradients=("default", "default"),
)
def take(a: CSRStorage, indices: Storage, *, axis: int = 0, mode: str = "clip") -> CSRStorage:
    """Return the matrix of some rows, in their order."""
    return a.take_rows(_rows_taken(a, indices, mode))
