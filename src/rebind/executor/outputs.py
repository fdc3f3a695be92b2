"""The outputs of an executor: handles that always show the newest values."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from .._torch.tensors import may_be_view
from ..device import Device
from ..graph import Entry, Facts
from ..ndarray import NDArray
from ..ndarray.base import wrap
from ..ndarray.storage import kind_or_dense
from ..ndarray.storage_tensor import StorageTensor
from ..shapes import size
from ..tuning import current

__all__ = ["OutputHandles", "detached", "shares_memory"]

Value = TypeVar("Value", Tensor, None)


class OutputHandles:
    """One array for each output, which shows what each later `forward` computes.

    Parameters
    ----------
    entries
        The outputs.
    facts
        Their shapes and types: before the first run the arrays hold zeros.
    device
        The device that they are on.

    Attributes
    ----------
    are_large
        Whether the outputs take much memory together.

    Examples
    --------
    >>> import rebind as mx
    >>> exe = (mx.sym.var("x") * 2).bind(mx.cpu(), {"x": mx.nd.ones((1,))})
    >>> output = exe.outputs[0]
    >>> before = output.item()
    >>> _ = exe.forward()
    >>> before, output.item()
    (0.0, 2.0)
    """

    def __init__(self, entries: Sequence[Entry], facts: Facts, device: Device) -> None:
        known = [facts[entry] for entry in entries]
        self._kinds = [(fact.shape or (), fact.dtype or torch.float32, fact.storage) for fact in known]
        self._device = device
        self._handles = [self._new(i) for i in range(len(self._kinds))]
        self._released: tuple[weakref.ref[NDArray], ...] = ()
        elements = sum(size(shape) for shape, *_ in self._kinds)
        self.are_large = elements >= current().released_output_elements

    def _new(self, i: int) -> NDArray:
        shape, dtype, stype = self._kinds[i]
        # The system allocates zeros lazily, and the first forward exchanges them: they cost next to nothing.
        return wrap(kind_or_dense(stype).zeros(shape, dtype, self._device.torch), self._device)

    @property
    def arrays(self) -> list[NDArray]:
        # The handle that a caller still holds goes on showing; one that nobody holds was freed.
        """The handles; after `release` those that are still referenced, and new ones of zeros for the others."""
        return self._taken_up(self._new)

    def _taken_up(self, new: Callable[[int], NDArray]) -> list[NDArray]:
        """Return the handles, with new ones for those that were released and freed."""
        if self._released:
            held = [handle() for handle in self._released]
            self._handles = [new(i) if handle is None else handle for i, handle in enumerate(held)]
            self._released = ()
        return self._handles

    def show(self, values: Sequence[Tensor]) -> list[NDArray]:
        """Show new values through the handles, and return these.

        >>> import rebind as mx
        >>> handles = OutputHandles(mx.sym.var("x").graph.outputs, Facts(), mx.cpu())
        >>> taken = handles.arrays[0]
        >>> _ = handles.show([torch.tensor(5.0)])
        >>> taken.item()
        5.0
        """
        arrays = self._taken_up(lambda i: NDArray(values[i], self._device))
        for handle, value in zip(arrays, values, strict=True):
            handle.exchange(value)
        return arrays

    def release_large(self) -> None:
        """Release the handles before a run if their memory counts, so that the run need not have it beside its own.

        Not where a view of them may exist, which shows the new values, too. After a run that fails they are zeros.

        >>> import rebind as mx
        >>> handles = OutputHandles(mx.sym.var("x").graph.outputs, Facts(), mx.cpu())
        >>> handles.release_large()
        """
        if self.are_large and not any([handle.storage.shared for handle in self._handles]):
            self.release()

    def release(self) -> None:
        """Drop the handles; those that nothing else refers to free their memory.

        >>> import rebind as mx
        >>> handles = OutputHandles(mx.sym.var("x").graph.outputs, Facts(), mx.cpu())
        >>> held = handles.arrays[0]
        >>> handles.release()
        >>> handles.arrays[0] is held  # a handle that somebody holds is the same array afterwards
        True
        """
        if self._handles:
            # Weak references: a handle that a caller holds must be the same array after the next forward.
            self._released = tuple(weakref.ref(handle) for handle in self._handles)
            self._handles = []


def detached(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    loss_inputs: Sequence[Sequence[Tensor | None] | None],
) -> list[Tensor]:
    """Return the values of a run's outputs, ordinary tensors in memory that none of its inputs has.

    Two outputs of equal values may share theirs, as in MXNet.

    Parameters
    ----------
    outputs
        What it returned.
    inputs
        What it ran on.
    loss_inputs
        For each output that is a loss, what it was computed from, without a record; None for others.

    Examples
    --------
    >>> x = torch.ones(2, requires_grad=True)
    >>> values = detached([x, x.detach(), x * 2], [x], [None] * 3)
    >>> [value.requires_grad for value in values], [value.data_ptr() == x.data_ptr() for value in values]
    ([False, False, False], [False, False, False])
    >>> with torch.inference_mode():
    ...     y = torch.ones(100, 100)
    >>> [value.is_inference() for value in [y, *detached([y, y[0], y.T], [x], [None] * 3)]]
    [True, False, False, False]
    """
    each_output = zip(outputs, loss_inputs, strict=True)
    return [_detached(output, inputs, of_loss) for output, of_loss in each_output]


def _detached(output: Value, inputs: Sequence[Tensor], of_loss: Sequence[Tensor | None] | None) -> Value:
    if output is None:  # a hidden output that is not there in this mode
        return output
    if isinstance(output, StorageTensor):
        is_input = any(isinstance(each, StorageTensor) and each.stored is output.stored for each in inputs)
        return StorageTensor(output.stored.copy() if is_input else output.stored)
    if output.is_inference():
        # Of what is made in inference mode it is not known whether it is a view.
        if output.numel() > current().copied_output_elements and _has_memory_of_its_own(output, inputs):
            memory = output.untyped_storage()
            return torch.empty(0, dtype=output.dtype).set_(memory, 0, output.shape, output.stride())
        return _copied(output)
    # `.data`, not `detach()`: it has a version counter of its own. A program may write into an output before backward,
    # which then reads what is in memory, as in MXNet.
    if may_be_view(output) or id(output) in map(id, inputs):
        return output.data if _has_memory_of_its_own(output, inputs) else _copied(output)
    if output.requires_grad:
        return output.data
    # `detach()` of an input is no view, and shares its memory; a loss that is not what it was given is new.
    if of_loss is not None and id(output) not in map(id, of_loss):
        return output
    return _copied(output) if shares_memory(output, inputs) else output


def _has_memory_of_its_own(output: Tensor, inputs: Sequence[Tensor]) -> bool:
    """Return whether a tensor has all of its memory, in the order of its axes, and no input is in it."""
    is_all = output.untyped_storage().nbytes() == output.nbytes and output.is_contiguous()
    return is_all and not shares_memory(output, inputs)


def _copied(output: Tensor) -> Tensor:
    return output.detach().clone(memory_format=torch.contiguous_format)


def shares_memory(output: Tensor, inputs: Sequence[Tensor]) -> bool:
    """Return whether a tensor is in the memory of others, whatever part of it.

    >>> x = torch.ones(2)
    >>> shares_memory(x.detach(), [x]), shares_memory(x + 1, [x])
    (True, False)
    """
    place = output.untyped_storage().data_ptr()
    # Packed weights have no storage that could be asked for, and what another engine froze is no tensor.
    return any(
        [
            isinstance(each, Tensor)
            and each.layout is torch.strided
            and not isinstance(each, StorageTensor)
            and place == each.untyped_storage().data_ptr()
            for each in inputs
        ]
    )
