"""What a key in brackets selects of an array, and the same elements in another shape: with views and records."""

from __future__ import annotations

import operator as python_operator
from collections.abc import Sequence
from typing import Any, TypeGuard

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from .._torch.tensors import may_be_view
from ..errors import ArgumentError, ShapeError
from ..grad_mode import grad_mode
from ..mode import mode
from ..ops import find
from ..ops.reshape import reshape_target
from . import indexing
from .base import Array, ArrayBase
from .history import opaque_node, remember
from .indexing import Key, TorchKey
from .integer_gradients import wrap_recorded
from .reading import read_numbers
from .sending import sent
from .storage import DenseStorage

__all__ = ["assign", "reshaped", "select"]

_TO_ONE_NUMBER = "an array without axes (no operator makes one of an array with axes)"


def select(array: Array, key: Key) -> Array:
    """Return what a key in brackets selects of an array; see `NDArray.__getitem__`."""
    # x[:] is x itself, as in MXNet.
    if isinstance(key, slice) and key == slice(None):
        return array
    where = indexing.torch_key(key, array.storage.device)
    selected = indexing.read(array.source(), where)
    # An array has at least one axis, but under `np_shape`.
    if selected.ndim == 0 and not mode.numpy_shapes:
        selected = selected.reshape(1)
    if not indexing.is_basic(where):
        result = _new(array, selected.contiguous())
        if mode.recording:
            result.history = opaque_node("indexing with arrays (take and gather_nd are operators)", [array])
        return result
    # What was selected from an array that is not dense is of a dense copy, and so shares nothing.
    shares = selected.is_contiguous() and may_be_view(selected) and isinstance(array.storage, DenseStorage)
    if shares and not mode.recording:
        return array.alias(selected)
    result = _new(array, selected.clone(memory_format=torch.contiguous_format))
    if mode.recording:
        _remember_selection(array, where, result)
    return result


def assign(array: ArrayBase, key: Key, value: ArrayBase | ArrayLike | float) -> None:
    """Write a value where a key in brackets selects."""
    if not isinstance(array.storage, DenseStorage):
        is_whole = isinstance(key, slice) and key == slice(None)
        if is_whole and isinstance(value, ArrayBase) and value.shape == array.shape:
            array.write(value)
            return
        # By way of a dense copy of all of it: a kind of storage writes all or nothing.
        changed = _new(array, array.tensor.detach().clone())
        assign(changed, key, value)
        array.write(changed)
        return
    if isinstance(key, slice) and key == slice(None) and _is_like(value, array):
        array.write(value)  # all of it, from memory elsewhere: nothing of the rest need be asked
        return
    where = indexing.torch_key(key, array.storage.device)
    # The common case, without making a tensor of the number.
    if isinstance(value, (bool, int, float)):
        indexing.write(array.writable_tensor(), where, value)
        return
    source = _as_source(array, value)
    recorded = mode.recording and source.requires_grad
    # After the value was read: it may be computed from this very array.
    target = array.begin_write(recorded)
    with grad_mode(recorded):
        indexing.write(target, where, source)
    written = (value,) if isinstance(value, ArrayBase) else ()
    if recorded:
        array.set_recorded(target, *written)
    elif mode.recording:
        array.note_written(*written)


def _is_like(value: object, array: ArrayBase) -> TypeGuard[ArrayBase]:
    """Whether a value is a dense array of another one's shape, whose memory is not that one's in part."""
    if not (isinstance(value, ArrayBase) and isinstance(value.storage, DenseStorage)):
        return False
    return value.storage.shape == array.storage.shape and not (array.storage.shared and value.storage.shared)


def _as_source(array: ArrayBase, value: ArrayBase | ArrayLike | float) -> Tensor:
    """Return `value` in the type of an array, on its device, in other memory than its own."""
    here = array.tensor
    if isinstance(value, ArrayBase):
        source = value.source()
        # What torch copies between overlapping views is undefined.
        if source.untyped_storage().data_ptr() == here.untyped_storage().data_ptr():
            return source.clone()
    else:
        source = read_numbers(value, "NDArray: a value to write")
    return sent(source, here.device, here.dtype)


def reshaped(array: Array, shape: Sequence[int | Sequence[int]], keywords: dict[str, Any]) -> Array:
    """Return an array in another shape, on the same memory; see `NDArray.reshape`. `keywords` is used up."""
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
        target = reshape_target(array.shape, sizes, reverse)
    except ShapeError as error:
        error.locate("Reshape", called_as="reshape")
        raise
    if mode.recording:
        result = _new(array, array.recorded_tensor.reshape(target))
        if target:
            _remember("Reshape", array, result, shape=target)
        else:
            result.history = opaque_node(_TO_ONE_NUMBER, [array])
        return result
    return array.alias(array.tensor.reshape(target))


def _new(array: Array, tensor: Tensor) -> Array:
    return wrap_recorded(tensor, array.storage.dtype, array.device)


def _remember_selection(array: ArrayBase, key: TorchKey, result: ArrayBase) -> None:
    """Note that `result` was selected from an array, by the operators `slice` and `Reshape`."""
    begin, end, step = indexing.bounds(key, array.shape)
    if not result.ndim:
        result.history = opaque_node(_TO_ONE_NUMBER, [array])
        return
    _remember("slice", array, result, begin=begin, end=end, step=step)
    # `slice` drops no axes: where the key does, a `Reshape` follows.
    if result.ndim != array.ndim:
        sliced = _new(array, result.tensor)
        sliced.history = result.history
        _remember("Reshape", sliced, result, shape=result.shape)


def _remember(name: str, source: ArrayBase, result: ArrayBase, **given: object) -> None:
    op = find(name)
    remember(op, op.parse(given), (source,), (result,))
