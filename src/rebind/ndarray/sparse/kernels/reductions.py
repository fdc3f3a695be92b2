"""Sums and norms along axes of what is stored: the results are dense."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import torch
from torch import Tensor

from ....ops import find
from ....ops.reduce import reduced_axes
from ....ops.storage_types import storage_kernel
from ....params import Params
from ...storage import DenseStorage, Storage
from ..csr import CSRStorage
from ..row_sparse import RowSparseStorage
from .stored import Gradients, Sparse, dense_gradients

__all__ = ["mean", "norm", "square_sum", "square_sum_of_rows", "sum_"]

_Axes = tuple[int, ...] | int | None


def _sums(data: Sparse, axes: Collection[int], keepdims: bool) -> Tensor:
    """Return sums of an array along axes; a single number has shape (1,)."""
    shape = [1 if axis in axes else size for axis, size in enumerate(data.shape)]
    if not keepdims:
        shape = [size for axis, size in enumerate(data.shape) if axis not in axes] or [1]
    # As torch's own sums: halves are added up in float32.
    values = data.data.detach()
    wide = values.float() if values.dtype in (torch.float16, torch.bfloat16) else values
    found = _csr_sums(data, wide, axes) if isinstance(data, CSRStorage) else _row_sums(data, wide, axes)
    return found.to(dtype=values.dtype).reshape(shape)


def _csr_sums(data: CSRStorage, values: Tensor, axes: Collection[int]) -> Tensor:
    if len(axes) == 2:
        return values.sum(dtype=values.dtype)
    rows, columns = data.shape
    if 0 in axes:
        return values.new_zeros(columns).index_add_(0, data.indices, values)
    if 1 in axes:
        return values.new_zeros(rows).index_add_(0, data.row_of_each(), values)
    return data.to_dense()


def _row_sums(data: RowSparseStorage, values: Tensor, axes: Collection[int]) -> Tensor:
    inner = [axis for axis in sorted(axes) if axis]
    found = values.sum(inner, keepdim=True, dtype=values.dtype) if inner else values
    if 0 in axes:
        return found.sum(0, dtype=values.dtype)
    return found.new_zeros((data.shape[0], *found.shape[1:])).index_add_(0, data.indices, found)


def _spread(head: Storage, data: Sparse, axes: Collection[int]) -> Tensor:
    """Return a tensor of the shape of `data`, with each number in all the places that it stands for."""
    shape = [1 if axis in axes else size for axis, size in enumerate(data.shape)]
    return head.to_dense().detach().reshape(shape).expand(data.shape)


def _sum_gradient(
    p: Params, inputs: Sequence[Sparse], outputs: Sequence[Storage], heads: Sequence[Storage]
) -> Gradients:
    axes = reduced_axes(len(inputs[0].shape), p.axis, p.exclude)
    return [DenseStorage(_spread(heads[0], inputs[0], axes).contiguous().clone())]


def _mean_gradient(
    p: Params, inputs: Sequence[Sparse], outputs: Sequence[Storage], heads: Sequence[Storage]
) -> Gradients:
    axes = reduced_axes(len(inputs[0].shape), p.axis, p.exclude)
    return [DenseStorage(_spread(heads[0], inputs[0], axes) / _count(inputs[0], axes))]


def _count(data: Sparse, axes: Collection[int]) -> int:
    count = 1
    for axis in axes:
        count *= data.shape[axis]
    return count


def _square_sum_gradient(
    p: Params, inputs: Sequence[Sparse], outputs: Sequence[Storage], heads: Sequence[Storage]
) -> Gradients:
    data = inputs[0]
    assert isinstance(data, RowSparseStorage)
    axes = reduced_axes(len(data.shape), p.axis, p.exclude)
    shape = [1 if axis in axes else size for axis, size in enumerate(data.shape)]
    # Along rows a number of the head is for all of them.
    of_rows = heads[0].to_dense() if 0 in axes else heads[0].rows(data.indices)
    of_rows = of_rows.detach().reshape([shape[0] if 0 in axes else len(data.indices), *shape[1:]])
    return [data.with_data(2 * data.data * of_rows)]


def _declare(
    name: str, gradient: Callable[..., Gradients], when: Callable[[Params], bool] | None = None
) -> Callable[[Callable[..., DenseStorage]], Callable[..., DenseStorage]]:
    def declare(function: Callable[..., DenseStorage]) -> Callable[..., DenseStorage]:
        for stype in ("csr", "row_sparse"):
            storage_kernel(name, [stype], ("default",), when=when, gradient=gradient, gradients=("default",))(
                function
            )
        return function

    return declare


@_declare("sum", _sum_gradient)
def sum_(data: Sparse, *, axis: _Axes = None, keepdims: bool = False, exclude: bool = False) -> DenseStorage:
    """Return sums along axes."""
    return DenseStorage(_sums(data, reduced_axes(len(data.shape), axis, exclude), keepdims))


@_declare("mean", _mean_gradient)
def mean(data: Sparse, *, axis: _Axes = None, keepdims: bool = False, exclude: bool = False) -> DenseStorage:
    """Return means along axes, of integers rounded towards 0."""
    axes = reduced_axes(len(data.shape), axis, exclude)
    rounding = None if data.dtype.is_floating_point else "trunc"
    return DenseStorage(torch.div(_sums(data, axes, keepdims), _count(data, axes), rounding_mode=rounding))


@_declare("norm", dense_gradients(find("norm")), when=lambda p: p.out_dtype is None)
def norm(
    data: Sparse, *, ord: int = 2, axis: _Axes = None, keepdims: bool = False, out_dtype: None = None
) -> DenseStorage:
    """Return norms along axes."""
    stored = data.in_order()
    values = stored.data if stored.dtype.is_floating_point else stored.data.double()
    axes = reduced_axes(len(data.shape), axis, False)
    powers = stored.with_data(values.abs() if ord == 1 else values.square())
    found = _sums(powers, axes, keepdims)
    return DenseStorage((found if ord == 1 else found.sqrt()).to(dtype=data.dtype))


@storage_kernel(
    "_square_sum", ["row_sparse"], ("default",), gradient=_square_sum_gradient, gradients=("row_sparse",)
)
def square_sum(
    data: RowSparseStorage, *, axis: _Axes = None, keepdims: bool = False, exclude: bool = False
) -> DenseStorage:
    """Return sums of squares along axes."""
    axes = reduced_axes(len(data.shape), axis, exclude)
    return DenseStorage(_sums(_squares(data), axes, keepdims))


@storage_kernel(
    "_square_sum",
    ["row_sparse"],
    ("row_sparse",),
    when=lambda p: p.keepdims and not p.exclude and p.axis in (1, (1,)),
    gradient=_square_sum_gradient,
    gradients=("row_sparse",),
)
def square_sum_of_rows(
    data: RowSparseStorage, *, axis: _Axes, keepdims: bool, exclude: bool
) -> RowSparseStorage:
    """Return the sum of squares of each stored row."""
    squares = _squares(data)
    return squares.with_data(squares.data.sum(1, keepdim=True, dtype=squares.dtype))


def _squares(data: RowSparseStorage) -> RowSparseStorage:
    stored = data.in_order()
    return stored.with_data(stored.data.square())
