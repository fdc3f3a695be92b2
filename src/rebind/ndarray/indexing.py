"""Keys in brackets, from what users of MXNet write to what torch takes."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from types import EllipsisType
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from ..dtypes import number_in
from ..errors import BoundsError, ParameterError, ShapeError
from .base import ArrayBase
from .sending import sent

__all__ = ["Bounds", "Key", "TorchKey", "bounds", "is_basic", "read", "slices", "torch_key", "write"]

TorchIndex: TypeAlias = "int | bool | slice | EllipsisType | Tensor | None"
#: What torch takes between brackets.
TorchKey: TypeAlias = "TorchIndex | tuple[TorchIndex, ...]"
Index: TypeAlias = "TorchIndex | Sequence[int] | Sequence[bool] | np.ndarray | ArrayBase"
#: What a user writes between brackets.
Key: TypeAlias = "Index | tuple[Index, ...]"
#: An int, or None, for each axis.
Bounds: TypeAlias = "Sequence[int | None]"


def torch_key(key: Key, device: torch.device) -> TorchKey:
    """Return `key` with arrays and lists in it as tensors on `device`; float indices become integers.

    >>> torch_key((slice(0, 2), [1, 0]), torch.device("cpu"))
    (slice(0, 2, None), tensor([1, 0]))
    """
    if isinstance(key, tuple):
        return tuple([_torch_index(index, device) for index in key])  # a list takes half the time
    return _torch_index(key, device)


def _torch_index(index: Index, device: torch.device) -> TorchIndex:
    # The common case first. A bool is an int too, but a mask to torch.
    if type(index) is int:
        return index
    if index is None or index is Ellipsis or isinstance(index, (slice, bool)):
        return _plain_slice(index) if isinstance(index, slice) else index
    tensor = index.tensor if isinstance(index, ArrayBase) else None
    if isinstance(index, (list, tuple, np.ndarray)):
        tensor = torch.as_tensor(np.asarray(index))
    if tensor is not None:
        # torch takes masks and int64; arrays of indices are float32 by default in MXNet.
        wanted = tensor.dtype if tensor.dtype in (torch.bool, torch.int64) else torch.int64
        return sent(tensor.detach(), device, wanted)
    try:
        return operator.index(index)  # type: ignore[arg-type]  # index() refuses the rest
    except TypeError:
        raise ParameterError(
            f"NDArray: an index must be an int, a slice, None, ..., a list or an array; got {index!r}"
        ) from None


def _plain_slice(index: slice) -> slice:
    def plain(value: int | None) -> int | None:
        return None if value is None else operator.index(value)

    return slice(plain(index.start), plain(index.stop), plain(index.step))


def is_basic(key: TorchKey) -> bool:
    """Return whether a key holds no arrays: it then selects a regular block, which can share memory.

    >>> is_basic((slice(0, 2), 1)), is_basic(torch.tensor([1, 0]))
    (True, False)
    """
    if not isinstance(key, tuple):
        return not isinstance(key, Tensor)
    return not any([isinstance(index, Tensor) for index in key])


def slices(begin: Bounds, end: Bounds, step: Bounds | None = None) -> tuple[slice, ...]:
    """Return the key of the slice from `begin` to `end`, one number (or None) for each axis.

    >>> slices((0, None), (2, 3))
    (slice(0, 2, None), slice(None, 3, None))
    """
    steps = [None] * len(begin) if step is None else step
    if not len(begin) == len(end) == len(steps):
        raise ShapeError(f"NDArray: begin, end and step must have one length; got {begin}, {end} and {step}")
    return tuple(slice(*index) for index in zip(begin, end, steps, strict=True))


def bounds(
    key: TorchKey, shape: tuple[int, ...]
) -> tuple[list[int | None], list[int | None], list[int | None]]:
    """Return ``begin``, ``end`` and ``step`` of the operator `slice` for a key without arrays; it drops no axes.

    >>> bounds((slice(None, None, -1), 2), (3, 4))
    ([2, 2], [None, 3], [-1, 1])
    """
    indices = [index for index in (key if isinstance(key, tuple) else (key,)) if index is not None]
    # ``...`` stands for as many full slices as there are axes without an index.
    if Ellipsis in indices:
        at = indices.index(Ellipsis)
        indices[at : at + 1] = [slice(None)] * (len(shape) - len(indices) + 1)
    found: list[tuple[int | None, int | None, int | None]] = []
    for index, size in zip(indices, shape, strict=False):
        if isinstance(index, slice):
            begin, end, step = index.indices(size)
            # A slice with a negative step that runs to the start ends at -1, which the operator would count
            # from the right.
            found.append((begin, None if end < 0 else end, step))
        elif isinstance(index, int):
            # One element is a slice of length 1; the axis is dropped by who calls.
            found.append((index % size, index % size + 1, 1))
    begins, ends, steps = zip(*found, strict=True) if found else ((), (), ())
    return list(begins), list(ends), list(steps)


def read(tensor: Tensor, key: TorchKey) -> Tensor:
    """Return ``tensor[key]``, a view where torch gives one; negative steps too, which torch lacks.

    Raises
    ------
    BoundsError
        When an index is outside of its axis.

    Examples
    --------
    >>> read(torch.arange(4), slice(None, None, -1))
    tensor([3, 2, 1, 0])
    """
    flips, key = _without_negative_steps(tensor, key)
    try:
        if tensor.is_cuda:
            _require_within(tensor, key)
        selected = tensor[key]
    except IndexError as error:
        raise _out_of_bounds(tensor, error) from None
    return selected.flip(flips) if flips else selected


def write(tensor: Tensor, key: TorchKey, value: Tensor | float) -> None:
    """Set ``tensor[key]`` to a number or to a tensor of the same type, which broadcasts.

    >>> values = torch.zeros(4)
    >>> write(values, slice(None, None, -2), torch.tensor([1.0, 2.0]))
    >>> values
    tensor([0., 2., 0., 1.])
    """
    try:
        flips, forward = _without_negative_steps(tensor, key)
        if tensor.is_cuda:
            _require_within(tensor, forward)
        if not isinstance(value, Tensor):
            value = number_in(tensor.dtype, value)
        if flips and isinstance(value, Tensor):
            tensor[forward] = value.expand(tensor[forward].shape).flip(flips)
        elif isinstance(key, slice) and key == _EVERYTHING:
            tensor[...] = value  # arrays without axes too
        else:
            tensor[forward] = value
    except IndexError as error:
        raise _out_of_bounds(tensor, error) from None
    except (RuntimeError, ValueError) as error:
        raise ShapeError(
            f"NDArray: a value written into {tuple(tensor.shape)} at {key!r} must broadcast there; "
            f"got shape {tuple(np.shape(value))}. {str(error).splitlines()[0]}"
        ) from None


_EVERYTHING = slice(None)


def _require_within(tensor: Tensor, key: TorchKey) -> None:
    """Raise an IndexError where an array of indices has one outside of its axis.

    On the CPU PyTorch does so. A GPU would stop, and with it all that this process has there.

    >>> _require_within(torch.zeros(2, 3), (slice(None), torch.tensor([0, 3])))
    Traceback (most recent call last):
        ...
    IndexError: index 3 is out of bounds for dimension 1 with size 3
    """
    indices = key if isinstance(key, tuple) else (key,)
    axis = 0
    for index in indices:
        if index is Ellipsis:
            axis = tensor.ndim - sum(map(_axes_of, indices))
        elif isinstance(index, Tensor) and not _is_mask(index) and index.numel():
            size = tensor.shape[axis]
            least, most = torch.stack(torch.aminmax(index)).tolist()  # waits once
            if least < -size or most >= size:
                raise IndexError(
                    f"index {most if most >= size else least} is out of bounds for dimension {axis} with size {size}"
                )
        axis += _axes_of(index)


def _is_mask(index: Tensor) -> bool:
    return index.dtype in (torch.bool, torch.uint8)


def _axes_of(index: object) -> int:
    """Return how many axes an index is for."""
    if index is None or index is Ellipsis:
        return 0
    return index.ndim if isinstance(index, Tensor) and _is_mask(index) else 1


def _out_of_bounds(tensor: Tensor, error: IndexError) -> Exception:
    text = str(error).splitlines()[0]
    if "too many indices" in text:
        text = f"too many indices for an array of {tensor.ndim} axes"
    text = text.replace("dimension", "axis")
    if "shape mismatch" in text:
        return ShapeError(f"NDArray: {text}; the array has shape {tuple(tensor.shape)}")
    return BoundsError(f"NDArray: {text}; the array has shape {tuple(tensor.shape)}")


def _without_negative_steps(tensor: Tensor, key: TorchKey) -> tuple[list[int], TorchKey]:
    """Turn slices with negative steps into forward ones; return the axes of the result to flip, and the key."""
    indices = key if isinstance(key, tuple) else (key,)
    if not any([isinstance(index, slice) and index.step is not None and index.step < 0 for index in indices]):
        return [], key
    named = sum(index is not None and index is not Ellipsis for index in indices)
    new, flips, axis, result_axis = [], [], 0, 0
    for index in indices:
        if index is Ellipsis:
            # How many axes ``...`` stands for.
            skipped = tensor.ndim - named
            axis, result_axis = axis + skipped, result_axis + skipped
        elif index is None:
            result_axis += 1
        elif isinstance(index, slice):
            if index.step is not None and index.step < 0:
                # The same elements in forward order; the result is flipped afterwards.
                chosen = range(*index.indices(tensor.shape[axis]))
                low, high = (chosen[-1], chosen[0] + 1) if len(chosen) else (0, 0)
                index = slice(low, high, -index.step)
                flips.append(result_axis)
            axis, result_axis = axis + 1, result_axis + 1
        else:
            # An int takes its axis away from the result.
            axis += 1
        new.append(index)
    return flips, tuple(new)
