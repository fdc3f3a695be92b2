"""Sparse arrays: `CSRNDArray` and `RowSparseNDArray`."""

from __future__ import annotations

import html
import operator as python_operator
from numbers import Number
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from ... import dtypes
from ...errors import (
    BoundsError,
    MissingExtraError,
    NotSupportedForSparseNDArray,
    ParameterError,
    ShapeError,
    shown,
)
from ...mode import mode
from ..arithmetic import Operand
from ..base import ArrayBase, wrap
from ..calls import invoke_by_name
from ..indexing import Key
from ..ndarray import NDArray
from .arithmetic import add, multiply, subtract
from .csr import CSRStorage
from .malformed import MalformedStorage
from .row_sparse import RowSparseStorage

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from typing_extensions import Self

__all__ = ["BaseSparseNDArray", "CSRNDArray", "RowSparseNDArray"]


class BaseSparseNDArray(NDArray):
    """What sparse arrays of both kinds have."""

    __slots__ = ()

    def check_format(self, full_check: bool = True) -> None:
        """Raise an error unless the parts make an array as MXNet wants it.

        Parameters
        ----------
        full_check
            Whether to look at all indices: they must be of the array, and ascend. Else the lengths alone count.

        Examples
        --------
        >>> import rebind as mx
        >>> x = mx.nd.sparse.csr_matrix(([1, 2], [2, 0], [0, 2]), shape=(1, 3))
        >>> x.asnumpy().tolist()
        [[2.0, 0.0, 1.0]]
        >>> x.check_format()
        Traceback (most recent call last):
            ...
        rebind.errors.ParameterError: indices must ascend in each row, each column once; got 2 and then 0 in row 0
        """
        storage = self.storage
        if isinstance(storage, MalformedStorage):
            if full_check or isinstance(storage.error, ShapeError):
                raise storage.error
        elif full_check:
            storage.check_order()  # type: ignore[attr-defined]  # both kinds have it

    def tostype(self, stype: str) -> Self:
        """Return a copy in another storage type, or in the same.

        >>> import rebind as mx
        >>> mx.nd.sparse.zeros("csr", (2, 3)).tostype("default").stype
        'default'
        """
        return self.copy() if stype == self.stype else super().tostype(stype)

    # As in MXNet arrays of one shape are added, subtracted and multiplied without broadcasting: sparse results are so.

    def __add__(self, other: Operand) -> Self:
        return add(self, other)

    def __sub__(self, other: Operand) -> Self:
        return subtract(self, other)

    def __mul__(self, other: Operand) -> Self:
        return multiply(self, other)

    def __setitem__(self, key: Key, value: ArrayBase | ArrayLike | float) -> None:
        if not _is_everything(key):
            raise ParameterError(
                f"{type(self).__name__}: only all of it can be written, with x[:] = value; got the key {key!r}. To "
                "write a part, make a dense copy with tostype('default')."
            )
        if isinstance(value, (Number, np.number)):
            self._fill(value)
        else:
            super().__setitem__(slice(None), value)

    def _fill(self, value: Any) -> None:
        raise ParameterError(
            f"{type(self).__name__}: a number cannot be written into a {self.stype} array; got {value!r}. "
            "Write an array instead."
        )

    def __repr__(self) -> str:
        return f"\n<{type(self).__name__} {'x'.join(map(str, self.shape))} @{self.device}>"

    def _repr_html_(self) -> str:
        size = "×".join(map(str, self.shape))
        stored = "×".join(map(str, next(iter(self.storage.tensors.values())).shape))
        name, dtype = type(self).__name__, dtypes.name(self.storage.dtype)
        return f"<div><b>{name}</b> {html.escape(f'{size} {dtype} on {self.device}, {stored} stored')}</div>"

    # What MXNet refuses too.

    def reshape(self, *shape: object, **keywords: object) -> NoReturn:
        """Raise: the stored elements are those of this shape."""
        self._refuse("reshape")

    def _at(self, idx: int) -> NoReturn:
        self._refuse("_at")

    def _slice(self, start: int | None, stop: int | None) -> NoReturn:
        self._refuse("_slice")

    def _sync_copyfrom(self, source_array: object) -> NoReturn:
        self._refuse("_sync_copyfrom")

    def _refuse(self, method: str) -> NoReturn:
        raise NotSupportedForSparseNDArray(
            f"{type(self).__name__}: {method} is for dense arrays; use tostype('default') first"
        )

    # The parts, as MXNet's own code has them.

    def _member(self, name: str) -> NDArray:
        """Return one of the storage's tensors as an array with memory of its own."""
        return NDArray(self.storage.tensors[name].clone(), self.device)

    def _data(self) -> NDArray:
        return self._member("data")

    @property
    def _indices_of_storage(self) -> list[str]:
        return list(self.storage.tensors)[1:]

    def _aux_data(self, i: int) -> NDArray:
        return self._member(self._indices_of_storage[i])

    def _aux_type(self, i: int) -> type:
        return self._aux_types[i]

    @property
    def _aux_types(self) -> list[type]:
        return [np.int64] * self._num_aux

    @property
    def _num_aux(self) -> int:
        return len(self._indices_of_storage)


class CSRNDArray(BaseSparseNDArray):
    """A matrix of which only some elements are stored, row after row; `csr_matrix` makes one.

    >>> import rebind as mx
    >>> x = mx.nd.array([[0, 5], [0, 0], [6, 7]]).tostype("csr")
    >>> x.data.asnumpy().tolist(), x.indptr.asnumpy().tolist(), x.indices.asnumpy().tolist()
    ([5.0, 6.0, 7.0], [0, 1, 1, 3], [1, 0, 1])
    >>> x[1:]
    <BLANKLINE>
    <CSRNDArray 2x2 @cpu(0)>
    """

    __slots__ = ()
    storage: CSRStorage

    @property
    def data(self) -> NDArray:
        """A copy of the stored elements."""
        return self._member("data")

    @property
    def indices(self) -> NDArray:
        """A copy of the columns of the stored elements, int64."""
        return self._member("indices")

    @property
    def indptr(self) -> NDArray:
        """A copy of where each row begins in `data`, and of the end of the last one, int64."""
        return self._member("indptr")

    def asscipy(self) -> csr_matrix:
        """Return a copy as a ``csr_matrix`` of SciPy.

        >>> import rebind as mx
        >>> mx.nd.array([[0, 5], [6, 7]]).tostype("csr").asscipy().sum()
        np.float32(18.0)

        Raises
        ------
        ImportError
            When SciPy is missing.
        """
        try:
            # Imported where it is needed: rebind works without it.
            from scipy.sparse import csr_matrix
        except ImportError as error:
            raise MissingExtraError("CSRNDArray.asscipy: needs SciPy: pip install scipy") from error
        parts = (self.data.asnumpy(), self.indices.asnumpy(), self.indptr.asnumpy())
        return csr_matrix(parts, shape=self.shape, dtype=self.dtype)

    def __getitem__(self, key: Key) -> Self:
        """Return a copy of a row, or of some that follow each other, as a csr array; ``x[:]`` is the array itself."""
        if _is_everything(key):
            return self
        begin, end = _row_range(key, self.shape[0])
        if mode.recording and self.is_recorded:
            return invoke_by_name("slice", self, begin=(begin,), end=(end,))
        return wrap(self.storage.row_range(begin, end), self.device)


class RowSparseNDArray(BaseSparseNDArray):
    """An array of which only some rows are stored; `row_sparse_array` makes one.

    >>> import rebind as mx
    >>> x = mx.nd.array([[0, 0], [1, 2], [0, 0]]).tostype("row_sparse")
    >>> x.data.asnumpy().tolist(), x.indices.asnumpy().tolist()
    ([[1.0, 2.0]], [1])
    """

    __slots__ = ()
    storage: RowSparseStorage

    @property
    def data(self) -> NDArray:
        """A copy of the stored rows."""
        return self._member("data")

    @property
    def indices(self) -> NDArray:
        """A copy of which rows are stored, int64."""
        return self._member("indices")

    def retain(self, indices: NDArray) -> Self:
        """Return the rows at `indices`, in their order, as a row_sparse array; all others are 0.

        >>> import rebind as mx
        >>> x = mx.nd.ones((4, 2)).tostype("row_sparse")
        >>> x.retain(mx.nd.array([0, 3])).indices.asnumpy().tolist()
        [0, 3]
        """
        return invoke_by_name("_sparse_retain", self, indices)

    def __getitem__(self, key: Key) -> Self:
        """Return the array itself, of ``x[:]``; rows are what the operator `take` and `retain` are for."""
        if _is_everything(key):
            return self
        raise ParameterError(
            f"RowSparseNDArray: only x[:] can be read; got the key {key!r}. Use nd.take, retain, or tostype('default')"
        )

    def _fill(self, value: Any) -> None:
        # As in MXNet all rows are stored then, of zeros too.
        self.write(wrap(RowSparseStorage.with_all_rows(self.storage.data.new_full(self.shape, value))))


def _is_everything(key: object) -> bool:
    return isinstance(key, slice) and key == slice(None)


def _row_range(key: Key, rows: int) -> tuple[int, int]:
    """Return the first row that a key selects, and the one behind the last.

    >>> _row_range(slice(-2, None), 5), _row_range(-1, 5)
    ((3, 5), (4, 5))
    """
    if isinstance(key, slice):
        begin, end, step = key.indices(rows)
        if step == 1:
            return begin, max(begin, end)
    else:
        try:
            at = python_operator.index(key)  # type: ignore[arg-type]  # index() refuses the rest
        except TypeError:
            pass
        else:
            if not -rows <= at < rows:
                raise BoundsError(f"CSRNDArray: a row index must be in [{-rows}, {rows}); got {at}")
            return at % rows, at % rows + 1
    raise ParameterError(
        f"CSRNDArray: a key must be a row or a slice of rows with step 1; got {shown(key)}. For columns use nd.slice, "
        "for rows in any order nd.take."
    )


CSRStorage.array_class = CSRNDArray  # type: ignore[assignment]  # it takes any storage
RowSparseStorage.array_class = RowSparseNDArray  # type: ignore[assignment]
