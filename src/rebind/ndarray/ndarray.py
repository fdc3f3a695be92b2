"""`NDArray`: what users hold. Its operators are in `methods`, its content in `base`."""

from __future__ import annotations

import ctypes
import html
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
import torch
from numpy.typing import ArrayLike
from numpy.typing import DTypeLike as NumPyType
from torch import Tensor

from .. import dtypes
from ..absent import absent_function, old_names
from ..completion import hides
from ..device import Device, as_device
from ..dtypes import DTypeLike
from ..errors import ArgumentError, DeviceError, ParameterError, ShapeError
from ..observing import observed_array_call
from ..ops.storage_types import storage_number
from .arithmetic import BINARY, BinaryOperators, combine
from .base import ArrayBase, Scalar, wrap, wrap_tensor
from .calls import call
from .compute import invoke
from .gradients import GradReq, mark, run_backward
from .methods import OperatorMethods
from .numpy_like import Nested, run_on_arrays
from .reading import copied, is_scipy_matrix
from .sending import sent
from .storage import DenseStorage, Storage, storage_kind, storage_kind_by_number

if TYPE_CHECKING:
    from typing_extensions import CapsuleType

__all__ = ["BINARY", "BinaryOperators", "NDArray", "array", "call", "combine", "invoke"]


@hides(
    "accumulate alias begin_write exchange from_record history is_recorded is_shared leaf marking note_written "
    "recorded_tensor set_recorded source storage writable_tensor write write_unrecorded"
)
class NDArray(OperatorMethods):
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

    #: Reads an array from MXNet's bytes; set where the format of files is.
    from_record: ClassVar[Callable[[bytes | bytearray], NDArray]]

    @observed_array_call("copy")
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

    # Gradients.

    @property
    def grad(self) -> NDArray | Any:  # None before; a program asks after
        """The gradient, after `attach_grad()`.

        >>> import rebind as mx
        >>> x = mx.nd.ones((2,))
        >>> before = x.grad
        >>> x.attach_grad()
        >>> before, x.grad.asnumpy().tolist()
        (None, [0.0, 0.0])
        """
        return None if self.marking is None else self.marking.grad

    @property
    def _fresh_grad(self) -> bool:
        """Whether `backward` has written the gradient since this was last set to False (MXNet's name)."""
        return self.marking is not None and self.marking.fresh

    @_fresh_grad.setter
    def _fresh_grad(self, value: bool) -> None:
        if self.marking is not None:
            self.marking.fresh = bool(value)

    def attach_grad(self, grad_req: GradReq = "write", stype: str | None = None) -> None:
        """Allocate a gradient, which `backward` will write (or add) to; the array leaves its record.

        Parameters
        ----------
        grad_req
            ``'write'``, ``'add'`` or ``'null'``.
        stype
            The gradient's storage type; that of the array by default. Types without an implementation are dense.

        Examples
        --------
        >>> import rebind as mx
        >>> x = mx.nd.array([3])
        >>> x.attach_grad()
        >>> with mx.autograd.record():
        ...     y = x * x
        >>> y.backward()
        >>> x.grad.item()
        6.0
        """
        zeros: Storage = self.storage.zeros_like()
        if stype is not None:
            number = storage_number(stype, "NDArray.attach_grad: stype")
            # A type that is known by name only has a dense gradient.
            kind = storage_kind_by_number(number) or DenseStorage
            zeros = kind.from_storage(zeros)
        mark(self, wrap(zeros, self.device), grad_req)

    def backward(
        self, out_grad: ArrayBase | None = None, retain_graph: bool = False, train_mode: bool = True
    ) -> None:
        """Compute the gradients of all marked arrays that this one was computed from.

        Parameters
        ----------
        out_grad
            This array's own gradient; ones by default.
        retain_graph
            Whether to leave the record in memory, so that `backward` can be called again.
        train_mode
            Accepted; the mode is that of the recording.

        Examples
        --------
        >>> import rebind as mx
        >>> x = mx.nd.array([1, 2])
        >>> x.attach_grad()
        >>> with mx.autograd.record():
        ...     y = x * x
        >>> y.backward(mx.nd.array([1, 10]))
        >>> x.grad.asnumpy().tolist()
        [2.0, 40.0]
        """
        run_backward([self], None if out_grad is None else [out_grad], retain_graph)

    # For other libraries.

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        size = "x".join(map(str, self.shape))
        return f"\n{self.asnumpy()}\n<{type(self).__name__} {size} @{self.device}>"

    def _repr_html_(self) -> str:
        size = "×".join(map(str, self.shape))
        title = f"<b>{type(self).__name__}</b> {size} {dtypes.name(self.storage.dtype)} on {self.device}"
        return f"<div>{title}<pre>{html.escape(str(self.asnumpy()))}</pre></div>"

    def __bool__(self) -> bool:
        if self.size == 0:
            return False
        if self.size > 1:
            raise ShapeError(
                f"NDArray: the truth of {self.size} elements is ambiguous; use (a > 0).sum() or the like"
            )
        return bool(self.asscalar())

    def asnumpy(self) -> np.ndarray:
        """Return a copy as a NumPy array; bfloat16 becomes float32, which holds it exactly.

        >>> import rebind as mx
        >>> mx.nd.array([1, 2]).asnumpy()
        array([1., 2.], dtype=float32)
        """
        tensor = self.tensor.detach()
        # NumPy has no bfloat16.
        if tensor.dtype is torch.bfloat16:
            tensor = tensor.float()
        # A CPU tensor shares its memory with `numpy()`; MXNet always copies.
        return tensor.cpu().numpy().copy()

    def asscalar(self) -> Any:
        """Return the only element as a NumPy scalar.

        >>> import rebind as mx
        >>> float(mx.nd.array([[3]]).asscalar())
        3.0
        """
        if self.size != 1:
            raise ShapeError(f"NDArray.asscalar: the array must have one element; got shape {self.shape}")
        return self.asnumpy().reshape(-1)[0]

    def item(self) -> Scalar:
        """Return the only element as a Python number.

        >>> import rebind as mx
        >>> mx.nd.array([[3]], dtype="int32").item()
        3
        """
        return self.asscalar().item()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if not np.issubdtype(np.dtype(self.dtype), np.integer):
            raise ArgumentError(
                f"NDArray: only an array of a whole-number type is an index; got {self.dtype.__name__}"
            )
        return int(self.item())

    def __array__(self, dtype: NumPyType | None = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ParameterError(
                "NDArray: copy must not be False: NumPy gets a copy. To share memory use np.from_dlpack(array)."
            )
        values = self.asnumpy()
        return values if dtype is None else values.astype(dtype)

    def to_torch(self) -> Tensor:
        """Return the array's tensor; the two share memory from now on.

        >>> import rebind as mx
        >>> x = mx.nd.zeros((2,))
        >>> _ = x.to_torch().fill_(1)
        >>> x.asnumpy().tolist()
        [1.0, 1.0]
        """
        # From now on the memory must not be exchanged: somebody else sees it.
        self.storage.shared = True
        return self.tensor.detach()

    def __dlpack__(self, **keywords: Any) -> CapsuleType:
        return self.to_torch().__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.__dlpack_device__()

    @property
    def writable(self) -> bool:
        """Whether the array can be written to: every array can.

        >>> import rebind as mx
        >>> mx.nd.ones((2,)).writable
        True
        """
        return True

    def to_dlpack_for_read(self) -> CapsuleType:
        """Return a DLPack capsule that shares the memory.

        >>> import rebind as mx
        >>> x = mx.nd.zeros((2,))
        >>> _ = torch.from_dlpack(x.to_dlpack_for_read()).fill_(1)
        >>> x.asnumpy().tolist()
        [1.0, 1.0]
        """
        return torch.utils.dlpack.to_dlpack(self.to_torch())

    to_dlpack_for_write = to_dlpack_for_read

    def wait_to_read(self) -> None:
        """Wait until the array is computed."""
        if self.storage.device.type == "cuda":
            torch.cuda.synchronize(self.storage.device)

    wait_to_write = wait_to_read

    def tolist(self) -> Nested:
        """Return the elements as (nested) lists of Python numbers.

        >>> import rebind as mx
        >>> mx.nd.array([[1, 2], [3, 4]], dtype="int32").tolist()
        [[1, 2], [3, 4]]
        """
        return np.asarray(self).tolist()

    def __format__(self, spec: str) -> str:
        """Format each element: ``f"{x:.2f}"``; without a format as `str` does."""
        if not spec:
            return str(self)
        values = np.asarray(self)
        if values.size == 1:
            return format(values.item(), spec)

        def formatted(value: Any) -> str:
            return format(value.item(), spec)

        return np.array2string(values, formatter={"all": formatted})

    def __array_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object],
        kwargs: Mapping[str, object],
    ) -> object:
        """Run a function of NumPy on arrays.

        Some are the array's own method of that name, and return an array, as with MXNet: ``np.sum``. Where there is
        none that takes the call (``np.mean``), the function runs on copies as NumPy arrays.
        """
        return run_on_arrays(func, args, kwargs)

    # What old programs call.

    def as_np_ndarray(self) -> NoReturn:
        """Raise: the arrays of `mx.np` are not part of rebind. `asnumpy` gives a NumPy array."""
        absent_function("NDArray.as_np_ndarray", "Use asnumpy() for a NumPy array, or mx.nd.")()

    @property
    def handle(self) -> ctypes.c_void_p:
        """A number that tells this object from others while it lives; there is no C library to hand it to.

        >>> import rebind as mx
        >>> x = mx.nd.ones((2,))
        >>> x.handle.value == x.handle.value, x.handle.value == x.copy().handle.value
        (True, False)
        """
        return ctypes.c_void_p(id(self))

    def _full(self, value: float) -> NDArray:
        # A new array of the same kind.
        return self.alias(torch.full_like(self.tensor.detach(), value))

    def _sync_copyfrom(self, source_array: object) -> None:
        # From what NumPy takes for an array, of just this shape.
        source = np.ascontiguousarray(source_array)
        if source.shape != self.shape:
            raise ShapeError(
                f"NDArray._sync_copyfrom: the source must have shape {self.shape}; got {source.shape}"
            )
        self[:] = source


Storage.array_class = NDArray


def array(
    source_array: ArrayLike | Tensor | ArrayBase, ctx: Device | None = None, dtype: DTypeLike | None = None
) -> NDArray:
    """Return an array made from numbers, lists, a NumPy array, another NDArray or a sparse matrix of SciPy.

    It is dense, except that an array of another storage type is copied as it is, and SciPy's matrix becomes a csr one.

    Parameters
    ----------
    source_array
        What to copy.
    ctx
        The device; the current one by default.
    dtype
        The type; by default that of an NDArray or of SciPy's matrix, and float32 for everything else, as in MXNet.

    Examples
    --------
    >>> array([1, 2, 3]).dtype.__name__
    'float32'
    """
    device = as_device(ctx, "nd.array: ctx")
    storage = _sparse_source(source_array)
    if storage is None:
        return wrap_tensor(copied(source_array, device, dtype), device)
    wanted = storage.dtype if dtype is None else dtypes.torch_dtype(dtype, "nd.array: dtype")
    return wrap(storage.to(device.torch, wanted, copy=True), device)


def _sparse_source(value: object) -> Storage | None:
    """Return the storage of what is an array already, but no dense one; None for anything else."""
    if isinstance(value, ArrayBase):
        return None if isinstance(value.storage, DenseStorage) else value.storage
    if not is_scipy_matrix(value):
        return None
    # By name, since it is made of what is here.
    kind: Any = storage_kind("csr", "nd.array")
    return kind.from_scipy(value)


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
