"""Dense values that are not in memory, as they follow from something else that is: computed when they are asked for.

Weights of which an executor has a packed copy need not be there twice. Their storage is a `ReleasedStorage` then.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..forks import held_while_forking
from ..grad_mode import grad_mode, inference_mode
from .deferred import DeferredStorage, held_tensor, hold
from .storage import Storage

__all__ = ["ReleasedStorage", "StandIn", "is_held_elsewhere", "put_away", "release", "values_of"]


# Values that threads share come and go for all of them at once.
_lock = held_while_forking(threading.RLock())


class StandIn(Tensor):
    """A tensor without values, in the place of values that were given up, with their shape and type.

    Made by `release`. It is on PyTorch's device ``meta``: an operator that is given it with other tensors fails.

    Attributes
    ----------
    restore
        Computes the values.
    device_of_values
        Where they are then.
    """

    restore: Callable[[], Tensor]
    device_of_values: torch.device
    _restored: tuple[weakref.ref[Tensor], int]

    # Operators need not know of it; PyTorch's type for this name is that of its own method.
    __torch_function__: Any = torch._C._disabled_torch_function_impl

    def note_restored(self, tensor: Tensor) -> None:
        """Note that the values are in a tensor now."""
        self._restored = weakref.ref(tensor), tensor._version

    def is_restored_in(self, tensor: Tensor) -> bool:
        """Return whether a tensor has the values that this one stood for: they came there, and none was written since.

        >>> from rebind.ndarray.storage import DenseStorage
        >>> storage = DenseStorage(torch.ones(2))
        >>> stand_in = release(storage, lambda: torch.ones(2))
        >>> found = storage.tensor
        >>> stand_in.is_restored_in(found), stand_in.is_restored_in(found.add_(1))
        (True, False)
        """
        known, version = getattr(self, "_restored", (None, 0))
        return known is not None and known() is tensor and tensor._version == version


class ReleasedStorage(DeferredStorage):
    """A dense storage whose values are computed when they are asked for; it is a `DenseStorage` then.

    Storages become one by `release`.

    Examples
    --------
    >>> from rebind.ndarray.storage import DenseStorage
    >>> storage = DenseStorage(torch.ones(2))
    >>> _ = release(storage, lambda: torch.ones(2))
    >>> type(storage).__name__, storage.shape, storage.device
    ('ReleasedStorage', torch.Size([2]), device(type='cpu'))
    >>> storage.tensor, type(storage).__name__
    (tensor([1., 1.]), 'DenseStorage')
    """

    __slots__ = ()

    def make_dense(self) -> Tensor:
        """Return the values."""
        with _lock:
            held = held_tensor(self)
            if not isinstance(held, StandIn):  # another thread has asked as well
                return held
            with inference_mode(False), grad_mode(False):
                found = held.restore()
            held.note_restored(found)
            self.tensor = found
        return found

    @property
    def device(self) -> torch.device:
        """The device where the values are when they are there."""
        held = held_tensor(self)
        return held.device_of_values if isinstance(held, StandIn) else held.device


def release(storage: Storage, restore: Callable[[], Tensor]) -> StandIn:
    """Give up the values of a dense storage of which no view exists, and return what stands for them.

    Parameters
    ----------
    storage
        Where the values are.
    restore
        Returns the same values, in the same shape and type, in memory that nobody else writes.

    Examples
    --------
    >>> from rebind.ndarray.storage import DenseStorage
    >>> weight = torch.arange(3.0)
    >>> storage, half = DenseStorage(weight), weight / 2
    >>> release(storage, lambda: half * 2).shape
    torch.Size([3])
    >>> storage.tensor
    tensor([0., 1., 2.])
    """
    dense = storage.tensor
    assert dense is not None and not storage.shared
    stand_in = torch.empty(dense.shape, dtype=dense.dtype, device="meta").as_subclass(StandIn)
    stand_in.restore, stand_in.device_of_values = restore, dense.device
    with _lock:
        # The class first: who asks in between, in another thread, waits.
        storage.__class__ = ReleasedStorage
        hold(storage, stand_in)
    return stand_in


def is_held_elsewhere(storage: Storage) -> bool:
    """Return whether somebody else holds the tensor of a dense storage, and may write it when it was given up.

    >>> from rebind.ndarray.storage import DenseStorage
    >>> storage = DenseStorage(torch.ones(2))
    >>> is_held_elsewhere(storage)
    False
    >>> tensor = storage.tensor
    >>> is_held_elsewhere(storage)
    True
    """
    # Apart from the storage it is the call that holds it, as its argument.
    return sys.getrefcount(held_tensor(storage)) > 2


def put_away(storage: Storage) -> None:
    """Keep the values of a dense storage of which no view exists apart, with something in their place.

    They are in memory, and back as soon as somebody asks. As long as none has, nobody has written them.

    >>> from rebind.ndarray.storage import DenseStorage
    >>> storage = DenseStorage(torch.ones(2))
    >>> put_away(storage)
    >>> type(storage).__name__, storage.tensor
    ('ReleasedStorage', tensor([1., 1.]))
    """
    dense = storage.to_dense()
    release(storage, lambda: dense)


def values_of(tensor: Tensor) -> Tensor:
    """Return a tensor, or the values that it stands for, which do not come back to their storage by that.

    >>> from rebind.ndarray.storage import DenseStorage
    >>> storage = DenseStorage(torch.ones(2))
    >>> stand_in = release(storage, lambda: torch.ones(2))
    >>> values_of(stand_in), type(storage).__name__
    (tensor([1., 1.]), 'ReleasedStorage')
    """
    return tensor.restore() if isinstance(tensor, StandIn) else tensor
