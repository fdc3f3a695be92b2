"""Dense storages whose tensor is made when somebody asks for it.

What they have in memory until then are the values in another order (`order.py`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor

from .storage import DenseStorage, Storage

__all__ = ["DeferredStorage", "held_tensor", "memory_of"]

# The attribute itself, where a `DeferredStorage` has a property in front of it.
_TENSOR = vars(Storage)["tensor"]

#: Returns the tensor of a dense storage as it lies in memory; None for other storages. In C: many ask, at each step.
memory_of: Callable[[Storage], Tensor | None] = _TENSOR.__get__


def held_tensor(storage: Storage) -> Tensor:
    """Return what `memory_of` does, of a storage that is dense.

    >>> storage = DenseStorage(torch.ones(2))
    >>> held_tensor(storage) is storage.tensor
    True
    """
    found = memory_of(storage)
    assert found is not None
    return found


class DeferredStorage(DenseStorage):
    """A dense storage that makes its tensor, by `make_dense`, when it is asked for; it is a `DenseStorage` then.

    A kind defines `make_dense`, and a function that makes storages of that kind, by their class: all have the same
    slots.

    Examples
    --------
    >>> class Doubled(DeferredStorage):
    ...     __slots__ = ()
    ...
    ...     def make_dense(self):
    ...         return held_tensor(self) * 2
    >>> storage = DenseStorage(torch.ones(2))
    >>> storage.__class__ = Doubled
    >>> storage.shape, type(storage).__name__
    (torch.Size([2]), 'Doubled')
    >>> storage.tensor, type(storage).__name__
    (tensor([2., 2.]), 'DenseStorage')
    """

    __slots__ = ()

    @abstractmethod
    def make_dense(self) -> Tensor:
        """Return the values in the order of the axes."""

    @property
    def tensor(self) -> Tensor:
        """The values in order."""
        self.tensor = found = self.make_dense()
        return found

    @tensor.setter
    def tensor(self, value: Tensor) -> None:
        self.__class__ = DenseStorage  # type: ignore[assignment]  # both have the same slots
        self.tensor = value

    # What these are is known without the values.

    @property
    def kind(self) -> type[Storage]:
        """The kind that it is one of."""
        return DenseStorage

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis."""
        return held_tensor(self).shape

    @property
    def dtype(self) -> torch.dtype:
        """The type of the values."""
        return held_tensor(self).dtype

    @property
    def device(self) -> torch.device:
        """The tensor's device."""
        return held_tensor(self).device
