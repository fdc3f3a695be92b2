"""Making sparse arrays: `csr_matrix`, `row_sparse_array`, `array`, `zeros`, `empty`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ... import dtypes
from ...device import Device, as_device
from ...dtypes import DTypeLike
from ...errors import ParameterError, ShapeError, shown
from ...shapes import as_shape
from .. import creation
from ..base import ArrayBase, wrap
from ..creation import Sizes
from ..ndarray import NDArray
from ..reading import copied, is_scipy_matrix, read_numbers
from ..sending import sent
from ..storage import Storage
from .arrays import BaseSparseNDArray, CSRNDArray, RowSparseNDArray
from .csr import CSRStorage
from .malformed import checked_storage
from .row_sparse import RowSparseStorage

__all__ = ["array", "csr_matrix", "empty", "row_sparse_array", "zeros"]

#: Numbers in one of the forms that `nd.array` takes.
Part: TypeAlias = "ArrayLike | NDArray"


def csr_matrix(
    arg1: Any,
    shape: Sequence[int] | None = None,
    ctx: Device | None = None,
    dtype: DTypeLike | None = None,
) -> CSRNDArray:
    """Return a matrix of storage type ``'csr'``.

    Parameters
    ----------
    arg1
        One of: a dense matrix (array, NumPy array, lists), of which what is not 0 is stored; a csr array or a sparse
        matrix of SciPy; the shape ``(M, N)`` of a matrix without stored elements; ``(data, indices, indptr)``: the
        elements row after row, their columns, and where each row begins; ``(data, (row, col))``: elements and where
        each is, in any order; those of one place are summed.
    shape
        The shape; by default that of `arg1`, or what its indices need.
    ctx
        The device; the current one by default.
    dtype
        The type; by default that of an array, and float32 for lists. As in MXNet lists in ``(data, (row, col))`` have
        NumPy's type.

    Raises
    ------
    ShapeError
        When parts have lengths that do not fit, or `shape` is not that of `arg1`. Parts of good lengths are taken as
        they are; where they make no matrix the array says so in `check_format` and whenever it is used.

    Examples
    --------
    >>> csr_matrix(([1, 2, 3], [1, 0, 2], [0, 1, 2, 2, 3]), shape=(4, 3)).asnumpy()
    array([[0., 1., 0.],
           [2., 0., 0.],
           [0., 0., 0.],
           [0., 0., 3.]], dtype=float32)
    """
    who = "csr_matrix"
    device = as_device(ctx, f"{who}: ctx")
    storage: Storage
    if isinstance(arg1, tuple) and len(arg1) == 3 and not all(map(_is_size, arg1)):
        storage = _csr_of_parts(*arg1, shape, device, dtype)
    elif isinstance(arg1, tuple) and len(arg1) == 2 and isinstance(arg1[1], (tuple, list)):
        storage = _csr_of_coordinates(*arg1, shape, device, dtype)
    elif isinstance(arg1, tuple):
        storage = CSRStorage.zeros(_sizes(arg1, who), _type(dtype, who), device.torch)
    elif is_scipy_matrix(arg1):
        storage = _on(CSRStorage.from_scipy(arg1), device, dtype, who)
    elif isinstance(arg1, CSRNDArray):
        storage = _on(arg1.storage, device, dtype, who)
    elif isinstance(arg1, RowSparseNDArray):
        raise ParameterError(f"{who}: a row_sparse array must be made dense first; use tostype('default')")
    else:
        storage = CSRStorage.from_dense(_values(arg1, device, dtype))
    return wrap(_of_shape(storage, shape, who), device)


def row_sparse_array(
    arg1: Any,
    shape: Sequence[int] | None = None,
    ctx: Device | None = None,
    dtype: DTypeLike | None = None,
) -> RowSparseNDArray:
    """Return an array of storage type ``'row_sparse'``.

    Parameters
    ----------
    arg1
        One of: a dense array, of which the rows that are not all 0 are stored; a row_sparse array; the shape
        ``(D0, D1, ...)`` of an array without stored rows; ``(data, indices)``: the stored rows, and which they are.
    shape
        The shape; by default that of `arg1`, or what its indices need.
    ctx
        The device; the current one by default.
    dtype
        The type; by default that of an array, and float32 for lists.

    Raises
    ------
    ShapeError
        As `csr_matrix`.

    Examples
    --------
    >>> row_sparse_array(([[1, 2], [3, 4]], [1, 3]), shape=(5, 2)).asnumpy()
    array([[0., 0.],
           [1., 2.],
           [0., 0.],
           [3., 4.],
           [0., 0.]], dtype=float32)
    """
    who = "row_sparse_array"
    device = as_device(ctx, f"{who}: ctx")
    storage: Storage
    if isinstance(arg1, tuple) and len(arg1) == 2 and not all(map(_is_size, arg1)):
        storage = _rows_of_parts(*arg1, shape, device, dtype)
    elif isinstance(arg1, tuple):
        storage = RowSparseStorage.zeros(_sizes(arg1, who), _type(dtype, who), device.torch)
    elif isinstance(arg1, RowSparseNDArray):
        storage = _on(arg1.storage, device, dtype, who)
    elif isinstance(arg1, CSRNDArray) or is_scipy_matrix(arg1):
        raise ParameterError(f"{who}: a csr array must be made dense first; use tostype('default')")
    else:
        storage = RowSparseStorage.from_dense(_values(arg1, device, dtype))
    return wrap(_of_shape(storage, shape, who), device)


def array(
    source_array: Any, ctx: Device | None = None, dtype: DTypeLike | None = None
) -> CSRNDArray | RowSparseNDArray:
    """Return a copy of a sparse array, or a csr array of a sparse matrix of SciPy.

    >>> array(zeros("csr", (2, 3)), dtype="int32").dtype.__name__
    'int32'
    """
    if not (isinstance(source_array, BaseSparseNDArray) or is_scipy_matrix(source_array)):
        raise ParameterError(
            "sparse.array: source_array must be a sparse array or a sparse matrix of SciPy; got "
            f"{shown(source_array)}. Of dense values: nd.array(...).tostype('csr')"
        )
    return creation.array(source_array, ctx, dtype)  # type: ignore[return-value]  # of the source's storage


def zeros(stype: str, shape: Sizes, ctx: Device | None = None, dtype: DTypeLike | None = None) -> NDArray:
    """Return an array of zeros of a storage type: a sparse one stores nothing.

    >>> zeros("row_sparse", (1000000, 2)).data.shape
    (0, 2)
    """
    return creation.zeros(shape, ctx, dtype, stype)


def empty(stype: str, shape: Sizes, ctx: Device | None = None, dtype: DTypeLike | None = None) -> NDArray:
    """Return an array of a storage type; here of zeros, as `zeros`.

    >>> empty("csr", (2, 3)).stype
    'csr'
    """
    return zeros(stype, shape, ctx, dtype)


# The forms of `arg1`.


def _csr_of_parts(
    data: Part,
    indices: Part,
    indptr: Part,
    shape: Sequence[int] | None,
    device: Device,
    dtype: DTypeLike | None,
) -> Storage:
    values = _values(data, device, dtype)
    columns, ends = _indices(indices, "indices", device), _indices(indptr, "indptr", device)
    if values.dim() != 1 or columns.shape != values.shape:
        raise ShapeError(
            "csr_matrix: data and indices must have one axis, and equal numbers of elements; got shapes "
            f"{tuple(values.shape)} and {tuple(columns.shape)}"
        )
    if shape is None:
        shape = (len(ends) - 1, _needed(columns, "csr_matrix"))
    return checked_storage(CSRStorage, _sizes(shape, "csr_matrix"), [values, ends, columns])


def _csr_of_coordinates(
    data: Part,
    coordinates: Sequence[Part],
    shape: Sequence[int] | None,
    device: Device,
    dtype: DTypeLike | None,
) -> Storage:
    if len(coordinates) != 2:
        raise ShapeError(f"csr_matrix: must be (data, (row, col)); got {len(coordinates)} arrays beside data")
    # As in MXNet, lists have NumPy's type here.
    values = _values(data if isinstance(data, ArrayBase) else np.asarray(data), device, dtype)
    rows, columns = (
        _indices(part, name, device) for part, name in zip(coordinates, ("row", "col"), strict=True)
    )
    if not (values.dim() == 1 and rows.shape == columns.shape == values.shape):
        raise ShapeError(
            "csr_matrix: data, row and col must have one axis, and equal numbers of elements; got shapes "
            f"{tuple(values.shape)}, {tuple(rows.shape)} and {tuple(columns.shape)}"
        )
    if shape is None:
        shape = (_needed(rows, "csr_matrix"), _needed(columns, "csr_matrix"))
    return CSRStorage.from_coordinates(values, rows, columns, _sizes(shape, "csr_matrix"))


def _rows_of_parts(
    data: Part, indices: Part, shape: Sequence[int] | None, device: Device, dtype: DTypeLike | None
) -> Storage:
    values, rows = _values(data, device, dtype), _indices(indices, "indices", device)
    if shape is None:
        shape = (_needed(rows, "row_sparse_array"), *values.shape[1:])
    sizes = _sizes(shape, "row_sparse_array")
    # An empty list has no rows of any shape.
    if not values.numel() and not rows.numel():
        values = values.new_zeros((0, *sizes[1:]))
    if rows.shape != values.shape[:1] or values.shape[1:] != sizes[1:]:
        raise ShapeError(
            f"row_sparse_array: data must have shape {(len(rows), *sizes[1:])}, a row of an array of shape {sizes} for "
            f"each index; got {tuple(values.shape)}"
        )
    return checked_storage(RowSparseStorage, sizes, [values, rows])


# What they have in common.


def _is_size(value: object) -> bool:
    return isinstance(value, (int, np.integer))


def _sizes(shape: Sequence[int], who: str) -> tuple[int, ...]:
    return as_shape(shape, f"{who}: shape")


def _type(dtype: DTypeLike | None, who: str) -> torch.dtype:
    return torch.float32 if dtype is None else dtypes.torch_dtype(dtype, f"{who}: dtype")


def _values(source: Part, device: Device, dtype: DTypeLike | None) -> Tensor:
    """Return numbers as a new tensor: of their own type if they are an array, else of float32."""
    if dtype is None and isinstance(source, np.ndarray):
        dtype = source.dtype
    return copied(source, device, dtype)


def _indices(source: Part, name: str, device: Device) -> Tensor:
    """Return indices as a new tensor of int64; fractions are cut, as in MXNet."""
    if isinstance(source, ArrayBase):
        tensor = source.tensor.detach()
    else:
        tensor = read_numbers(source, f"nd.sparse: {name}")
    return sent(tensor, device.torch, torch.int64, copy=True)


def _needed(indices: Tensor, who: str) -> int:
    """Return the least size of an axis with these indices."""
    if not indices.numel():
        raise ShapeError(f"{who}: shape must be given, since there are no indices to infer it from")
    return int(indices.max()) + 1


def _on(storage: Storage, device: Device, dtype: DTypeLike | None, who: str) -> Storage:
    wanted = storage.dtype if dtype is None else dtypes.torch_dtype(dtype, f"{who}: dtype")
    return storage.to(device.torch, wanted, copy=True)


def _of_shape(storage: Storage, shape: Sequence[int] | None, who: str) -> Storage:
    if shape is not None and _sizes(shape, who) != storage.shape:
        raise ShapeError(f"{who}: shape must be that of the values, {storage.shape}; got {tuple(shape)}")
    return storage
