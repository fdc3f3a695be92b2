"""The storage type ``'csr'``: a matrix by rows, of which only some elements are stored."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ... import dtypes
from ...errors import ParameterError, ShapeError
from ..storage import DenseStorage, Storage, register_storage
from .grouping import Groups, group
from .parts import check_indptr, check_lengths, check_range

if TYPE_CHECKING:
    from scipy.sparse import spmatrix
    from typing_extensions import Self

__all__ = ["CSRStorage"]


@register_storage
class CSRStorage(Storage):
    """A matrix as the stored elements of row after row.

    Elements of a row may come in any order of their columns, and several of one column are summed. The tensors are
    never written into: an operation makes new ones, or exchanges them.

    Parameters
    ----------
    data
        The stored elements.
    indptr
        Where each row begins in `data`, and the end of the last one: int64.
    indices
        The column of each element: int64.
    shape
        The numbers of rows and columns.

    Examples
    --------
    >>> matrix = CSRStorage.from_dense(torch.tensor([[0.0, 5.0], [0.0, 0.0], [6.0, 7.0]]))
    >>> matrix.data.tolist(), matrix.indptr.tolist(), matrix.indices.tolist()
    ([5.0, 6.0, 7.0], [0, 1, 1, 3], [1, 0, 1])
    """

    __slots__ = ("_by_column", "_matrix", "_shape", "data", "indices", "indptr")

    stype, number = "csr", 2
    # In the order of files.
    members = ("data", "indptr", "indices")

    def __init__(self, data: Tensor, indptr: Tensor, indices: Tensor, shape: Sequence[int]) -> None:
        super().__init__()
        self.data, self.indptr, self.indices = data, indptr, indices
        self._shape = (int(shape[0]), int(shape[1]))
        self._by_column: list[
            Groups
        ] = []  # one of them once it is known, for all matrices of these positions
        self._matrix: Tensor | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of rows and columns."""
        return self._shape

    @classmethod
    def from_members(cls, shape: Sequence[int], members: Sequence[Tensor]) -> Self:
        """Return a storage of tensors that are checked.

        Elements behind the end of the last row are left out: MXNet's sums have such, and its files with them.

        Raises
        ------
        ParameterError
            When they are no matrix of this shape.

        Examples
        --------
        >>> CSRStorage.from_members(
        ...     (1, 2), [torch.ones(1), torch.tensor([0, 1]), torch.tensor([1])]
        ... ).to_dense()
        tensor([[0., 1.]])
        """
        data, indptr, indices = members
        if len(shape) != 2:
            raise ShapeError(f"a csr array must have two axes; got shape {tuple(shape)}")
        check_lengths(indices, data)
        check_indptr(indptr, shape[0], len(data))
        stored = int(indptr[-1])
        check_range("indices", indices[:stored], shape[1])
        return cls(data[:stored], indptr.long(), indices[:stored].long(), shape)

    @classmethod
    def from_coordinates(
        cls, data: Tensor, rows: Tensor, columns: Tensor, shape: Sequence[int]
    ) -> CSRStorage:
        """Return a matrix of elements in any order; those of one place are summed.

        >>> rows, columns = torch.tensor([1, 0, 1]), torch.tensor([2, 0, 2])
        >>> CSRStorage.from_coordinates(torch.tensor([1.0, 2.0, 3.0]), rows, columns, (2, 3)).to_dense()
        tensor([[2., 0., 0.],
                [0., 0., 4.]])
        """
        check_range("row", rows, shape[0])
        check_range("col", columns, shape[1])
        order = rows.argsort(stable=True)
        ends = _ends(torch.bincount(rows, minlength=shape[0]))
        return cls(data[order], ends, columns[order], shape).in_order()

    @classmethod
    def from_positions(cls, data: Tensor, positions: Tensor, shape: Sequence[int]) -> CSRStorage:
        """Return a matrix of elements whose positions, counted row after row, ascend.

        >>> CSRStorage.from_positions(torch.tensor([5.0, 6.0]), torch.tensor([1, 3]), (2, 3)).to_dense()
        tensor([[0., 5., 0.],
                [6., 0., 0.]])
        """
        columns = max(shape[1], 1)  # without columns there are no positions
        counts = torch.bincount(positions.div(columns, rounding_mode="floor"), minlength=shape[0])
        return cls(data, _ends(counts), positions % columns, shape)

    @classmethod
    def from_scipy(cls, matrix: spmatrix) -> Self:
        """Return a copy of a sparse matrix or array of SciPy, of its type; indices of 32 bits become 64.

        >>> import scipy.sparse
        >>> CSRStorage.from_scipy(scipy.sparse.eye(2, format="coo", dtype="float32")).to_dense()
        tensor([[1., 0.],
                [0., 1.]])
        """
        by_rows = matrix.tocsr()
        # Of its type, as torch knows it; `torch.tensor` copies.
        data = torch.tensor(by_rows.data, dtype=dtypes.torch_dtype(by_rows.dtype))
        others = [torch.tensor(part, dtype=torch.int64) for part in (by_rows.indptr, by_rows.indices)]
        return cls.from_members(by_rows.shape, [data, *others])

    @classmethod
    def from_dense(cls, tensor: Tensor) -> Self:
        """Return the elements of a matrix that are not 0."""
        if tensor.dim() != 2:
            raise ShapeError(f"a csr array must have two axes; got shape {tuple(tensor.shape)}")
        tensor = tensor.detach()
        rows, columns = (tensor != 0).nonzero(as_tuple=True)
        return cls(
            tensor[rows, columns], _ends(torch.bincount(rows, minlength=len(tensor))), columns, tensor.shape
        )

    @classmethod
    def zeros(cls, shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> Self:
        """Return a matrix in which nothing is stored.

        >>> CSRStorage.zeros((2, 10**9), torch.float32, torch.device("cpu")).nbytes
        24
        """
        if len(shape) != 2:
            raise ShapeError(f"a csr array must have two axes; got shape {tuple(shape)}")
        indices = torch.zeros(0, dtype=torch.int64, device=device)
        indptr = torch.zeros(shape[0] + 1, dtype=torch.int64, device=device)
        return cls(torch.zeros(0, dtype=dtype, device=device), indptr, indices, shape)

    def to_dense(self) -> Tensor:
        """Return the matrix with all its elements."""
        dense = self.data.new_zeros(self._shape)
        return dense.index_put_((self.row_of_each(), self.indices), self.data, accumulate=True)

    def row_of_each(self) -> Tensor:
        """Return the row of each stored element.

        >>> CSRStorage.from_dense(torch.tensor([[0.0, 5.0], [0.0, 0.0], [6.0, 7.0]])).row_of_each()
        tensor([0, 2, 2])
        """
        rows = torch.arange(self._shape[0], device=self.indptr.device)
        return torch.repeat_interleave(rows, self.indptr.diff(), output_size=len(self.indices))

    def positions(self) -> Tensor:
        """Return the position of each stored element in the matrix, counted row after row.

        >>> CSRStorage.from_dense(torch.tensor([[0.0, 5.0], [0.0, 0.0], [6.0, 7.0]])).positions()
        tensor([1, 4, 5])
        """
        return self.row_of_each() * self._shape[1] + self.indices

    def with_data(self, data: Tensor) -> CSRStorage:
        """Return other elements at the same positions.

        >>> CSRStorage.from_dense(torch.tensor([[0.0, 5.0]])).with_data(torch.tensor([2.0])).to_dense()
        tensor([[0., 2.]])
        """
        made = CSRStorage(data, self.indptr, self.indices, self._shape)
        made._by_column = self._by_column
        return made

    @property
    def by_column(self) -> Groups:
        """The columns in which something is stored, and which elements: computed once, for the products of a step.

        >>> CSRStorage.from_dense(torch.tensor([[0.0, 5.0], [0.0, 0.0], [6.0, 7.0]])).by_column.indices
        tensor([0, 1])
        """
        if not self._by_column:
            self._by_column.append(group(self.indices, self._shape[1]))
        return self._by_column[0]

    @property
    def matrix(self) -> Tensor:
        """The matrix as PyTorch multiplies it: its csr tensor, made once.

        >>> CSRStorage.from_dense(torch.tensor([[0.0, 5.0], [6.0, 7.0]])).matrix @ torch.ones(2)
        tensor([ 5., 13.])
        """
        if self._matrix is None:
            self._matrix = _csr_tensor(self.data, self.indptr, self.indices, self._shape)
        return self._matrix

    def _with_members(self, members: Sequence[Tensor]) -> Self:
        data, indptr, indices = members
        return type(self)(data, indptr, indices, self._shape)

    def _adopt(self, source: Self) -> None:
        self._shape, self._by_column, self._matrix = source._shape, source._by_column, source._matrix
        super()._adopt(source)

    def take_rows(self, rows: Tensor) -> CSRStorage:
        """Return the matrix of some rows, in their order.

        >>> matrix = CSRStorage.from_dense(torch.tensor([[0.0, 5.0], [0.0, 0.0], [6.0, 7.0]]))
        >>> matrix.take_rows(torch.tensor([2, 0])).to_dense()
        tensor([[6., 7.],
                [0., 5.]])
        """
        begins, counts = self.indptr[rows], self.indptr[rows + 1] - self.indptr[rows]
        indptr = _ends(counts)
        # The n-th element of a row is n after where the row begins.
        chosen = torch.arange(int(indptr[-1]), device=indptr.device)
        chosen += torch.repeat_interleave(begins - indptr[:-1], counts, output_size=len(chosen))
        return CSRStorage(self.data[chosen], indptr, self.indices[chosen], (len(rows), self._shape[1]))

    def row_range(self, begin: int, end: int) -> CSRStorage:
        """Return the matrix of the rows from `begin` up to `end`.

        >>> matrix = CSRStorage.from_dense(torch.tensor([[0.0, 5.0], [0.0, 0.0], [6.0, 7.0]]))
        >>> matrix.row_range(1, 3).to_dense()
        tensor([[0., 0.],
                [6., 7.]])
        """
        first, last = self.indptr[begin].item(), self.indptr[end].item()
        stored = slice(int(first), int(last))
        indptr = self.indptr[begin : end + 1] - first
        return CSRStorage(
            self.data[stored].clone(), indptr, self.indices[stored].clone(), (end - begin, self._shape[1])
        )

    def rows(self, indices: Tensor) -> Tensor:
        """Return the rows at `indices`, in their order, as a dense tensor."""
        return self.take_rows(indices.to(self.device)).to_dense()

    def retain(self, indices: Tensor) -> Self:
        """Return a storage with the stored elements of the rows at `indices` only."""
        keeps = torch.zeros(self._shape[0], dtype=torch.bool, device=self.device)
        keeps[indices.to(self.device)] = True
        chosen = keeps[self.row_of_each()]
        counts = self.indptr.diff() * keeps
        return type(self)(self.data[chosen], _ends(counts), self.indices[chosen], self._shape)

    def in_order(self) -> CSRStorage:
        """Return the same matrix with ascending columns in each row, and each at most once.

        >>> one = CSRStorage(torch.ones(3), torch.tensor([0, 3]), torch.tensor([2, 0, 2]), (1, 3)).in_order()
        >>> one.indices, one.data
        (tensor([0, 2]), tensor([1., 2.]))
        """
        positions = self.positions()
        if bool((positions[1:] > positions[:-1]).all()):
            return self
        unique, which = positions.unique(return_inverse=True)
        data = self.data.new_zeros(len(unique)).index_add_(0, which, self.data)
        return CSRStorage.from_positions(data, unique, self._shape)

    def check_order(self) -> None:
        """Raise an error unless the columns of each row ascend, each at most once: what MXNet's `check_format` wants.

        >>> CSRStorage(torch.ones(2), torch.tensor([0, 2]), torch.tensor([2, 0]), (1, 3)).check_order()
        Traceback (most recent call last):
            ...
        rebind.errors.ParameterError: indices must ascend in each row, each column once; got 2 and then 0 in row 0
        """
        rows, columns = self.row_of_each(), self.indices
        wrong = (columns[1:] <= columns[:-1]) & (rows[1:] == rows[:-1])
        if wrong.any():
            at = int(wrong.nonzero()[0])
            raise ParameterError(
                f"indices must ascend in each row, each column once; got {columns[at].item()} and then "
                f"{columns[at + 1].item()} in row {rows[at].item()}"
            )

    def accumulate(self, source: Storage) -> None:
        """Add the values of `source`, in place; other positions become stored."""
        other = source.to(self.device, self.dtype)
        if isinstance(other, DenseStorage):
            other = self.from_storage(other)
        if not isinstance(other, CSRStorage):
            raise ParameterError(f"only dense and csr arrays can be added to a csr array; got {source.stype}")
        rows = torch.cat([self.row_of_each(), other.row_of_each()])
        order = rows.argsort(stable=True)
        both = CSRStorage(
            torch.cat([self.data, other.data])[order],
            self.indptr + other.indptr,
            torch.cat([self.indices, other.indices])[order],
            self._shape,
        )
        self._adopt(both.in_order())


def _ends(counts: Tensor) -> Tensor:
    """Return `indptr` of rows with these numbers of elements."""
    indptr = counts.new_zeros(len(counts) + 1)
    torch.cumsum(counts, 0, out=indptr[1:])
    return indptr


def _csr_tensor(data: Tensor, indptr: Tensor, indices: Tensor, shape: tuple[int, int]) -> Tensor:
    """Return PyTorch's csr tensor, with the 32-bit indices that MKL takes where they suffice."""
    if max(len(data), *shape) < 1 << 31:
        indptr, indices = indptr.int(), indices.int()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")  # once in a process
        return torch.sparse_csr_tensor(indptr, indices, data.detach(), shape, check_invariants=False)
