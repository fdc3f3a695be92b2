"""Operators as methods of arrays: ``x + y``, ``x[0]``, ``x.reshape(...)``, ``x.sum(axis=1)`` is ``nd.sum(x, axis=1)``.

The methods that are made from the table of operators are declared in ``fluent.pyi``, which `make stubs` writes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from numpy.typing import ArrayLike

from .. import dtypes, shapes
from ..dtypes import DTypeLike
from ..errors import BoundsError, ShapeError
from ..mode import mode
from ..observing import observed_array_call, observing
from ..ops import Operator, find
from ..ops.frontend import split_parameters
from ..ops.methods import FLUENT_METHODS
from ..ops.python_operators import binary_methods
from . import indexing
from .arithmetic import BINARY, Operand, add_to, combine, floor_quotient, matrix_product
from .base import ArrayBase, wrap, wrap_tensor
from .calls import call, invoke_by_name, make_caller
from .fluent import FluentMethods
from .history import opaque_node
from .indexing import Bounds, Key
from .selection import assign, reshaped, select
from .storage import DenseStorage, convert, storage_kind

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["OperatorMethods"]


class OperatorMethods(FluentMethods):
    """Python's operators, selections, other shapes, and a method for each operator of `FLUENT_METHODS`."""

    __slots__ = ()
    # ``x == y`` is element by element and says nothing of identity, by which arrays are hashed.
    __hash__ = object.__hash__

    if TYPE_CHECKING:  # set below

        def _binary(self, other: Operand, /) -> Self: ...

        __add__ = __sub__ = __mul__ = __truediv__ = __mod__ = __pow__ = _binary
        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rmod__ = __rpow__ = _binary
        __gt__ = __ge__ = __lt__ = __le__ = _binary
        __eq__ = __ne__ = _binary  # type: ignore[assignment]  # element by element, unlike object's

    def __neg__(self) -> Self:
        return invoke_by_name("negative", self)

    def __abs__(self) -> Self:
        return invoke_by_name("abs", self)

    def __iadd__(self, other: Operand) -> Self:
        # The most frequent one, of sums over batches and gradients that are collected, needs no other memory.
        return self if add_to(self, other) else self._in_place(self + other)

    def __isub__(self, other: Operand) -> Self:
        return self._in_place(self - other)

    def __imul__(self, other: Operand) -> Self:
        return self._in_place(self * other)

    def __itruediv__(self, other: Operand) -> Self:
        return self._in_place(self / other)

    def __imod__(self, other: Operand) -> Self:
        return self._in_place(self % other)

    def _in_place(self, result: ArrayBase) -> Self:
        self.write(result)
        return self

    def __matmul__(self, other: Operand) -> Self:
        return matrix_product(self, other)

    def __rmatmul__(self, other: Operand) -> Self:
        return matrix_product(other, self)

    def __floordiv__(self, other: Operand) -> Self:
        return floor_quotient(self, other)

    def __rfloordiv__(self, other: Operand) -> Self:
        return floor_quotient(other, self)

    def __round__(self, ndigits: int | None = None) -> Self:
        """Round to decimals, halves to the even digit as Python does; the method `round` takes them away from 0."""
        tensor = self.tensor.detach()
        wide = tensor if tensor.is_floating_point() else tensor.to(dtype=torch.float64)
        result: Self = wrap_tensor(
            torch.round(wide, decimals=ndigits or 0).to(dtype=tensor.dtype), self.device
        )
        if mode.recording:
            result.history = opaque_node("round()", [self])
        return result

    # Copies, and conversions to types and storages.

    @observed_array_call("copy")
    def copy(self) -> Self:
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

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.copy()

    def _is_for_storage(self) -> bool:
        """Whether its storage copies and converts it, not an operator: it is not dense, and no gradient has to pass."""
        return not isinstance(self.storage, DenseStorage) and not (mode.recording and self.is_recorded)

    def astype(self, dtype: DTypeLike, copy: bool = True) -> Self:
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

    @observed_array_call("convert")
    def tostype(self, stype: str) -> Self:
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

    # Selections, which share memory where they can.

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(self.shape[0]))

    def __getitem__(self, key: Key) -> Self:
        """Select by ints, slices, None, ``...``, lists or arrays of indices, or a mask.

        What is contiguous in memory shares it; everything else is a copy.
        """
        if observing.array_calls is not None:
            selected: Self = observing.array_calls("select", select)(self, key)
            return selected
        return select(self, key)

    def __setitem__(self, key: Key, value: ArrayBase | ArrayLike | float) -> None:
        if observing.array_calls is not None:
            observing.array_calls("assign", assign)(self, key, value)
        else:
            assign(self, key, value)

    def split_v2(
        self, indices_or_sections: int | Sequence[int], axis: int = 0, squeeze_axis: bool = False
    ) -> Self | list[Self]:
        """Split the array into a number of equal sections, or before each of some indices.

        >>> import rebind as mx
        >>> [each.asnumpy().tolist() for each in mx.nd.arange(4).split_v2((1, 3))]
        [[0.0], [1.0, 2.0], [3.0]]
        """
        return invoke_by_name("_split_v2", self, **split_parameters(indices_or_sections, axis, squeeze_axis))

    def slice_assign(self, rhs: ArrayBase, begin: Bounds, end: Bounds, step: Bounds | None = None) -> Self:
        """Write `rhs` into the slice from `begin` to `end`; return this array.

        >>> import rebind as mx
        >>> mx.nd.zeros((4,)).slice_assign(mx.nd.ones((2,)), begin=(1,), end=(3,)).asnumpy().tolist()
        [0.0, 1.0, 1.0, 0.0]
        """
        self[indexing.slices(begin, end, step)] = rhs
        return self

    def slice_assign_scalar(
        self, value: float, begin: Bounds, end: Bounds, step: Bounds | None = None
    ) -> Self:
        """Write a number into the slice from `begin` to `end`; return this array.

        >>> import rebind as mx
        >>> mx.nd.zeros((4,)).slice_assign_scalar(7, begin=(1,), end=(3,)).asnumpy().tolist()
        [0.0, 7.0, 7.0, 0.0]
        """
        self[indexing.slices(begin, end, step)] = float(value)
        return self

    def slice(self, begin: Bounds, end: Bounds, step: Bounds | None = None) -> Self:
        """Return the slice from `begin` to `end`, as the operator `slice` does.

        >>> import rebind as mx
        >>> mx.nd.arange(6).slice(begin=(1,), end=(6,), step=(2,)).asnumpy().tolist()
        [1.0, 3.0, 5.0]
        """
        return invoke_by_name("slice", self, begin=begin, end=end, **({} if step is None else {"step": step}))

    def _at(self, idx: int) -> Self:
        # A row, on the same memory.
        length = self.shape[0]
        if not -length <= idx < length:
            raise BoundsError(f"NDArray: index {idx} must be within the first axis, of size {length}")
        return self[idx]

    def _slice(self, start: int | None, stop: int | None) -> Self:
        # Rows, on the same memory.
        return self[start:stop]

    # Other shapes.

    def reshape(self, *shape: int | Sequence[int], **keywords: Any) -> Self:
        """Return the array in another shape; it shares memory, as in MXNet.

        `shape` may hold the codes of the operator `Reshape`: 0 leaves a size as it is, -1 follows from the rest,
        -2 takes all that remain, -3 joins two axes, -4 splits one.

        >>> import rebind as mx
        >>> mx.nd.zeros((2, 3, 4)).reshape(0, -1).shape
        (2, 12)
        """
        return reshaped(self, shape, keywords)

    def flatten(self, inplace: bool = False) -> Self:
        """Return the array as rows, with all axes but the first one joined; with `inplace` they share memory.

        >>> import rebind as mx
        >>> x = mx.nd.zeros((2, 3, 4))
        >>> x.flatten(inplace=True)[:] = 1
        >>> x.sum().item(), x.flatten().shape
        (24.0, (2, 12))
        """
        if inplace:
            return self.reshape((self.shape[0], shapes.size(self.shape[1:])))
        return call(find("Flatten"), (self,), {}, "flatten")

    def expand_dims(self, axis: int, inplace: bool = False, **keywords: Any) -> Self:
        """Return the array with a further axis of size 1 at `axis`; with `inplace` they share memory.

        >>> import rebind as mx
        >>> x = mx.nd.zeros((2, 3))
        >>> x.expand_dims(0, inplace=True)[:] = 1
        >>> x.sum().item(), x.expand_dims(-1).shape
        (6.0, (2, 3, 1))
        """
        if not inplace:
            return call(find("expand_dims"), (self,), {"axis": axis, **keywords}, "expand_dims")
        at = shapes.normalize_axis(axis, self.ndim + 1, "NDArray.expand_dims: axis")
        return self.reshape((*self.shape[:at], 1, *self.shape[at:]))

    def squeeze(
        self, axis: int | Sequence[int] | None = None, inplace: bool = False, **keywords: Any
    ) -> Self:
        """Return the array without axes of size 1, all of them or those in `axis`; with `inplace` they share memory.

        >>> import rebind as mx
        >>> x = mx.nd.zeros((1, 2, 1))
        >>> x.squeeze(inplace=True)[:] = 1
        >>> x.sum().item(), x.squeeze(axis=0).shape
        (2.0, (2, 1))
        """
        if not inplace:
            return call(find("squeeze"), (self,), {"axis": axis, **keywords}, "squeeze")
        chosen = range(self.ndim) if axis is None else shapes.as_shape(axis, "axis", least=-self.ndim)
        dropped = {shapes.normalize_axis(n, self.ndim, "NDArray.squeeze: axis") for n in chosen}
        if axis is None:
            dropped = {n for n in dropped if self.shape[n] == 1}
        elif any(self.shape[n] != 1 for n in dropped):
            raise ShapeError(
                f"NDArray.squeeze: axis must name axes of size 1; got {axis} for shape {self.shape}"
            )
        # An array has at least one axis.
        return self.reshape(tuple(n for i, n in enumerate(self.shape) if i not in dropped) or (1,))

    def broadcast_to(self, shape: int | Sequence[int]) -> Self:
        """Return a copy, broadcast to `shape`, which may have more axes in front.

        >>> import rebind as mx
        >>> mx.nd.ones((3,)).broadcast_to((2, 3)).shape
        (2, 3)
        """
        target = shapes.as_shape(shape, "NDArray.broadcast_to: shape")
        # MXNet's operator, unlike torch, wants as many axes as the target has.
        missing = len(target) - self.ndim
        source = self.reshape((1,) * missing + self.shape) if missing > 0 else self
        return invoke_by_name("broadcast_to", source, shape=target)

    @property
    def T(self) -> Self:
        """A copy with the axes in reverse order.

        >>> import rebind as mx
        >>> mx.nd.ones((2, 3)).T.shape
        (3, 2)
        """
        return invoke_by_name("transpose", self)

    # Statistics, as NumPy has them.

    def var(
        self,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        ddof: int = 0,
        keepdims: bool = False,
    ) -> Self:
        """Return the variance along axes, or of all elements, as NumPy does; of whole numbers in float32.

        Parameters
        ----------
        axis
            The axes; all without it.
        dtype
            The type to compute in; by default that of the array.
        ddof
            What the number of elements is lessened by in the divisor: 1 for the estimate from a sample.
        keepdims
            Whether the axes remain, with size 1.

        Examples
        --------
        >>> import rebind as mx
        >>> mx.nd.array([[1, 3], [5, 9]]).var(axis=1).asnumpy()
        array([1., 4.], dtype=float32)
        """
        given: Any = self
        if dtype is not None or not self.storage.dtype.is_floating_point:
            given = invoke_by_name("Cast", self, dtype=dtypes.torch_dtype(dtype or "float32"))
        axes = {} if axis is None else {"axis": axis}
        centered = given - invoke_by_name("mean", given, keepdims=True, **axes)
        variance = invoke_by_name("mean", centered * centered, keepdims=keepdims, **axes)
        # How many numbers each mean is of.
        count = self.size // max(variance.size, 1)
        return variance * (count / (count - ddof)) if ddof and count > ddof else variance

    def std(
        self,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        ddof: int = 0,
        keepdims: bool = False,
    ) -> Self:
        """Return the standard deviation, the root of `var`, along axes or of all elements.

        >>> import rebind as mx
        >>> mx.nd.array([[1, 3], [5, 9]]).std(axis=1).asnumpy()
        array([1., 2.], dtype=float32)
        """
        return invoke_by_name("sqrt", self.var(axis, dtype, ddof, keepdims))


def _method(op: Operator, name: str) -> Callable[..., ArrayBase | list[ArrayBase]]:
    method = make_caller(op, name)  # the array that it is a method of is the first argument
    functools.update_wrapper(method, op.kernels.function)
    method.__name__, method.__qualname__ = name, f"NDArray.{name}"
    return method


for _name, _made in binary_methods(combine, BINARY).items():
    setattr(OperatorMethods, _name, _made)
for _name in FLUENT_METHODS:
    if _name not in vars(OperatorMethods):
        setattr(OperatorMethods, _name, _method(find(_name), _name))
