"""Selections of an array and the same elements in another shape: brackets, slices, `reshape`."""

from __future__ import annotations

import operator as python_operator
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from .. import shapes
from .._torch.tensors import may_be_view
from ..errors import ArgumentError, ShapeError
from ..grad_mode import grad_mode
from ..mode import mode
from ..ops import find
from ..ops.frontend import split_parameters
from ..ops.reshape import reshape_target
from . import indexing
from .base import ArrayBase
from .calls import call, invoke_by_name
from .history import opaque_step, remember
from .indexing import Bounds, Key, TorchKey
from .reading import read_numbers
from .sending import sent
from .storage import DenseStorage
from .whole_numbers import wrap_recorded

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Selections"]

_TO_ONE_NUMBER = "an array without axes (no operator makes one of an array with axes)"


class Selections(ArrayBase):
    """Methods that select elements of an array, write into them, or change its shape."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(self.shape[0]))

    def __getitem__(self, key: Key) -> Self:
        """Select by ints, slices, None, ``...``, lists or arrays of indices, or a mask.

        What is contiguous in memory shares it; everything else is a copy.
        """
        # x[:] is x itself, as in MXNet.
        if isinstance(key, slice) and key == slice(None):
            return self
        where = indexing.torch_key(key, self.storage.device)
        selected = indexing.read(self.source(), where)
        # An array has at least one axis, but under `np_shape`.
        if selected.ndim == 0 and not mode.numpy_shapes:
            selected = selected.reshape(1)
        if not indexing.is_basic(where):
            result = self._new(selected.contiguous())
            if mode.recording:
                result.history = opaque_step(
                    "indexing with arrays (take and gather_nd are operators)", [self]
                )
            return result
        # What was selected from an array that is not dense is of a dense copy, and so shares nothing.
        shares = selected.is_contiguous() and may_be_view(selected) and isinstance(self.storage, DenseStorage)
        if shares and not mode.recording:
            return self.alias(selected)
        result = self._new(selected.clone(memory_format=torch.contiguous_format))
        if mode.recording:
            self._remember_selection(where, result)
        return result

    def _new(self, tensor: Tensor) -> Self:
        return wrap_recorded(tensor, self.storage.dtype, self.device)

    def _remember_selection(self, key: TorchKey, result: ArrayBase) -> None:
        """Note that `result` was selected from this array, by the operators `slice` and `Reshape`."""
        begin, end, step = indexing.bounds(key, self.shape)
        if not result.ndim:
            result.history = opaque_step(_TO_ONE_NUMBER, [self])
            return
        _remember("slice", self, result, begin=begin, end=end, step=step)
        # `slice` drops no axes: where the key does, a `Reshape` follows.
        if result.ndim != self.ndim:
            sliced = self._new(result.tensor)
            sliced.history = result.history
            _remember("Reshape", sliced, result, shape=result.shape)

    def __setitem__(self, key: Key, value: ArrayBase | ArrayLike | float) -> None:
        if not isinstance(self.storage, DenseStorage):
            self._set_non_dense(key, value)
            return
        if isinstance(key, slice) and key == slice(None) and self._is_like(value):
            self.write(value)  # all of it, from memory elsewhere: nothing of the rest need be asked
            return
        where = indexing.torch_key(key, self.storage.device)
        # The common case, without making a tensor of the number.
        if isinstance(value, (bool, int, float)):
            indexing.write(self.writable_tensor(), where, value)
            return
        source = self._as_source(value)
        recorded = mode.recording and source.requires_grad
        # After the value was read: it may be computed from this very array.
        target = self.begin_write(recorded)
        with grad_mode(recorded):
            indexing.write(target, where, source)
        written = (value,) if isinstance(value, ArrayBase) else ()
        if recorded:
            self.set_recorded(target, *written)
        elif mode.recording:
            self.note_written(*written)

    def _set_non_dense(self, key: Key, value: ArrayBase | ArrayLike | float) -> None:
        """Write into an array that is not dense, by way of a dense copy."""
        # The whole array: a kind of storage writes all or nothing.
        changed = self._new(self.tensor.detach().clone())
        changed[key] = value
        self.write(changed)

    def _is_like(self, value: object) -> TypeGuard[ArrayBase]:
        """Whether a value is a dense array of this one's shape, whose memory is not this one's in part."""
        if not (isinstance(value, ArrayBase) and isinstance(value.storage, DenseStorage)):
            return False
        return value.storage.shape == self.storage.shape and not (
            self.storage.shared and value.storage.shared
        )

    def _as_source(self, value: ArrayBase | ArrayLike | float) -> Tensor:
        """Return `value` in the type of this array, on its device, in other memory than its own."""
        here = self.tensor
        if isinstance(value, ArrayBase):
            source = value.source()
            # What torch copies between overlapping views is undefined.
            if source.untyped_storage().data_ptr() == here.untyped_storage().data_ptr():
                return source.clone()
        else:
            source = read_numbers(value, "NDArray: a value to write")
        return sent(source, here.device, here.dtype)

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

    def reshape(self, *shape: int | Sequence[int], **keywords: Any) -> Self:
        """Return the array in another shape; it shares memory, as in MXNet.

        `shape` may hold the codes of the operator `Reshape`: 0 leaves a size as it is, -1 follows from the rest,
        -2 takes all that remain, -3 joins two axes, -4 splits one.

        >>> import rebind as mx
        >>> mx.nd.zeros((2, 3, 4)).reshape(0, -1).shape
        (2, 12)
        """
        if "shape" in keywords:
            shape = (keywords.pop("shape"),)
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
        if any([isinstance(sizes, ArrayBase) for sizes in shape]):  # a list takes half the time
            raise ArgumentError(f"NDArray.reshape: shape must be ints; got {shape[0]!r}")
        reverse = bool(keywords.pop("reverse", False))
        if keywords:
            raise ArgumentError(f"NDArray.reshape: takes shape and reverse; got {', '.join(keywords)}")
        try:
            sizes = tuple(map(python_operator.index, shape))  # type: ignore[arg-type]  # index() refuses the rest
        except TypeError:
            raise ArgumentError(f"NDArray.reshape: shape must be ints; got {shape!r}") from None
        try:
            target = reshape_target(self.shape, sizes, reverse)
        except ShapeError as error:
            error.locate("Reshape", called_as="reshape")
            raise
        if mode.recording:
            result = self._new(self.recorded_tensor.reshape(target))
            if target:
                _remember("Reshape", self, result, shape=target)
            else:
                result.history = opaque_step(_TO_ONE_NUMBER, [self])
            return result
        return self.alias(self.tensor.reshape(target))

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


def _remember(name: str, source: ArrayBase, result: ArrayBase, **given: object) -> None:
    op = find(name)
    remember(op, op.parse(given), (source,), (result,))
