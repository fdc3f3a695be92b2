"""`NDArray`: an array on a device, around one `torch.Tensor`."""

from __future__ import annotations

import contextlib
import functools
import operator as python_operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from .. import dtypes, shapes
from ..device import Device, as_device
from ..errors import ArgumentError, DTypeError, ParameterError, ShapeError, StateError
from ..grad_mode import grad_mode
from ..ops import Operator, find
from ..ops.frontend import bind_arguments, split_parameters
from ..ops.methods import FLUENT_METHODS
from ..ops.reshape import reshape_target
from ..params import Params
from . import indexing
from .compute import compute
from .history import Source, Step, remember
from .mode import mode

__all__ = ["SIGNS", "NDArray", "Sign", "array", "call", "combine", "invoke"]


class NDArray:
    """An array of numbers of one type on one device.

    Rows (``a[1:3]``, ``a[0]``) and ``a.reshape(...)`` share memory with the array; other selections, and whatever
    an operator returns, are copies. An array has at least one axis, and at least one element unless NumPy gave it
    none.

    Parameters
    ----------
    tensor
        The tensor to wrap; it is not copied.
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

    __slots__ = ("__weakref__", "_device", "_grad", "_grad_req", "_history", "_leaf", "_tensor", "_viewed")
    __array_priority__ = 1000.0
    __hash__ = object.__hash__

    def __init__(self, tensor: Tensor, device: Device | None = None) -> None:
        if not isinstance(tensor, Tensor):
            raise ArgumentError(f"NDArray: must be made from a torch.Tensor; got {tensor!r}. Use nd.array().")
        self._tensor = tensor
        self._device = device or _device_of(tensor)
        self._leaf: Tensor | None = None  # stands for this array in recorded operations, after attach_grad()
        self._grad: NDArray | None = None
        self._grad_req = "null"
        self._history: Source | None = None  # how it was computed while recording: `autograd.get_symbol`
        self._viewed = False  # whether somebody may hold a view of the memory: then it cannot be exchanged

    # ---- what it is --------------------------------------------------------------------------------------

    @property
    def tensor(self) -> Tensor:
        """The tensor behind the array at this moment; an executor may exchange that of its outputs."""
        return self._tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis."""
        return tuple(self._tensor.shape)

    @property
    def dtype(self) -> Any:
        """The type of the elements: a NumPy scalar type (torch.bfloat16 for bfloat16)."""
        return dtypes.numpy_type(self._tensor.dtype)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._tensor.numel()

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._tensor.ndim

    @property
    def device(self) -> Device:
        """The device that the array is on; `context` and `ctx` are older names."""
        return self._device

    context = ctx = device

    @property
    def stype(self) -> str:
        """The kind of storage: ``'default'`` is dense."""
        return "default"

    @property
    def T(self) -> NDArray:
        """A copy with the axes in reverse order."""
        return _invoke1("transpose", self)

    def __len__(self) -> int:
        return self._tensor.shape[0]

    def __repr__(self) -> str:
        size = "x".join(map(str, self.shape))
        return f"\n{self.asnumpy()}\n<{type(self).__name__} {size} @{self._device}>"

    def __bool__(self) -> bool:
        if self.size == 0:
            return False
        if self.size > 1:
            raise ShapeError(
                f"NDArray: the truth of {self.size} elements is ambiguous; use (a > 0).sum() or such"
            )
        return bool(self.asscalar())

    def __iter__(self) -> Iterator[NDArray]:
        return (self[i] for i in range(len(self)))

    # ---- to and from others ------------------------------------------------------------------------------

    def asnumpy(self) -> np.ndarray:
        """Return a copy as a NumPy array; bfloat16 becomes float32, which holds it exactly."""
        tensor = self._tensor.detach()
        if tensor.dtype is torch.bfloat16:
            tensor = tensor.float()
        return tensor.cpu().numpy().copy()

    def asscalar(self) -> Any:
        """Return the only element as a NumPy scalar."""
        if self.size != 1:
            raise ShapeError(f"NDArray.asscalar: the array must have one element; got shape {self.shape}")
        return self.asnumpy().reshape(-1)[0]

    def item(self) -> Any:
        """Return the only element as a Python number."""
        return self.asscalar().item()

    def __float__(self) -> float:
        return float(self.asscalar())

    def __int__(self) -> int:
        return int(self.asscalar())

    def __index__(self) -> int:
        if not np.issubdtype(np.dtype(self.dtype), np.integer):
            raise ArgumentError(
                f"NDArray: only an array of a whole-number type is an index; got {self.dtype.__name__}"
            )
        return int(self.asscalar())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ParameterError("NDArray: NumPy gets a copy; to share memory use np.from_dlpack(array)")
        found = self.asnumpy()
        return found if dtype is None else found.astype(dtype)

    def to_torch(self) -> Tensor:
        """Return the tensor behind the array; it shares memory with the array from now on."""
        self._viewed = True
        return self._tensor.detach()

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.to_torch().__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self._tensor.__dlpack_device__()

    def to_dlpack_for_read(self) -> Any:
        """Return a DLPack capsule that shares the memory."""
        return torch.utils.dlpack.to_dlpack(self.to_torch())

    to_dlpack_for_write = to_dlpack_for_read

    def __reduce__(self) -> tuple:
        return _unpickle, (self.asnumpy(), dtypes.name(self._tensor.dtype), self._device)

    def __copy__(self) -> NDArray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> NDArray:
        return self.copy()

    def copy(self) -> NDArray:
        """Return a copy on the same device."""
        return _invoke1("_copy", self)

    def copyto(self, other: NDArray | Device) -> NDArray:
        """Copy into `other`, converting to its type, or onto a device; return the array written."""
        if isinstance(other, Device):
            return NDArray(self._source().to(other.torch, copy=True), other)
        if not isinstance(other, NDArray):
            raise ArgumentError(f"NDArray.copyto: other must be an NDArray or a Device; got {other!r}")
        if other.shape != self.shape:
            raise ShapeError(f"NDArray.copyto: other must have shape {self.shape}; got {other.shape}")
        if other is not self:
            other._write(self._source())
        return other

    def as_in_context(self, context: Device) -> NDArray:
        """Return this array itself if it is on `context`, else a copy there."""
        if as_device(context, "NDArray.as_in_context") == self._device:
            return self
        return self.copyto(context)

    as_in_ctx = to_device = as_in_context

    def as_nd_ndarray(self) -> NDArray:
        """Return the array itself."""
        return self

    def astype(self, dtype: Any, copy: bool = True) -> NDArray:
        """Return the array converted to `dtype`; with ``copy=False`` itself when it is of that type."""
        wanted = dtypes.torch_dtype(dtype)
        if not copy and wanted is self._tensor.dtype:
            return self
        return _invoke1("Cast", self, dtype=wanted)

    def tostype(self, stype: str) -> NDArray:
        """Return the array in another kind of storage."""
        if stype == "default":
            return self
        raise ArgumentError(
            f"NDArray.tostype: stype must be 'default'; got {stype!r}. Sparse storage is not there yet."
        )

    def wait_to_read(self) -> None:
        """Wait until the array is computed."""
        if self._tensor.device.type == "cuda":
            torch.cuda.synchronize(self._tensor.device)

    wait_to_write = wait_to_read

    # ---- memory ------------------------------------------------------------------------------------------

    def _source(self) -> Tensor:
        """Return the tensor that others compute from: while recording the one that gradients go to."""
        tensor = self._tensor
        if mode.recording:
            return tensor if self._leaf is None else self._leaf
        return tensor.detach() if tensor.requires_grad else tensor

    def _write(self, value: Tensor) -> None:
        """Copy `value`, which may broadcast, into the memory; a recorded value makes the array part of the record."""
        recorded = mode.recording and value.requires_grad
        target = self._target(recorded)
        try:
            with grad_mode(recorded):
                target.copy_(value)
        except RuntimeError:
            raise ShapeError(
                f"NDArray: a value must broadcast to shape {self.shape}; got shape {tuple(value.shape)}"
            ) from None
        if recorded:
            self._tensor = target
            self._history = (Step(opaque="writing into an array"), 0)

    def _store(self, value: Tensor) -> None:
        """Copy `value`, of the same shape, into the memory, outside of any record."""
        with grad_mode(False):
            self._tensor.detach().copy_(value)

    def _exchange(self, value: Tensor) -> None:
        """Take `value` as the new content, without a copy when nobody holds a view of the old memory.

        `value` must have the same shape and device, and nobody else may write into it.
        """
        if self._viewed or value.dtype is not self._tensor.dtype:
            self._write(value)
        else:
            self._tensor = value

    def _plain(self) -> Tensor:
        """Return the tensor to write into; an array that a recorded operation made first leaves the record."""
        return self._target(recorded=False)

    def _target(self, recorded: bool) -> Tensor:
        """Return the tensor to write into; if `recorded`, one that can become part of the record."""
        tensor = self._tensor
        self._history = None
        if mode.recording and (tensor.requires_grad or self._leaf is not None):
            raise StateError(
                "NDArray: writing (x[...] = y, x += y, out=x) into an array that has a gradient or was computed while "
                "recording would lose gradients; make a new array (x = x + y), or write under autograd.pause()"
            )
        if recorded:
            return tensor.detach()
        if tensor.requires_grad:
            self._tensor = tensor = tensor.detach()
        return tensor

    def _alias(self, tensor: Tensor) -> NDArray:
        """Return an array around a view of this array's memory."""
        self._viewed = True
        alias = NDArray(tensor, self._device)
        alias._viewed = True
        return alias

    def detach(self) -> NDArray:
        """Return an array that shares the memory and takes no part in recorded operations."""
        return self._alias(self._tensor.detach())

    # ---- selections --------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> NDArray:
        """Select by ints, slices, None, ``...``, lists or arrays of indices, or a mask.

        What lies in one piece in memory shares it; everything else is a copy.
        """
        if isinstance(key, slice) and key == slice(None):
            return self
        key = indexing.torch_key(key, self._tensor.device)
        part = indexing.read(self._source(), key)
        if part.ndim == 0:
            part = part.reshape(1)
        if not indexing.is_basic(key):
            result = NDArray(part, self._device)
            if mode.recording:
                result._history = (Step(opaque="indexing with arrays (take and gather_nd are operators)"), 0)
            return result
        if part.is_contiguous() and part._is_view() and not mode.recording:
            return self._alias(part)
        result = NDArray(part.clone(memory_format=torch.contiguous_format), self._device)
        if mode.recording:
            self._remember_part(key, result)
        return result

    def _remember_part(self, key: Any, result: NDArray) -> None:
        """Note that `result` is a part of this array, as the operators `slice` and `Reshape` select it."""
        begin, end, step = indexing.bounds(key, self.shape)
        _remember("slice", self, result, begin=begin, end=end, step=step)
        if result.ndim != self.ndim:
            part = NDArray(result._tensor, self._device)
            part._history = result._history
            _remember("Reshape", part, result, shape=result.shape)

    def __setitem__(self, key: Any, value: Any) -> None:
        key = indexing.torch_key(key, self._tensor.device)
        if isinstance(value, (bool, int, float)):
            indexing.write(self._plain(), key, value)
            return
        source = self._to_write(value)
        recorded = mode.recording and source.requires_grad
        target = self._target(recorded)
        with torch.set_grad_enabled(recorded):
            indexing.write(target, key, source)
        if recorded:
            self._tensor = target
            self._history = (Step(opaque="writing into an array"), 0)

    def _to_write(self, value: Any) -> Tensor:
        """Return `value` in the type of this array, on its device, and not in its memory."""
        here = self._tensor
        if isinstance(value, NDArray):
            source = value._source()
            if source.untyped_storage().data_ptr() == here.untyped_storage().data_ptr():
                return source.clone()
        else:
            source = read_numbers(value, "NDArray: a value to write")
        return source.to(here.device, here.dtype)

    def split_v2(
        self, indices_or_sections: int | Sequence[int], axis: int = 0, squeeze_axis: bool = False
    ) -> NDArray | list[NDArray]:
        """Part the array into so many equal sections, or before each of some indices."""
        return _invoke1("_split_v2", self, **split_parameters(indices_or_sections, axis, squeeze_axis))

    def slice_assign(self, rhs: NDArray, begin: Any, end: Any, step: Any = None) -> NDArray:
        """Write `rhs` into the part between `begin` and `end`; return this array."""
        self[indexing.slices(begin, end, step)] = rhs
        return self

    def slice_assign_scalar(self, value: float, begin: Any, end: Any, step: Any = None) -> NDArray:
        """Write a number into the part between `begin` and `end`; return this array."""
        self[indexing.slices(begin, end, step)] = float(value)
        return self

    def slice(self, begin: Any, end: Any, step: Any = None) -> NDArray:
        """Return the part between `begin` and `end`, as the operator `slice` does."""
        return _invoke1("slice", self, begin=begin, end=end, **({} if step is None else {"step": step}))

    def reshape(self, *shape: Any, **keywords: Any) -> NDArray:
        """Return the array in another shape; it shares memory, as in MXNet.

        `shape` may hold the codes of the operator `Reshape`: 0 keeps a size, -1 follows from the rest, -2 takes
        all that remain, -3 joins two axes, -4 splits one.
        """
        if "shape" in keywords:
            shape = (keywords.pop("shape"),)
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
        reverse = bool(keywords.pop("reverse", False))
        if keywords:
            raise ArgumentError(f"NDArray.reshape: takes shape and reverse; got {', '.join(keywords)}")
        target = reshape_target(self.shape, tuple(python_operator.index(n) for n in shape), reverse)
        if mode.recording:
            result = NDArray(
                (self._tensor if self._leaf is None else self._leaf).reshape(target), self._device
            )
            _remember("Reshape", self, result, shape=target)
            return result
        return self._alias(self._tensor.reshape(target))

    def broadcast_to(self, shape: Any) -> NDArray:
        """Return a copy, broadcast to `shape`, which may have more axes in front."""
        target = shapes.as_shape(shape, "NDArray.broadcast_to: shape")
        missing = len(target) - self.ndim
        source = self.reshape((1,) * missing + self.shape) if missing > 0 else self
        return _invoke1("broadcast_to", source, shape=target)

    # ---- gradients ---------------------------------------------------------------------------------------

    @property
    def grad(self) -> NDArray | None:
        """The gradient, after `attach_grad()`."""
        return self._grad

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Make room for a gradient, which `backward` will write (or add) to; the array leaves its record."""
        self._mark(NDArray(torch.zeros_like(self._tensor, requires_grad=False), self._device), grad_req)

    def _mark(self, grad: NDArray | None, grad_req: str) -> None:
        if grad_req not in ("write", "add", "null"):
            raise ParameterError(f"NDArray: grad_req must be one of 'write', 'add', 'null'; got {grad_req!r}")
        if not self._tensor.dtype.is_floating_point and grad_req != "null":
            raise DTypeError(
                f"NDArray: only arrays of a float type have gradients; got {self.dtype.__name__}"
            )
        self._tensor = self._tensor.detach()
        self._grad, self._grad_req, self._leaf, self._history = grad, grad_req, None, None
        if grad_req == "null" or grad is None:
            return
        # `.data` has a version counter of its own: as in MXNet, backward reads what is in memory then.
        self._leaf = self._tensor.data.requires_grad_()

        def receive(leaf: Tensor) -> None:
            gradient, leaf.grad = leaf.grad, None
            if gradient is None:
                return
            if gradient._is_zerotensor():  # a zero of torch's without memory
                gradient = torch.zeros_like(leaf, requires_grad=False)
            if grad_req == "add":
                grad._store(grad._tensor + gradient)
            elif gradient.requires_grad:
                grad._tensor = gradient
            else:
                grad._exchange(gradient)

        self._leaf.register_post_accumulate_grad_hook(receive)

    def backward(
        self, out_grad: NDArray | None = None, retain_graph: bool = False, train_mode: bool = True
    ) -> None:
        """Compute the gradients of all marked arrays that this one was computed from."""
        run_backward([self], None if out_grad is None else [out_grad], retain_graph)

    # ---- arithmetic --------------------------------------------------------------------------------------

    def __neg__(self) -> NDArray:
        return _invoke1("negative", self)

    def __abs__(self) -> NDArray:
        return _invoke1("abs", self)

    def __iadd__(self, other: Any) -> NDArray:
        return self._in_place(self + other)

    def __isub__(self, other: Any) -> NDArray:
        return self._in_place(self - other)

    def __imul__(self, other: Any) -> NDArray:
        return self._in_place(self * other)

    def __itruediv__(self, other: Any) -> NDArray:
        return self._in_place(self / other)

    def __imod__(self, other: Any) -> NDArray:
        return self._in_place(self % other)

    def _in_place(self, result: NDArray) -> NDArray:
        self._write(result._tensor)
        return self


def run_backward(
    heads: Sequence[NDArray], head_grads: Sequence[NDArray | None] | None, retain_graph: bool
) -> None:
    """Run backward from `heads`; without gradients for them, ones."""
    head_grads = [None] * len(heads) if head_grads is None else head_grads
    if len(head_grads) != len(heads):
        raise ArgumentError(
            f"backward: needs as many head gradients as heads, {len(heads)}; got {len(head_grads)}"
        )
    tensors, gradients = [], []
    for head, gradient in zip(heads, head_grads, strict=True):
        tensor = head._tensor if head._leaf is None else head._leaf
        if not tensor.requires_grad:
            raise StateError("backward: the array was not computed from marked arrays while recording")
        tensors.append(tensor)
        gradients.append(torch.ones_like(tensor) if gradient is None else head_gradient(tensor, gradient))
    with again_is_an_error():
        torch.autograd.backward(tensors, gradients, retain_graph=retain_graph)


def head_gradient(head: Tensor, gradient: NDArray) -> Tensor:
    """Return the tensor of a gradient for `head`; ShapeError when it has another shape."""
    if not isinstance(gradient, NDArray):
        raise ArgumentError(f"backward: a head gradient must be an NDArray or None; got {gradient!r}")
    if gradient._tensor.shape != head.shape:
        raise ShapeError(
            f"backward: a head gradient must have shape {tuple(head.shape)}; got {gradient.shape}"
        )
    return gradient._tensor.detach()


@contextlib.contextmanager
def again_is_an_error() -> Iterator[None]:
    """Say what to do when torch finds that a record was used up by an earlier backward."""
    try:
        yield
    except RuntimeError as error:
        if "second time" not in str(error):
            raise
        raise StateError(
            "backward: what was recorded is freed by the first backward; call it with retain_graph=True to do it again"
        ) from None


def invoke(
    op: Operator,
    arrays: Sequence[NDArray | None],
    p: Params,
    out: NDArray | Sequence[NDArray] | None = None,
    device: Device | None = None,
) -> Any:
    """Run `op` with parsed parameters; return its visible outputs, an array or a list, or `out` filled."""
    if out is not None:
        targets = [out] if isinstance(out, NDArray) else list(out)
        # What is recorded needs results of its own; what writes its states is never recorded.
        if op.writes_over and (op.writes_aux or not mode.recording):
            kernel = op.kernel_over(arrays, targets, p)
            if kernel is not None:
                for target in targets:
                    target._plain()
                compute(op, arrays, p, device, kernel)
                return out
    results, device = compute(op, arrays, p, device)
    if out is not None:
        if len(targets) != len(results):
            raise ArgumentError(f"{op.name}: out must hold {len(results)} arrays; got {len(targets)}")
        for target, value in zip(targets, results, strict=True):
            if target._tensor.shape != value.shape:
                raise ShapeError(f"{op.name}: out must have shape {tuple(value.shape)}; got {target.shape}")
            target._write(value)
        return out
    if len(results) == 1 and not mode.recording:
        return NDArray(results[0], device)
    made = [NDArray(value, device) for value in results]
    if mode.recording:
        remember(op, p, arrays, made)
    return made[0] if len(made) == 1 else made


def call(op: Operator, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Run a call of ``nd.X(*args, **kwargs)``."""
    out = device = None
    if kwargs:
        out = kwargs.pop("out", None)
        kwargs.pop("name", None)
        if "ctx" in op.parameters and isinstance(kwargs.get("ctx"), Device):
            device = kwargs.pop("ctx")
    if op.depends_on_parameters:
        op = op.resolved({key: value for key, value in kwargs.items() if not isinstance(value, NDArray)})
    inputs, given = bind_arguments(op, args, kwargs, NDArray)
    if op.count and given.get(op.count) is None:
        given[op.count] = len(inputs)
    p = op.parse(given)
    if not op.variadic:
        skip = op.skip
        for i, value in enumerate(inputs):
            if value is None:
                if skip is None or not skip(op.input_names[i], p):
                    raise ArgumentError(f"{op.name}: needs the array {op.input_names[i]!r}; it is missing")
            elif skip is not None and skip(op.input_names[i], p):
                inputs[i] = None
    return invoke(op, inputs, p, out, device)


def array(source_array: Any, ctx: Device | None = None, dtype: Any = None) -> NDArray:
    """Return an array made from numbers, lists, a NumPy array, or another NDArray.

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
    if isinstance(source_array, (NDArray, Tensor)):
        tensor = source_array.detach()._tensor if isinstance(source_array, NDArray) else source_array.detach()
        wanted = tensor.dtype if dtype is None else dtypes.torch_dtype(dtype)
        return NDArray(tensor.to(device.torch, wanted, copy=True), device)
    wanted = torch.float32 if dtype is None else dtypes.torch_dtype(dtype)
    values = read_numbers(source_array, "nd.array: source_array")
    if values.ndim == 0 and not mode.numpy_shapes:
        values = values.reshape(1)
    return NDArray(values.to(device.torch, wanted, copy=True), device)


def read_numbers(source: Any, who: str) -> Tensor:
    """Return numbers, lists or NumPy arrays as a tensor, which may share memory; it is for reading only."""
    try:
        values = np.asarray(source)
        plain = values.flags.writeable and values.dtype.isnative and min(values.strides, default=0) >= 0
        return torch.as_tensor(values if plain else values.astype(values.dtype.newbyteorder("=")))
    except (TypeError, ValueError):
        raise ArgumentError(f"{who} must be numbers in a regular shape; got {source!r}") from None


def _device_of(tensor: Tensor) -> Device:
    return Device("gpu", tensor.device.index or 0) if tensor.device.type == "cuda" else Device("cpu", 0)


def _unpickle(values: np.ndarray, dtype: str, device: Device) -> NDArray:
    if device.torch.type == "cuda" and device.device_id >= torch.cuda.device_count():
        device = Device("cpu", 0)  # a pickle from a machine with a GPU goes on where there is none
    return array(values, device, dtype)


def _remember(name: str, source: NDArray, result: NDArray, **given: Any) -> None:
    op = find(name)
    remember(op, op.parse(given), (source,), (result,))


def _invoke1(name: str, *arrays: NDArray, **given: Any) -> Any:
    op = find(name)
    return invoke(op, arrays, op.parse(given))


class Sign(NamedTuple):
    """The operators behind a sign: for two arrays, an array and a number, and the number on the left."""

    pair: Operator
    scalar: Operator
    reverse: Operator | None


def _sign(pair: str, scalar: str, reverse: str | None) -> Sign:
    return Sign(find(pair), find(scalar), None if reverse is None else find(reverse))


SIGNS = {
    "add": _sign("broadcast_add", "_plus_scalar", "_plus_scalar"),
    "sub": _sign("broadcast_sub", "_minus_scalar", "_rminus_scalar"),
    "mul": _sign("broadcast_mul", "_mul_scalar", "_mul_scalar"),
    "truediv": _sign("broadcast_div", "_div_scalar", "_rdiv_scalar"),
    "mod": _sign("broadcast_mod", "_mod_scalar", "_rmod_scalar"),
    "pow": _sign("broadcast_power", "_power_scalar", "_rpower_scalar"),
    "eq": _sign("broadcast_equal", "_equal_scalar", None),
    "ne": _sign("broadcast_not_equal", "_not_equal_scalar", None),
    "gt": _sign("broadcast_greater", "_greater_scalar", None),
    "ge": _sign("broadcast_greater_equal", "_greater_equal_scalar", None),
    "lt": _sign("broadcast_lesser", "_lesser_scalar", None),
    "le": _sign("broadcast_lesser_equal", "_lesser_equal_scalar", None),
}
_NO_PARAMS = Params()


def combine(sign: Sign, left: Any, right: Any) -> Any:
    """Return a sign applied to two arrays, or to an array and a number; NotImplemented for anything else."""
    if isinstance(left, NDArray):
        if isinstance(right, NDArray):
            return invoke(sign.pair, (left, right), _NO_PARAMS)
        array_, number, op = left, right, sign.scalar
    elif sign.reverse is not None:
        array_, number, op = right, left, sign.reverse
    else:
        return NotImplemented
    if isinstance(number, np.ndarray) and number.ndim:
        other = array(number, array_._device, array_._tensor.dtype)
        return combine(sign, array_, other) if array_ is left else combine(sign, other, array_)
    if isinstance(number, np.ndarray):
        number = number.item()
    if not isinstance(number, (int, float, np.number, np.bool_)):
        return NotImplemented
    return invoke(op, (array_,), op.parse({"scalar": number}))


def _forward(sign: Sign) -> Callable[[NDArray, Any], Any]:
    return lambda self, other: combine(sign, self, other)


def _reflected(sign: Sign) -> Callable[[NDArray, Any], Any]:
    return lambda self, other: combine(sign, other, self)


for _name, _operators in SIGNS.items():
    setattr(NDArray, f"__{_name}__", _forward(_operators))
    if _operators.reverse is not None:
        setattr(NDArray, f"__r{_name}__", _reflected(_operators))


def _method(op: Operator, name: str) -> Callable[..., Any]:
    def method(self: NDArray, *args: Any, **kwargs: Any) -> Any:
        return call(op, (self, *args), kwargs)

    functools.update_wrapper(method, op.function)
    method.__name__, method.__qualname__ = name, f"NDArray.{name}"
    return method


for _name in FLUENT_METHODS:
    if _name not in vars(NDArray):
        setattr(NDArray, _name, _method(find(_name), _name))
