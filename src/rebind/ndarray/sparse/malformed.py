"""Sparse arrays whose parts do not fit: they can be made and looked at, and say what is wrong when they are used.

MXNet makes such arrays too, and finds the fault in `check_format`, or never.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import torch
from torch import Tensor

from ...errors import MXNetError
from ..storage import Storage
from .csr import CSRStorage
from .row_sparse import RowSparseStorage

__all__ = ["MalformedStorage", "checked_storage"]


class MalformedStorage(Storage):
    """Parts that are no array of a kind; every use but `tensors` raises the error that was found.

    Examples
    --------
    >>> import rebind as mx
    >>> x = mx.nd.sparse.csr_matrix(([1.0], [7], [0, 1]), shape=(1, 3))
    >>> x.indices.asnumpy().tolist()
    [7]
    >>> x.asnumpy()
    Traceback (most recent call last):
        ...
    rebind.errors.ParameterError: indices must be from 0 to 2; got 7 at position 0
    """

    def __init__(self, shape: Sequence[int], members: Sequence[Tensor], error: MXNetError) -> None:
        super(Storage, self).__init__()
        self.shared = False
        self._shape = tuple(shape)
        self._parts = dict(zip(self.members, members, strict=True))
        self._error = error

    @property
    def error(self) -> MXNetError:
        """The error that was found, as a new one: those who pass it on add to it what they know."""
        return type(self._error)(*self._error.args)

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The parts by name."""
        return self._parts

    @property
    def dtype(self) -> torch.dtype:
        """The type of the values."""
        return self._parts["data"].dtype

    @property
    def device(self) -> torch.device:
        """The device of the parts."""
        return self._parts["data"].device

    def _refuse(self, *args: object, **keywords: object) -> NoReturn:
        raise self.error

    to_dense = to = zeros_like = write = accumulate = write_rows = _refuse
    # Kernels read the parts by these names, and would read beyond the memory of others.
    data: Any = property(_refuse)
    indices: Any = property(_refuse)
    indptr: Any = property(_refuse)

    def __getattr__(self, name: str) -> NoReturn:
        # What else a kind has of its own, such as what it remembers of its parts, is not there.
        raise self.error


class MalformedCSRStorage(MalformedStorage, CSRStorage):  # type: ignore[misc]  # attributes of the one are properties
    """Parts that make no matrix."""


class MalformedRowSparseStorage(MalformedStorage, RowSparseStorage):
    """Parts that make no array of rows."""


def checked_storage(
    kind: type[CSRStorage | RowSparseStorage], shape: Sequence[int], members: Sequence[Tensor]
) -> Storage:
    """Return the storage of a kind around its parts; one that raises at every use where they do not fit.

    >>> import torch
    >>> checked_storage(RowSparseStorage, (2, 1), [torch.ones(1, 1), torch.tensor([1])]).to_dense().flatten()
    tensor([0., 1.])
    """
    try:
        return kind.from_members(shape, members)
    except MXNetError as error:
        malformed = MalformedCSRStorage if kind is CSRStorage else MalformedRowSparseStorage
        return malformed(shape, members, error)
