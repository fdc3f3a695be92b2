"""`NDArray`: what users hold. Its methods come from `conversion`, `selection`, `arithmetic` and `gradients`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from .. import dtypes
from ..absent import old_names
from ..device import Device, as_device
from ..dtypes import DTypeLike
from ..errors import ArgumentError, DeviceError, ShapeError
from ..mode import mode
from .arithmetic import BINARY, Arithmetic, BinaryOperators, combine
from .base import ArrayBase, wrap, wrap_tensor
from .calls import call, invoke_by_name
from .conversion import Conversions
from .gradients import Gradients
from .invoke import invoke
from .methods import OperatorMethods
from .numpy_like import NumPyLike
from .old_methods import OldMethods
from .reading import copied
from .sending import sent
from .storage import DenseStorage, Storage, convert, storage_kind

__all__ = ["BINARY", "BinaryOperators", "NDArray", "array", "call", "combine", "invoke"]


class NDArray(Conversions, OldMethods, Arithmetic, NumPyLike, Gradients, OperatorMethods):
    """An array of numbers of one type on one device.

    Rows (``a[1:3]``, ``a[0]``) and ``a.reshape(...)`` share memory with the array; other selections, and whatever
    an operator returns, are copies. An array has at least one axis, and at least one element unless NumPy gave it
    none. Its `storage` holds the values; operators that have no kernel for a storage compute on a dense copy.

    Parameters
    ----------
    tensor
        The tensor to wrap, which is not copied, or a storage of any kind.
    device
        The device that it is on; by default the first of its kind.

    Examples
    --------
    >>> import rebind as mx
    >>> a = mx.nd.array([[1, 2], [3, 4]])
    >>> row = a[1]
    >>> row[:] = 0
    >>> a
    <BLANKLINE>
    [[1. 2.]
     [0. 0.]]
    <NDArray 2x2 @cpu(0)>
    """

    __slots__ = ()
    # With a priority above its own, NumPy leaves ``ndarray + NDArray`` to `__radd__`.
    __array_priority__ = 1000.0

    @property
    def T(self) -> NDArray:
        """A copy with the axes in reverse order.

        >>> import rebind as mx
        >>> mx.nd.ones((2, 3)).T.shape
        (3, 2)
        """
        return invoke_by_name("transpose", self)

    def detach(self) -> NDArray:
        """Return an array on the same memory that is not recorded: no gradient passes through it.

        >>> import rebind as mx
        >>> x = mx.nd.array([3])
        >>> x.attach_grad()
        >>> with mx.autograd.record():
        ...     y = x * x.detach()
        >>> y.backward()
        >>> x.grad.item()
        3.0
        """
        if not isinstance(self.storage, DenseStorage):
            return wrap(self.storage, self.device)
        return self.alias(self.tensor.detach())

    def copy(self) -> NDArray:
        """Return a copy on the same device.

        >>> import rebind as mx
        >>> x = mx.nd.ones((2,))
        >>> x.copy()[:] = 5
        >>> x.asnumpy().tolist()
        [1.0, 1.0]
        """
        storage = self.storage
        if isinstance(storage, DenseStorage) and not mode.recording and not storage.memory.requires_grad:
            tensor = storage.memory
            in_order = tensor.contiguous()
            return wrap_tensor(tensor.clone() if in_order is tensor else in_order, self.device)
        if self._is_for_storage():
            return wrap(self.storage.copy(), self.device)
        return invoke_by_name("_copy", self)

    def __copy__(self) -> NDArray:
        return self.copy()

    #: Reads an array from MXNet's bytes; set where the format of files is.
    from_record: ClassVar[Callable[[bytes | bytearray], NDArray]]

    def __deepcopy__(self, memo: dict[int, object]) -> NDArray:
        return self.copy()

    def _is_for_storage(self) -> bool:
        """Whether its storage copies and converts it, not an operator: it is not dense, and no gradient has to pass."""
        return not isinstance(self.storage, DenseStorage) and not (mode.recording and self.is_recorded)

    def copyto(self, other: NDArray | Device | str) -> NDArray:
        """Copy into `other`, converting to its type and storage, or onto a device; return the array written.

        >>> import rebind as mx
        >>> mx.nd.ones((2,)).copyto(mx.nd.zeros((2,), dtype="int32")).asnumpy()
        array([1, 1], dtype=int32)
        """
        if isinstance(other, str):
            other = as_device(other, "NDArray.copyto: other")
        if isinstance(other, Device):
            # From storage to storage where nothing is recorded, else as torch's operation.
            if self._is_for_storage():
                return wrap(self.storage.to(other.torch, copy=True), other)
            return NDArray(sent(self.source(), other.torch, copy=True), other)
        if not isinstance(other, NDArray):
            raise ArgumentError(f"NDArray.copyto: other must be an NDArray or a Device; got {other!r}")
        if other.shape != self.shape:
            raise ShapeError(f"NDArray.copyto: other must have shape {self.shape}; got {other.shape}")
        if other is not self:
            other.write(self)
        return other

    def as_in_context(self, context: Device) -> NDArray:
        """Return this array itself if it is on `context`, else a copy there.

        >>> import rebind as mx
        >>> x = mx.nd.ones((2,), mx.cpu(0))
        >>> x.as_in_context(mx.cpu(1)).device, x.as_in_context(mx.cpu(0)) is x
        (cpu(1), True)
        """
        device = as_device(context, "NDArray.as_in_context: context")
        return self if device == self.device else self.copyto(device)

    as_in_ctx = to_device = as_in_context

    def as_nd_ndarray(self) -> NDArray:
        """Return the array itself."""
        return self

    def astype(self, dtype: DTypeLike, copy: bool = True) -> NDArray:
        """Return the array converted to `dtype`; with ``copy=False`` itself when it is of that type.

        >>> import rebind as mx
        >>> mx.nd.array([1.7]).astype("int32").asnumpy()
        array([1], dtype=int32)
        """
        wanted = dtypes.torch_dtype("float32" if dtype is None else dtype, "NDArray.astype: dtype")
        if not copy and wanted is self.storage.dtype:
            return self
        if self._is_for_storage():
            return wrap(self.storage.to(dtype=wanted, copy=True), self.device)
        return invoke_by_name("Cast", self, dtype=wanted)

    def tostype(self, stype: str) -> NDArray:
        """Return the array in another storage type; itself if it is of that type.

        >>> import rebind as mx
        >>> mx.nd.ones((2,)).tostype("default").stype
        'default'
        """
        if stype == self.stype:
            return self
        storage_kind(stype, "NDArray.tostype: stype")
        # By an operator, since only that is recorded.
        if stype == "default" and mode.recording and self.is_recorded:
            return invoke_by_name("_copy", self)
        return wrap(convert(self.storage, stype).to(copy=True), self.device)

    def __setstate__(self, state: Mapping[str, bytes | bytearray | None]) -> None:
        """Take the content from a pickle of MXNet's: ``{'handle': bytes}``.

        >>> import rebind as mx
        >>> x = mx.nd.zeros((2,))
        >>> x.__setstate__({"handle": None})  # an array without content, as MXNet pickles it
        >>> x.shape
        (0,)
        """
        record = state["handle"]
        read = type(self).from_record(bytearray(record)) if record is not None else NDArray(torch.empty(0))
        self.storage, self.device = read.storage, read.device
        self.leaf = self.history = self.marking = None

    def __reduce__(self) -> tuple[Callable[..., NDArray], tuple[object, ...]]:
        if isinstance(self.storage, DenseStorage):
            # As NumPy arrays, so that a pickle does not depend on the version of torch.
            return _unpickle, (self.asnumpy(), dtypes.name(self.storage.dtype), self.device)
        members = [NDArray(tensor) for tensor in self.storage.tensors.values()]
        return _unpickle_stored, (self.stype, self.shape, members, self.device)


Storage.array_class = NDArray


def array(
    source_array: ArrayLike | Tensor | ArrayBase, ctx: Device | None = None, dtype: DTypeLike | None = None
) -> NDArray:
    """Return a dense array made from numbers, lists, a NumPy array, or another NDArray.

    Parameters
    ----------
    source_array
        What to copy.
    ctx
        The device; the current one by default.
    dtype
        The type; by default that of an NDArray, and float32 for everything else, as in MXNet.

    Examples
    --------
    >>> array([1, 2, 3]).dtype.__name__
    'float32'
    """
    device = as_device(ctx, "nd.array: ctx")
    return wrap_tensor(copied(source_array, device, dtype), device)


def _available(device: Device) -> Device:
    """Return the device, or the CPU where this machine lacks it: a pickle may come from a machine with a GPU."""
    try:
        _ = device.torch
    except DeviceError:
        return Device("cpu", 0)
    return device


def _unpickle(values: np.ndarray, dtype: str, device: Device) -> NDArray:
    return array(values, _available(device), dtype)


def _unpickle_stored(
    stype: str, shape: tuple[int, ...], members: Sequence[NDArray], device: Device
) -> NDArray:
    device = _available(device)
    tensors: list[Tensor] = [sent(member.tensor, device.torch) for member in members]
    return wrap(storage_kind(stype, "pickle: stype").from_members(shape, tensors), device)


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
