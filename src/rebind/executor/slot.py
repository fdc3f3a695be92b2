"""One argument of an executor: its array, its gradient, and the tensor that autograd sees."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..ndarray import NDArray
from ..ndarray.storage import CONTIGUOUS, DenseStorage, Storage
from ..ndarray.storage_tensor import StorageTensor, as_storage, as_tensor
from ..ops.nn.memory_order import FORMATS
from .arguments import GradReq

__all__ = ["Slot"]


@dataclass
class Slot:
    """An argument: its array, where its gradient goes, and the leaf that autograd accumulates into."""

    array: NDArray | None
    request: GradReq = "null"
    grad: NDArray | None = None  # where the gradient goes; None when none is wanted
    bound_grad: NDArray | None = None  # what was bound for it, wanted or not
    leaf: Tensor | None = None
    source: Tensor | None = field(default=None, repr=False)  # the tensor that `leaf` is an alias or a copy of
    stand_in: Tensor | None = field(default=None, repr=False)  # in place of a gradient until it is new
    reorders: bool = False  # whether array and gradient may lie in another order than that of their axes
    reuses: bool = False  # whether backward writes the gradient into the memory that it has

    def decide(self, reuses: bool) -> None:
        """Decide, at bind, what later runs need not ask of each argument: `reorders` and `reuses`.

        >>> import rebind as mx
        >>> filters = Slot(mx.nd.ones((2, 3, 1, 1)), "write", grad=mx.nd.zeros((2, 3, 1, 1)))
        >>> filters.decide(reuses=False)
        >>> filters.reorders
        True
        """
        # A gradient that is added to lies in the order of its axes.
        written = self.grad is not None and self.request == "write"
        self.reorders = written and self.array is not None and self.array.ndim in FORMATS
        self.reuses = written and reuses

    def tensor(self, channels_last: bool = False) -> Tensor:
        """Return the tensor to run on.

        With `channels_last` its channels are last in memory, if its gradient may lie so too and nothing else counts on
        the order.

        >>> import rebind as mx
        >>> x = mx.nd.ones((2,))
        >>> Slot(x).tensor() is x.tensor, Slot(x, "write", grad=mx.nd.zeros((2,))).tensor().requires_grad
        (True, True)
        """
        assert self.array is not None
        storage = self.array.storage
        if not isinstance(storage, DenseStorage):
            return self._of_storage(storage)
        if channels_last and self.reorders and self.array.marking is None:
            storage.put_channels_last()
        elif storage.layout is not CONTIGUOUS:
            storage.materialize()
        current = storage.memory
        if self.grad is None:
            return current
        if current is not self.source:
            # `.data` has a version counter of its own: as in MXNet, backward reads what is in memory then.
            self.leaf, self.source = current.data.requires_grad_(), current
        assert self.leaf is not None
        return self.leaf

    def _of_storage(self, storage: Storage) -> Tensor:
        """Return the tensor of a storage that is not dense, always the same: backward needs what forward ran on."""
        if self.grad is None:
            return as_tensor(storage)
        if not (isinstance(self.leaf, StorageTensor) and self.leaf.stored is storage):
            self.leaf = as_tensor(storage).requires_grad_()
        return self.leaf

    def prepare_gradient(self, may_reuse: bool = True) -> Tensor | None:
        """Free the memory of an old gradient that is to be replaced; one that `reuses` it is filled with zeros.

        Return the gradient that the new one is to be added to: those zeros, or the old one for ``grad_req='add'``.

        >>> import rebind as mx
        >>> grad = mx.nd.array([7])
        >>> Slot(mx.nd.ones((1,)), "add", grad=grad).prepare_gradient() is grad.tensor
        True
        """
        assert self.grad is not None
        storage = self.grad.storage
        if not isinstance(storage, DenseStorage):
            return None
        if self.request == "add":
            return self.grad.writable_tensor()
        old = storage.memory
        if may_reuse and self.reuses and self._can_add_to(old):
            return old.zero_()
        if not storage.shared:
            if self.stand_in is None:
                self.stand_in = torch.zeros((), dtype=old.dtype, device=old.device).expand(old.shape)
            # As `exchange`, for every argument in every step.
            storage.memory, storage.layout = self.stand_in, CONTIGUOUS
        return None

    def _can_add_to(self, old: Tensor) -> bool:
        # Autograd warns of a gradient in another order; the new one then takes its place, and stays from then on.
        return self.leaf is not None and _have_one_order(old, self.leaf) and not old.requires_grad

    def take_gradient(self, found: Tensor | None) -> None:
        """Put what backward computed into the array; zeros where no output depends on the argument.

        >>> import rebind as mx
        >>> slot = Slot(mx.nd.ones((2,)), "write", grad=mx.nd.ones((2,)))
        >>> slot.take_gradient(torch.tensor([3.0, 4.0]))
        >>> slot.grad.asnumpy().tolist()
        [3.0, 4.0]
        """
        assert self.grad is not None
        storage = self.grad.storage
        if isinstance(found, StorageTensor) and isinstance(storage, DenseStorage):
            found = found.stored.to_dense()
        if self.request == "add":
            self._take_sum(found)
        elif found is None:
            self.grad.exchange(storage.zeros_like())
        elif isinstance(storage, DenseStorage) and found is storage.memory:  # it stays
            return
        elif storage.shared or not isinstance(storage, DenseStorage):
            self.grad.exchange(as_storage(found))
        else:  # as `exchange`, for every argument in every step
            if found.dtype is not storage.memory.dtype:
                found = found.to(dtype=storage.memory.dtype)
            if self.reorders:  # in memory it is as the tensor that the network ran on
                storage.adopt(found)
            else:
                storage.memory, storage.layout = found, CONTIGUOUS

    def _take_sum(self, found: Tensor | None) -> None:
        """Put the sum with what was there into the array; other storages than dense ones add it here."""
        assert self.grad is not None
        storage = self.grad.storage
        if found is None:
            return
        if not isinstance(storage, DenseStorage):
            self.grad.accumulate(found)
        elif found is not storage.memory:  # else autograd has added in place
            self.grad.write(found)


def _have_one_order(one: Tensor, other: Tensor) -> bool:
    """Return whether two tensors of one shape lie in memory in the same order.

    >>> x = torch.ones(2, 3, 4, 4)
    >>> y = x.contiguous(memory_format=torch.channels_last)
    >>> _have_one_order(x, x), _have_one_order(x, y), _have_one_order(torch.ones(1, 3), torch.ones(3, 1).T)
    (True, False, True)
    """
    if one.stride() == other.stride():
        return True
    # An axis of one element has no order.
    return all([a == b or n == 1 for a, b, n in zip(one.stride(), other.stride(), one.shape, strict=True)])
