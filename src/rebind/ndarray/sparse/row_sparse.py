"""The storage type ``'row_sparse'``: an array of which only some rows are stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ...errors import ParameterError, ShapeError
from ..row_copies import copy_rows
from ..storage import Storage, register_storage
from .csr import CSRStorage
from .parts import check_row_indices

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["RowSparseStorage"]


@register_storage
class RowSparseStorage(Storage):
    """Some rows of an array, and which they are; all others are 0.

    Parameters
    ----------
    data
        The stored rows.
    indices
        Which rows of the array they are, each at most once: int64. Results of operations have them in ascending order.
    shape
        The shape of the whole array.

    Examples
    --------
    >>> array = RowSparseStorage.from_dense(torch.tensor([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]]))
    >>> array.data, array.indices
    (tensor([[1., 2.]]), tensor([1]))
    """

    __slots__ = ("_is_whole", "_shape", "data", "indices")

    stype, number = "row_sparse", 1
    members = ("data", "indices")

    def __init__(self, data: Tensor, indices: Tensor, shape: Sequence[int]) -> None:
        super().__init__()
        self.data, self.indices, self._shape = data, indices, tuple(shape)
        self._is_whole: bool | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole array."""
        return self._shape

    @property
    def is_whole(self) -> bool:
        """Whether all rows are stored, in their order, so that row `i` is ``data[i]``.

        >>> whole = RowSparseStorage.with_all_rows(torch.zeros(2, 3))
        >>> whole.is_whole, RowSparseStorage.from_dense(torch.zeros(2, 3)).is_whole
        (True, False)
        """
        if self._is_whole is None:
            rows = self._shape[0]
            self._is_whole = len(self.indices) == rows and bool(
                (self.indices == torch.arange(rows, device=self.indices.device)).all()
            )
        return self._is_whole

    @classmethod
    def from_members(cls, shape: Sequence[int], members: Sequence[Tensor]) -> Self:
        """Return a storage of tensors that are checked.

        Raises
        ------
        ParameterError
            When they are no rows of an array of this shape.

        Examples
        --------
        >>> RowSparseStorage.from_members((2, 1), [torch.ones(1, 1), torch.tensor([1])]).to_dense().flatten()
        tensor([0., 1.])
        """
        data, indices = members
        if not shape:
            raise ShapeError("a row_sparse array must have at least one axis; got shape ()")
        check_row_indices(indices, data, tuple(shape))
        return cls(data, indices.long(), shape)

    @classmethod
    def from_dense(cls, tensor: Tensor) -> Self:
        """Return the rows that are not all 0."""
        if not tensor.dim():
            raise ShapeError("a row_sparse array must have at least one axis; got shape ()")
        tensor = tensor.detach()
        has_value = tensor != 0
        indices = (has_value.flatten(1).any(1) if tensor.dim() > 1 else has_value).nonzero().flatten()
        return cls(tensor[indices], indices, tensor.shape)

    @classmethod
    def with_all_rows(cls, tensor: Tensor) -> Self:
        """Return a storage around a dense tensor, of which all rows are stored.

        >>> RowSparseStorage.with_all_rows(torch.zeros(2, 1)).indices
        tensor([0, 1])
        """
        made = cls(tensor, torch.arange(len(tensor), device=tensor.device), tensor.shape)
        made._is_whole = True
        return made

    @classmethod
    def from_storage(cls, source: Storage) -> Self:
        """Return the values of `source` in this kind; of a csr matrix it is refused, as in MXNet."""
        if isinstance(source, CSRStorage):
            raise ParameterError(
                "a csr array can be made dense, not row_sparse; use tostype('default') first"
            )
        return super().from_storage(source)

    @classmethod
    def zeros(cls, shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> Self:
        """Return an array in which no row is stored.

        >>> RowSparseStorage.zeros((10**9, 10), torch.float32, torch.device("cpu")).nbytes
        0
        """
        if not shape:
            raise ShapeError("a row_sparse array must have at least one axis; got shape ()")
        indices = torch.zeros(0, dtype=torch.int64, device=device)
        return cls(torch.zeros((0, *shape[1:]), dtype=dtype, device=device), indices, shape)

    def to_dense(self) -> Tensor:
        """Return the array with all its rows; a tensor of its own, unless all rows are stored."""
        if self.is_whole:
            return self.data
        return self.data.new_zeros(self._shape).index_copy_(0, self.indices, self.data)

    def with_data(self, data: Tensor) -> RowSparseStorage:
        """Return other values of the same rows.

        >>> RowSparseStorage.from_dense(torch.tensor([0.0, 5.0])).with_data(torch.tensor([2.0])).to_dense()
        tensor([0., 2.])
        """
        made = RowSparseStorage(data, self.indices, (self._shape[0], *data.shape[1:]))
        made._is_whole = self._is_whole
        return made

    def store_all_rows(self) -> None:
        """Store the rows that are absent too, as zeros.

        >>> array = RowSparseStorage.zeros((2, 1), torch.float32, torch.device("cpu"))
        >>> array.store_all_rows()
        >>> array.indices
        tensor([0, 1])
        """
        self._adopt(self.with_all_rows(self.to_dense()))

    def _with_members(self, members: Sequence[Tensor]) -> Self:
        data, indices = members
        made = type(self)(data, indices, self._shape)
        made._is_whole = self._is_whole
        return made

    def _adopt(self, source: Self) -> None:
        self._shape, self._is_whole = source._shape, source._is_whole
        super()._adopt(source)

    @property
    def row_indices(self) -> Tensor | None:
        """Which rows have values."""
        return self.indices

    def present_rows(self) -> tuple[Tensor, Tensor] | None:
        """Return which rows are stored, in ascending order and each once, and these rows; None where all are.

        >>> RowSparseStorage(torch.ones(2, 1), torch.tensor([7, 3]), (9, 1)).present_rows()[0]
        tensor([3, 7])
        """
        if self.is_whole:
            return None
        ordered = self.in_order()
        return ordered.indices, ordered.data

    def positions(self, rows: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return where rows are in `data`, and which of them are stored; None where all are.

        >>> array = RowSparseStorage(torch.ones(2, 1), torch.tensor([7, 3]), (9, 1))
        >>> array.positions(torch.tensor([3, 4]))
        (tensor([1, 0]), tensor([ True, False]))
        """
        rows = rows.to(self.device)
        if self.is_whole:
            return rows, None
        if not len(self.indices):
            return torch.zeros_like(rows), torch.zeros_like(rows, dtype=torch.bool)
        ascending, order = self.indices, None
        if bool((ascending[1:] < ascending[:-1]).any()):
            ascending, order = ascending.sort()
        at = torch.searchsorted(ascending, rows).clamp_(max=len(ascending) - 1)
        present = ascending[at] == rows
        if order is not None:
            at = order[at]
        return at, None if bool(present.all()) else present

    def rows(self, indices: Tensor) -> Tensor:
        """Return the rows at `indices`, in their order, as a dense tensor."""
        at, present = self.positions(indices)
        if present is None:
            return self.data.index_select(0, at)
        found = self.data.new_zeros((len(at), *self._shape[1:]))
        found[present] = self.data.index_select(0, at[present])
        return found

    def write_rows(self, indices: Tensor, values: Tensor) -> None:
        """Write a dense tensor into the rows at `indices`, which are all different; absent ones become stored."""
        at, present = self.positions(indices)
        if present is None:
            copy_rows(self.data, at, values)
            return
        copy_rows(self.data, at[present], values[present])
        absent = ~present
        added = RowSparseStorage(values[absent], indices.to(self.device)[absent], self._shape)
        self._take_union(added)

    def _take_union(self, other: RowSparseStorage) -> None:
        """Store the rows of another storage too, and put all in ascending order; rows of both are added."""
        indices, which = torch.cat([self.indices, other.indices]).unique(return_inverse=True)
        data = self.data.new_zeros((len(indices), *self._shape[1:]))
        data.index_add_(0, which, torch.cat([self.data, other.data]))
        self.data, self.indices = data, indices
        self._is_whole = None

    def retain(self, indices: Tensor) -> Self:
        """Return a storage of the rows at `indices`, in their order; rows that are absent here are 0 there."""
        indices = indices.to(self.device, torch.int64)
        return type(self)(self.rows(indices), indices, self._shape)

    def in_order(self) -> RowSparseStorage:
        """Return the same array with ascending row indices, each at most once; rows of one index are summed.

        >>> one = RowSparseStorage(torch.ones(3, 1), torch.tensor([2, 0, 2]), (3, 1)).in_order()
        >>> one.indices, one.data.flatten()
        (tensor([0, 2]), tensor([1., 2.]))
        """
        if self.is_whole or bool((self.indices[1:] > self.indices[:-1]).all()):
            return self
        made = RowSparseStorage.zeros(self._shape, self.dtype, self.device)
        made._take_union(self)
        return made

    def check_order(self) -> None:
        """Raise an error unless the row indices ascend, each at most once: what MXNet's `check_format` wants.

        >>> RowSparseStorage(torch.ones(2, 1), torch.tensor([2, 0]), (3, 1)).check_order()
        Traceback (most recent call last):
            ...
        rebind.errors.ParameterError: indices must ascend, each row once; got 2 and then 0 at position 1
        """
        wrong = self.indices[1:] <= self.indices[:-1]
        if wrong.any():
            at = int(wrong.nonzero()[0])
            raise ParameterError(
                f"indices must ascend, each row once; got {self.indices[at].item()} and then "
                f"{self.indices[at + 1].item()} at position {at + 1}"
            )

    def accumulate(self, source: Storage) -> None:
        """Add the values of `source`, in place; rows that are absent here become stored."""
        source = source.to(self.device, self.dtype)
        if not isinstance(source, RowSparseStorage):
            source = RowSparseStorage.with_all_rows(source.to_dense().detach())
        if source.is_whole and not self.is_whole:  # the sum has all rows: these go into a copy of it
            total = source.with_data(source.data.clone())
            total.data.index_add_(0, self.indices, self.data)
            self._adopt(total)
            return
        at, present = self.positions(source.indices)
        if present is None:
            self.data.index_add_(0, at, source.data)
        else:
            self._take_union(source)
