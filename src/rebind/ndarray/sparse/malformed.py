"""Sparse arrays whose parts do not fit: they can be made and looked at, and say what is wrong when they are used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import torch
from torch import Tensor

from ...errors import MXNetError, ParameterError
from ..storage import Storage

__all__ = ["MalformedStorage", "checked_storage"]


class MalformedStorage(Storage):
    """Parts that are no array of a kind; every use but that of the parts themselves raises the error that was found.

    MXNet makes such arrays too, and finds the fault in `check_format`, or never.

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

    __slots__ = ("_error", "_parts", "_shape", "array_class", "stype")

    def __init__(
        self, kind: type[Storage], shape: Sequence[int], members: Sequence[Tensor], error: MXNetError
    ) -> None:
        super().__init__()
        self.stype, self.array_class = kind.stype, kind.array_class  # type: ignore[misc]  # as of the kind
        self._shape, self._parts = tuple(shape), dict(zip(kind.members, members, strict=True))
        self._error = error

    @property
    def error(self) -> MXNetError:
        """The error that was found, as a new one: those who pass it on add to it what they know."""
        return type(self._error)(*self._error.args)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that the array was to have."""
        return self._shape

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The parts by name."""
        return self._parts

    @classmethod
    def from_dense(cls, tensor: Tensor) -> NoReturn:
        """Raise: no value makes a malformed array."""
        raise ParameterError("an array whose parts do not fit takes no values; make a new one")

    def to_dense(self) -> NoReturn:
        """Raise the error that was found."""
        raise self.error

    def to(
        self, device: torch.device | None = None, dtype: torch.dtype | None = None, copy: bool = False
    ) -> NoReturn:
        """Raise the error that was found."""
        raise self.error

    def __getattr__(self, name: str) -> Any:
        # What a kind has beyond all kinds: kernels read parts by these names, and would read beyond memory.
        raise self.error


def checked_storage(kind: type[Storage], shape: Sequence[int], members: Sequence[Tensor]) -> Storage:
    """Return the storage of a kind around its parts; one that raises at every use where they do not fit.

    >>> from rebind.ndarray.sparse.row_sparse import RowSparseStorage
    >>> checked_storage(RowSparseStorage, (2, 1), [torch.ones(1, 1), torch.tensor([1])]).to_dense().flatten()
    tensor([0., 1.])
    """
    try:
        return kind.from_members(shape, members)
    except MXNetError as error:
        return MalformedStorage(kind, shape, members, error)
