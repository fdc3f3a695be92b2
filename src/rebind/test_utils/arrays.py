"""Random arrays of every storage type. For a seed of ``numpy.random`` they are MXNet's."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from math import prod
from typing import Literal, Protocol, TypeAlias

import numpy as np
import torch

from ..device import Device, as_device
from ..dtypes import DTypeLike, numpy_type, torch_dtype
from ..errors import ArgumentError, ParameterError, ShapeError
from ..ndarray import NDArray, array
from ..ndarray.base import wrap
from ..ndarray.sparse import RowSparseNDArray
from ..ndarray.sparse.csr import CSRStorage
from ..ndarray.sparse.row_sparse import RowSparseStorage
from ..ndarray.storage import Storage
from .data import assign_each
from .defaults import default_dtype

__all__ = [
    "create_sparse_array", "create_sparse_array_zd", "rand_ndarray", "rand_sparse_ndarray",
    "shuffle_csr_column_indices",
]  # fmt: skip

Modifier: TypeAlias = "Callable[..., float] | None"
#: The values and the indices of a row_sparse array; ``indptr``, ``indices`` and ``data`` of a csr one.
Parts: TypeAlias = "tuple[np.ndarray, np.ndarray] | tuple[NDArray, NDArray, NDArray]"


class CSRMatrix(Protocol):
    """A csr matrix of SciPy."""

    indptr: np.ndarray
    indices: np.ndarray


def rand_ndarray(
    shape: Sequence[int],
    stype: str = "default",
    density: float | None = None,
    dtype: DTypeLike | None = None,
    modifier_func: Modifier = None,
    shuffle_csr_indices: bool = False,
    distribution: str | None = None,
    ctx: Device | None = None,
) -> NDArray:
    """Return an array of random numbers: normal ones, or of a sparse array numbers from 0 to 1 at random positions.

    Parameters
    ----------
    shape
        The shape.
    stype
        ``'default'``, ``'row_sparse'`` or ``'csr'``.
    dtype
        The type of the elements, float32 if None.
    ctx
        The device, the default one if None.
    density, modifier_func, shuffle_csr_indices, distribution
        As for `rand_sparse_ndarray`; without effect on dense arrays.

    Examples
    --------
    >>> rand_ndarray((2, 3), dtype="float64").shape
    (2, 3)
    >>> rand_ndarray((4, 6), "csr", density=0.25).data.shape
    (6,)
    """
    if stype != "default":
        if stype not in ("row_sparse", "csr"):
            raise ParameterError(
                f"rand_ndarray: stype must be 'default', 'row_sparse' or 'csr'; got {stype!r}"
            )
        return rand_sparse_ndarray(
            shape, stype, density, dtype, distribution,
            modifier_func=modifier_func, shuffle_csr_indices=shuffle_csr_indices, ctx=ctx,
        )[0]  # fmt: skip
    return array(np.random.normal(size=tuple(shape)), ctx, default_dtype() if dtype is None else dtype)


def rand_sparse_ndarray(
    shape: Sequence[int],
    stype: str,
    density: float | None = None,
    dtype: DTypeLike | None = None,
    distribution: str | None = None,
    data_init: float | None = None,
    rsp_indices: Sequence[int] | np.ndarray | None = None,
    modifier_func: Modifier = None,
    shuffle_csr_indices: bool = False,
    ctx: Device | None = None,
) -> tuple[NDArray, Parts]:
    """Return a sparse array of numbers from 0 to 1 at random positions, and its parts.

    Parameters
    ----------
    shape
        The shape.
    stype
        ``'row_sparse'`` or ``'csr'``.
    density
        The share of a csr array's elements that are stored; how likely each row of a row_sparse one is. Random if None.
    dtype
        The type of the elements, float32 if None.
    distribution
        ``'uniform'``, also if None; for csr ``'powerlaw'`` too: each row has twice as many elements as the one before,
        as far as there are columns, until the density is reached, and one element after that.
    data_init
        A number that all stored elements have, instead of random ones.
    rsp_indices
        The rows of a row_sparse array, in this order; `density` has no effect then.
    modifier_func
        A function that is applied to each stored element. MXNet leaves those of csr arrays as they are.
    shuffle_csr_indices
        Whether the columns of a csr array are out of order.
    ctx
        The device, the default one if None.

    Returns
    -------
    tuple
        The array; and of a row_sparse one values and indices, of NumPy, of a csr one `indptr`, `indices` and `data`.

    Examples
    --------
    >>> x, (values, indices) = rand_sparse_ndarray((4, 2), "row_sparse", data_init=2, rsp_indices=[3, 0])
    >>> x.asnumpy()[:, 0].tolist(), indices
    ([2.0, 0.0, 0.0, 2.0], array([3, 0]))
    >>> x, _ = rand_sparse_ndarray((5, 16), "csr", density=0.5, distribution="powerlaw")
    >>> np.diff(x.indptr.asnumpy()).tolist()
    [2, 4, 8, 16, 10]
    """
    if stype not in ("row_sparse", "csr"):
        raise ParameterError(f"rand_sparse_ndarray: stype must be 'row_sparse' or 'csr'; got {stype!r}")
    density = float(np.random.rand()) if density is None else density
    distribution = "uniform" if distribution is None else distribution
    dtype = torch_dtype(default_dtype() if dtype is None else dtype)
    device = as_device(ctx, "rand_sparse_ndarray: ctx")
    storage: type[Storage] = RowSparseStorage if stype == "row_sparse" else CSRStorage
    if stype == "row_sparse":
        data, *others = _random_rows(shape, density, distribution, rsp_indices)
    else:
        data, *others = _random_csr(shape, density, distribution)
        if shuffle_csr_indices:
            _shuffle_columns(*others)
    if data_init is not None:
        data = np.full(data.shape, data_init)
    # NumPy has no bfloat16.
    data = data.astype(np.float32 if dtype is torch.bfloat16 else numpy_type(dtype))
    data = assign_each(data, modifier_func)
    members = [torch.from_numpy(part) for part in (data, *others)]
    made: NDArray = wrap(storage.from_members(tuple(shape), members).to(device.torch, dtype), device)
    if isinstance(made, RowSparseNDArray):
        return made, (data, others[0])
    return made, (made.indptr, made.indices, made.data)  # type: ignore[attr-defined]  # csr


def _random_rows(
    shape: Sequence[int], density: float, distribution: str, rows: Sequence[int] | np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the values and the indices of a row_sparse array."""
    if distribution != "uniform":
        raise ParameterError(
            f"rand_sparse_ndarray: distribution must be 'uniform' for row_sparse; got {distribution!r}"
        )
    if rows is None:
        rows = np.flatnonzero(np.random.rand(shape[0]) < density)
    indices = np.asarray(rows, np.int64)
    return np.random.rand(len(indices), *shape[1:]), indices


def _random_csr(
    shape: Sequence[int], density: float, distribution: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the values, the ends of the rows and the columns of a csr matrix."""
    if len(shape) != 2:
        raise ShapeError(f"rand_sparse_ndarray: shape must have two axes for csr; got {tuple(shape)}")
    if not 0 <= density <= 1:
        raise ParameterError(f"rand_sparse_ndarray: density must be between 0 and 1; got {density}")
    rows, columns = shape
    if distribution == "powerlaw":
        counts = _doubling_counts(rows, columns, density)
        indices = np.concatenate([np.arange(count) for count in counts])
        return 1 + np.random.uniform(0.001, 2, len(indices)), _ends(counts), indices
    if distribution != "uniform":
        raise ParameterError(
            f"rand_sparse_ndarray: distribution must be 'uniform' or 'powerlaw' for csr; got {distribution!r}"
        )
    # Positions count down the columns, and are drawn before the values: SciPy does so, by which MXNet draws.
    positions = np.random.permutation(prod(shape))[: round(density * prod(shape))]
    data = np.random.rand(len(positions))
    row, column = positions % max(rows, 1), positions // max(rows, 1)
    order = np.lexsort((column, row))
    return data[order], _ends(np.bincount(row, minlength=rows)), column[order]


def _doubling_counts(rows: int, columns: int, density: float) -> np.ndarray:
    """Return how many elements each row has: 2, 4, 8 and so on, as far as the density goes, and then 1.

    >>> _doubling_counts(10, 40, 0.1).tolist()
    [2, 4, 8, 16, 5, 1, 1, 1, 1, 1]
    """
    total = int(rows * columns * density)
    if total < 2 * rows:
        raise ParameterError(
            "rand_sparse_ndarray: density must give two elements for each row with 'powerlaw'; "
            f"got {density} of shape {(rows, columns)}, {total} elements"
        )
    counts, left = np.ones(rows, np.int64), total - rows
    for row in range(rows):
        more = min(2 ** (row + 1), columns) - 1 if row < 62 else columns - 1
        counts[row] += min(more, left)
        left -= min(more, left)
    if left:
        raise ParameterError(
            f"rand_sparse_ndarray: density must fit rows of 2, 4, 8 and so on elements; got {density} of shape "
            f"{(rows, columns)}, which leaves {left} elements over"
        )
    return counts


def _ends(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)])


def shuffle_csr_column_indices(csr: CSRMatrix) -> None:
    """Put the column indices of each row of SciPy's csr matrix in random order, in place; its values stay.

    >>> from scipy import sparse
    >>> x = sparse.csr_matrix(np.ones((1, 3)))
    >>> shuffle_csr_column_indices(x)
    >>> sorted(x.indices.tolist())
    [0, 1, 2]
    """
    if not isinstance(getattr(csr, "indices", None), np.ndarray):
        raise ArgumentError(
            f"shuffle_csr_column_indices: csr must be a csr matrix of SciPy; got {type(csr).__name__}"
        )
    _shuffle_columns(csr.indptr, csr.indices)


def _shuffle_columns(indptr: np.ndarray, indices: np.ndarray) -> None:
    for start, stop in itertools.pairwise(indptr):
        np.random.shuffle(indices[start:stop])


def create_sparse_array(
    shape: Sequence[int],
    stype: Literal["row_sparse", "csr"],
    data_init: float | None = None,
    rsp_indices: Sequence[int] | np.ndarray | None = None,
    dtype: DTypeLike | None = None,
    modifier_func: Modifier = None,
    density: float = 0.5,
    shuffle_csr_indices: bool = False,
) -> NDArray:
    """Return a sparse array as `rand_sparse_ndarray` does, with the rows of `rsp_indices` in ascending order.

    >>> create_sparse_array((3, 2), "row_sparse", data_init=4, rsp_indices=[2, 0]).asnumpy()[:, 0]
    array([4., 0., 4.], dtype=float32)
    """
    rows = None if rsp_indices is None else np.sort(np.asarray(rsp_indices, np.int64))
    return rand_sparse_ndarray(
        shape, stype, density, dtype, data_init=data_init, rsp_indices=rows,
        modifier_func=modifier_func, shuffle_csr_indices=shuffle_csr_indices,
    )[0]  # fmt: skip


def create_sparse_array_zd(
    shape: Sequence[int],
    stype: Literal["row_sparse", "csr"],
    density: float,
    data_init: float | None = None,
    rsp_indices: Sequence[int] | np.ndarray | None = None,
    dtype: DTypeLike | None = None,
    modifier_func: Modifier = None,
    shuffle_csr_indices: bool = False,
) -> NDArray:
    """Return a sparse array as `create_sparse_array` does; a row_sparse one has the rows of `rsp_indices` alone.

    >>> create_sparse_array_zd((3, 2), "row_sparse", density=0.5).indices.shape
    (0,)
    """
    return create_sparse_array(
        shape, stype, data_init, rsp_indices, dtype, modifier_func,
        0.0 if stype == "row_sparse" else density, shuffle_csr_indices,
    )  # fmt: skip
