"""What every array is made of: a storage, a device, and its history in recorded computations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor

from .. import dtypes
from ..device import Device, device_of
from ..errors import ArgumentError, ShapeError, StateError
from ..grad_mode import is_grad_enabled, set_grad_enabled
from ..mode import mode
from .history import Source, opaque_node
from .sending import send
from .storage import CONTIGUOUS, DenseStorage, Storage
from .storage_tensor import StorageTensor, as_storage

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ArrayBase", "Scalar", "wrap", "wrap_tensor"]

Object = TypeVar("Object")
#: What callers hold arrays as: `NDArray`, which `Storage.array_class` is set to; modules below it cannot name it.
Array = TypeVar("Array", bound="ArrayBase")
Scalar: TypeAlias = "int | float | bool | np.number | np.bool_"

# Without __init__, whose checks are not needed for results of operators.
_new: Callable[[type[Object]], Object] = object.__new__


@dataclass
class Marking:
    """Where `backward` puts the gradient of a marked array.

    Attributes
    ----------
    grad
        The array for it.
    adds
        Whether it is added to what is there, rather than written over it.
    fresh
        Whether it has been written since the user last set this to False.
    reached
        Whether a gradient arrived in the `backward` that is running.
    """

    grad: ArrayBase
    adds: bool = False
    fresh: bool = False
    reached: bool = False

    def receive_nothing(self) -> None:
        """Take a gradient of zeros: what `backward` computed depends on the array, but the gradient is blocked.

        >>> import rebind as mx
        >>> marking = Marking(mx.nd.ones((2,)))
        >>> marking.receive_nothing()
        >>> marking.grad.asnumpy().tolist(), marking.fresh
        ([0.0, 0.0], True)
        """
        self.fresh = True
        if not self.adds:
            self.grad.exchange(self.grad.storage.zeros_like())


class ArrayBase:
    """The content of an array: reading, writing and exchanging it. `NDArray` adds what users call.

    Parameters
    ----------
    tensor
        The tensor to wrap, which is not copied, or a storage of any kind.
    device
        The device that it is on; by default the first of its kind.

    Attributes
    ----------
    storage
        The tensors behind the array.
    device
        The device.
    leaf
        After `attach_grad()`, the tensor that torch records in the array's stead; None for others. That of a dense
        array shares its memory. Of a recorded result that is not dense it is the tensor that torch has recorded.
    history
        How it was computed while recording, for `autograd.get_symbol` and `backward`; None where nothing was recorded.
    marking
        Where its gradient goes, after `attach_grad()`; None for others.
    """

    __slots__ = ("__weakref__", "device", "history", "leaf", "marking", "storage")

    def __init__(self, tensor: Tensor | Storage | None, device: Device | None = None) -> None:
        if tensor is None:  # so MXNet's pickles begin; `__setstate__` brings the content
            tensor = torch.empty(0)
        if isinstance(tensor, Tensor):
            self.storage: Storage = as_storage(tensor)
        elif isinstance(tensor, Storage):
            self.storage = tensor
        else:
            raise ArgumentError(f"NDArray: must be made from a torch.Tensor; got {tensor!r}. Use nd.array().")
        self.device = device or device_of(self.storage.device)
        self.leaf: Tensor | None = None
        self.history: Source | None = None
        self.marking: Marking | None = None

    @property
    def tensor(self) -> Tensor:
        """The content as one dense tensor, as it is now; an executor may exchange that of its outputs.

        That of a dense array is its memory; of any other storage it is a dense copy, for reading only.

        >>> import rebind as mx
        >>> mx.nd.ones((2,)).tensor
        tensor([1., 1.])
        """
        return self.storage.to_dense()

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis.

        >>> import rebind as mx
        >>> mx.nd.ones((2, 3)).shape
        (2, 3)
        """
        return tuple(self.storage.shape)

    @property
    def dtype(self) -> Any:
        """The type of the elements: a NumPy scalar type (torch.bfloat16 for bfloat16).

        >>> import rebind as mx
        >>> mx.nd.ones((2, 3)).dtype
        <class 'numpy.float32'>
        """
        return dtypes.numpy_type(self.storage.dtype)

    @property
    def size(self) -> int:
        """The number of elements.

        >>> import rebind as mx
        >>> mx.nd.ones((2, 3)).size
        6
        """
        return prod(self.storage.shape)

    @property
    def ndim(self) -> int:
        """The number of axes.

        >>> import rebind as mx
        >>> mx.nd.ones((2, 3)).ndim
        2
        """
        return len(self.storage.shape)

    @property
    def context(self) -> Device:
        """The device that the array is on: an older name of `device`, as is `ctx`.

        >>> import rebind as mx
        >>> mx.nd.ones((2,), mx.cpu(1)).ctx
        cpu(1)
        """
        return self.device

    ctx = context

    @property
    def stype(self) -> str:
        """The storage type: ``'default'`` is dense.

        >>> import rebind as mx
        >>> mx.nd.ones((2,)).stype
        'default'
        """
        return self.storage.stype

    # Reading: what operators compute from.

    @property
    def recorded_tensor(self) -> Tensor:
        """The tensor that torch records for the array: its `leaf`, else its content.

        >>> import rebind as mx
        >>> x = mx.nd.ones((2,))
        >>> x.attach_grad()
        >>> x.recorded_tensor is x.leaf, x.recorded_tensor is x.tensor
        (True, False)
        """
        leaf = self.leaf
        if leaf is None:
            return self.tensor
        # The leaf of whole numbers, or of an array that is not dense, has memory of its own. As in MXNet, what is in
        # the array now counts.
        storage = self.storage
        if isinstance(leaf, StorageTensor):
            leaf.stored = storage
        elif storage.dtype is not leaf.dtype and self.marking is not None:
            leaf.data.copy_(self.tensor)
        return leaf

    @property
    def is_recorded(self) -> bool:
        """Whether gradients flow to it: it has one, or was computed from arrays that have one.

        >>> import rebind as mx
        >>> x = mx.nd.ones((2,))
        >>> x.attach_grad()
        >>> with mx.autograd.record():
        ...     y = x * 2
        >>> y.is_recorded, y.detach().is_recorded
        (True, False)
        """
        storage = self.storage
        return self.leaf is not None or (isinstance(storage, DenseStorage) and storage.memory.requires_grad)

    def source(self) -> Tensor:
        """Return the tensor to compute from: while recording `recorded_tensor`, else the plain content.

        >>> import rebind as mx
        >>> x = mx.nd.ones((2,))
        >>> x.attach_grad()
        >>> with mx.autograd.record():
        ...     recorded = x.source()
        >>> recorded.requires_grad, x.source().requires_grad
        (True, False)
        """
        if mode.recording:
            return self.recorded_tensor
        tensor = self.tensor
        return tensor.detach() if tensor.requires_grad else tensor

    # Writing.

    def write(self, value: Tensor | ArrayBase) -> None:
        """Copy `value`, a tensor that may broadcast or an array of any storage, into this array.

        It is converted to this array's type, device and storage. While recording, a recorded value makes a dense array
        part of the record.

        Examples
        --------
        >>> import rebind as mx
        >>> total = mx.nd.zeros((2,))
        >>> total.write(mx.nd.array([1, 2]))
        >>> total.asnumpy().tolist()
        [1.0, 2.0]
        """
        written: tuple[ArrayBase, ...] = ()
        if isinstance(value, ArrayBase):
            # From storage to storage: a kind may do better than by way of a dense copy.
            if not (isinstance(value.storage, DenseStorage) or mode.recording):
                # The content changes, so that what computed it before is no longer its history.
                self._leave_record()
                self.storage.write(value.storage)
                return
            written = (value,)
            value = value.source()
        if not isinstance(self.storage, DenseStorage):
            self._write_non_dense(value)
            return
        recorded = mode.recording and value.requires_grad
        target = self.begin_write(recorded, of_all=True)
        before = is_grad_enabled()
        try:
            if before is not recorded:  # as `grad_mode` does, at a third of its cost
                set_grad_enabled(recorded)
            # Asked here, as each batch comes here: on the CPU there is nothing more to ask.
            if target.is_cuda:
                send(value, target)
            else:
                target.copy_(value)
        except RuntimeError:
            raise self._broadcast_error(value) from None
        finally:
            if before is not recorded:
                set_grad_enabled(before)
        if recorded:
            self.set_recorded(target, *written)
        elif mode.recording:
            self.note_written(*written)

    def _write_non_dense(self, value: Tensor) -> None:
        """Write a dense value into an array of another storage."""
        if mode.recording and value.requires_grad:
            raise StateError(
                f"NDArray: a recorded value cannot be written into an array of storage type {self.stype!r}; make a "
                "new array, or write under autograd.pause()"
            )
        self._leave_record()
        try:
            value = value.expand(self.shape)
        except RuntimeError:
            raise self._broadcast_error(value) from None
        self.storage.write(DenseStorage(value))

    def _broadcast_error(self, value: Tensor) -> ShapeError:
        return ShapeError(
            f"NDArray: a value must broadcast to shape {self.shape}; got shape {tuple(value.shape)}"
        )

    def write_unrecorded(self, value: Tensor | Storage) -> None:
        """Copy `value`, of the same shape, into the array outside of any record: auxiliary states, gradients.

        >>> import rebind as mx
        >>> mean = mx.nd.zeros((2,))
        >>> mean.write_unrecorded(torch.ones(2))
        >>> mean.asnumpy().tolist()
        [1.0, 1.0]
        """
        self.storage.write(as_storage(value) if isinstance(value, Tensor) else value)

    def accumulate(self, value: Tensor | ArrayBase) -> None:
        """Add `value`, of the same shape, in place and outside of any record: what ``grad_req='add'`` does.

        >>> import rebind as mx
        >>> grad = mx.nd.ones((2,))
        >>> grad.accumulate(mx.nd.array([1, 2]))
        >>> grad.asnumpy().tolist()
        [2.0, 3.0]
        """
        self.storage.accumulate(value.storage if isinstance(value, ArrayBase) else as_storage(value))

    def exchange(self, value: Tensor | Storage) -> None:
        """Take `value` as the new content, without a copy where no view of the old memory may exist.

        `value` must have the same shape and device, and nothing else may write into it.

        Examples
        --------
        >>> import rebind as mx
        >>> output, new = mx.nd.zeros((2,)), torch.ones(2)
        >>> output.exchange(new)
        >>> output.tensor is new
        True
        >>> row = output[0:1]  # a view: from now on the memory is the same
        >>> output.exchange(torch.zeros(2))
        >>> row.item()
        0.0
        """
        storage = self.storage
        if isinstance(value, StorageTensor):
            value = value.stored
        if isinstance(value, Tensor):
            if isinstance(storage, DenseStorage) and not storage.shared and value.dtype is storage.dtype:
                # Nothing else sees the old memory, so that taking the new tensor costs nothing.
                storage.tensor = value
            else:
                self.write(value)
        elif not storage.exchange(value):
            self._leave_record()
            storage.write(value)

    @property
    def is_shared(self) -> bool:
        """Whether a view of the memory may exist, so that it cannot be exchanged.

        >>> import rebind as mx
        >>> x = mx.nd.ones((2, 2))
        >>> before, row = x.is_shared, x[0]
        >>> before, x.is_shared
        (False, True)
        """
        return self.storage.shared

    def alias(self, tensor: Tensor) -> Self:
        """Return an array around a view of this array's memory; the memory is not exchanged from now on.

        >>> import rebind as mx
        >>> x = mx.nd.zeros((2, 2))
        >>> x.alias(x.tensor[0])[:] = 1
        >>> x.asnumpy().tolist()
        [[1.0, 1.0], [0.0, 0.0]]
        """
        made: Self = wrap_tensor(tensor, self.device)
        if isinstance(self.storage, DenseStorage):
            self.storage.shared = made.storage.shared = True
        return made

    def writable_tensor(self) -> Tensor:
        """Return the memory of a dense array, to write into; what a recorded operation computed is detached.

        Raises
        ------
        ArgumentError
            When the storage is not dense, and so has no single tensor to write into; use `write`.

        Examples
        --------
        >>> import rebind as mx
        >>> x = mx.nd.zeros((2,))
        >>> _ = x.writable_tensor().fill_(7)
        >>> x.asnumpy().tolist()
        [7.0, 7.0]
        """
        if not isinstance(self.storage, DenseStorage):
            raise ArgumentError(
                f"NDArray: an array of storage type {self.stype!r} has no dense memory to write into; use write()"
            )
        return self.begin_write(recorded=False)

    def begin_write(self, recorded: bool, of_all: bool = False) -> Tensor:
        """Return the memory to write into; if `recorded`, a tensor for `set_recorded`.

        For a write `of_all` values the memory need not be put in the order of the axes first.
        """
        self.history = None
        if mode.recording:
            self._leave_record()
        if self.marking is None:
            self.leaf = None  # that of a result of whole numbers
        # Dense: the callers have asked.
        storage: DenseStorage = self.storage  # type: ignore[assignment]
        if of_all and not recorded and storage.layout is not CONTIGUOUS and not storage.memory.requires_grad:
            return storage.memory
        tensor = self.tensor
        if recorded:
            return tensor.detach()
        if tensor.requires_grad:
            # The content was recorded; what is written now is a constant in the same memory.
            self.storage.tensor = tensor = tensor.detach()  # type: ignore[attr-defined]
        return tensor

    def set_recorded(self, target: Tensor, *values: ArrayBase) -> None:
        """Make `target`, which recorded `values` were written into, the content."""
        self.storage.tensor = target  # type: ignore[attr-defined]  # it is dense
        self.note_written(*values)
        self.history = self.history or opaque_node("writing into an array", ())

    def note_written(self, *values: ArrayBase) -> None:
        """Note that `values` were written into the array, if marked arrays are behind them."""
        source = opaque_node("writing into an array", values)
        if source[0].depends:
            self.history = source

    def _leave_record(self) -> None:
        """Forget how the array was computed, before a write; an error where gradients would be lost."""
        self.history = None
        if mode.recording and self.is_recorded:
            raise StateError(
                "NDArray: writing (x[...] = y, x += y, out=x) into an array that has a gradient or was computed while "
                "recording would lose gradients; make a new array (x = x + y), or write under autograd.pause()"
            )


def wrap(storage: Storage | Array, device: Device | None = None) -> Array:
    """Return an array of a storage, of the class that goes with its kind; an array is returned as it is.

    >>> wrap(DenseStorage(torch.ones(2))).device
    cpu(0)
    """
    if isinstance(storage, Storage):
        return storage.array_class(storage, device)  # type: ignore[return-value]  # set to NDArray, from above
    return storage


def wrap_tensor(tensor: Tensor, device: Device) -> Array:  # type: ignore[type-var]  # NDArray to callers
    """Return the dense array around a tensor: ``NDArray(tensor, device)`` at less cost, for operators' results.

    >>> wrap_tensor(torch.ones(2), Device("cpu", 1)).device
    cpu(1)
    """
    storage = _new(DenseStorage)
    storage.memory, storage.layout = tensor, CONTIGUOUS
    storage.shared = False
    made: Array = _new(Storage.array_class)  # type: ignore[assignment]
    made.storage = storage
    made.device = device
    made.leaf = made.history = made.marking = None
    return made
