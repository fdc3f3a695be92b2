"""Whether arrays still have the memory that they had, asked of all of them at once."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TypeVar

from torch import Tensor

from .base import ArrayBase
from .storage import CONTIGUOUS, DenseStorage

__all__ = ["SameMemory", "are_dense"]

M = TypeVar("M", bound="SameMemory")

_memory_of = operator.attrgetter("storage.memory")


class SameMemory:
    """Dense arrays with the tensors that they had when it was made.

    What is done in every step with the same arrays need not find out again what these tensors are like, as long as they
    are the same ones. Made by `of`.

    Examples
    --------
    >>> import rebind as mx
    >>> x = mx.nd.zeros((2,))
    >>> same = SameMemory.of([x])
    >>> x[:] = 1
    >>> same.holds(), same.tensors[0] is x.tensor
    (True, True)
    >>> x.exchange(mx.nd.ones((2,)).tensor)
    >>> same.holds()
    False
    """

    __slots__ = ("_arrays", "tensors")

    def __init__(self, arrays: tuple[ArrayBase, ...], tensors: list[Tensor]) -> None:
        self._arrays, self.tensors = arrays, tensors

    @classmethod
    def of(cls: type[M], arrays: Iterable[ArrayBase]) -> M | None:
        """Return it for arrays; None where one is not dense in the order of its axes, or was recorded.

        >>> import rebind as mx
        >>> x = mx.nd.zeros((2, 3, 4, 4))
        >>> SameMemory.of([x]) is None, x.storage.put_channels_last(), SameMemory.of([x]) is None
        (False, True, True)
        """
        dense = tuple(arrays)
        if not are_dense(dense):
            return None
        tensors = [*map(_memory_of, dense)]
        return None if any(tensor.requires_grad for tensor in tensors) else cls(dense, tensors)

    def holds(self) -> bool:
        """Return whether all arrays still have the tensors."""
        # In C, for every array in every step. An array that was dense remains so.
        return all(map(operator.is_, map(_memory_of, self._arrays), self.tensors))


def are_dense(arrays: Iterable[ArrayBase]) -> bool:
    """Return whether all arrays are dense, in the order of their axes.

    >>> import rebind as mx
    >>> x = mx.nd.zeros((2, 3, 4, 4))
    >>> are_dense([x]), x.storage.put_channels_last(), are_dense([x])
    (True, True, False)
    """
    storages = [array.storage for array in arrays]
    return all([isinstance(storage, DenseStorage) and storage.layout is CONTIGUOUS for storage in storages])
