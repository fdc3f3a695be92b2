"""One argument of an executor: its array, its gradient, and the tensor that autograd sees."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..ndarray import NDArray
from ..ndarray.deferred import memory_of
from ..ndarray.order import have_one_order, note_order, reorder
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
    stays: bool = False  # whether backward writes the gradient into the memory that it has

    def decide(self, stays: bool) -> None:
        """Decide, at bind, what later runs need not ask of each argument: `reorders` and `stays`.

        >>> import rebind as mx
        >>> filters = Slot(mx.nd.ones((2, 3, 1, 1)), "write", grad=mx.nd.zeros((2, 3, 1, 1)))
        >>> filters.decide(stays=False)
        >>> filters.reorders
        True
        """
        # A gradient that is added to lies in the order of its axes.
        written = self.grad is not None and self.request == "write"
        self.reorders = written and self.array is not None and self.array.ndim in FORMATS
        self.stays = written and stays

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
        current: Tensor | None
        if channels_last and self.reorders and self.array.marking is None and reorder(storage):
            current = memory_of(storage)
        else:
            current = storage.tensor
        if current is None:
            return self._dense_copy(self.array.tensor)
        if self.grad is None:
            return current
        if current is not self.source:
            # `.data` has a version counter of its own: as in MXNet, backward reads what is in memory then.
            self.leaf, self.source = current.data.requires_grad_(), current
        assert self.leaf is not None
        return self.leaf

    def _dense_copy(self, current: Tensor) -> Tensor:
        """Return a dense copy, always in the same leaf: backward needs the one that forward ran on."""
        if self.grad is None:
            return current
        if self.leaf is None:
            self.leaf = current.detach().clone().requires_grad_()
        else:
            self.leaf.data.copy_(current)
        return self.leaf

    def prepare_gradient(self, may_stay: bool = True) -> Tensor | None:
        """Free the memory of an old gradient that is to be replaced; one that `stays`, if it may, is filled with zeros.

        Return the gradient that the new one is to be added to: those zeros, or the old one for ``grad_req='add'``.

        >>> import rebind as mx
        >>> grad = mx.nd.array([7])
        >>> Slot(mx.nd.ones((1,)), "add", grad=grad).prepare_gradient() is grad.tensor
        True
        """
        assert self.grad is not None
        storage = self.grad.storage
        if self.request == "add":
            return self.grad.tensor if storage.tensor is None else self.grad.writable_tensor()
        old = memory_of(storage) if self.reorders else storage.tensor
        if old is None:
            return None
        if may_stay and self.stays and self._can_add_to(old):
            return old.zero_()
        if not storage.shared:
            if self.stand_in is None:
                self.stand_in = torch.zeros((), dtype=old.dtype, device=old.device).expand(old.shape)
            storage.tensor = self.stand_in  # as `exchange`, for every argument in every step
        return None

    def _can_add_to(self, old: Tensor) -> bool:
        # Autograd warns of a gradient in another order; the new one then takes its place, and stays from then on.
        return self.leaf is not None and have_one_order(old, self.leaf) and not old.requires_grad

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
        if self.request == "add":
            # Autograd may have added in place: then it is there.
            if found is not None and found is not storage.tensor:
                self.grad.write(found)
            return
        old = memory_of(storage) if self.reorders else storage.tensor
        if found is None:
            self.grad.exchange(storage.zeros_like())
        elif found is old:  # it stays
            return
        elif old is None or storage.shared:
            self.grad.exchange(found)
        else:  # as `exchange`, for every argument in every step
            storage.tensor = found if found.dtype is old.dtype else found.to(dtype=old.dtype)
        if self.reorders:
            # It lies in memory as the tensor that the network ran on.
            note_order(storage)

    def add_gradient(self, found: Tensor | None) -> None:
        """Add a gradient that was computed with the outputs to what is there.

        >>> import rebind as mx
        >>> slot = Slot(mx.nd.ones((1,)), "add", grad=mx.nd.array([7]))
        >>> slot.add_gradient(torch.tensor([3.0]))
        >>> slot.grad.asnumpy().tolist()
        [10.0]
        """
        assert self.grad is not None
        if found is not None:
            self.grad.accumulate(found)
