"""Keys in brackets, from what users of MXNet write to what torch takes.

What is selected is what NumPy selects. `_steps` alone knows how: reading, writing and gradients follow from it.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from types import EllipsisType
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from .. import dtypes
from ..errors import BoundsError, ParameterError, ShapeError
from .base import ArrayBase
from .sending import sent

__all__ = ["Bounds", "Key", "TorchKey", "bounds", "is_basic", "read", "slices", "torch_key", "write"]

TorchIndex: TypeAlias = "int | bool | slice | EllipsisType | Tensor | None"
#: What torch takes between brackets.
TorchKey: TypeAlias = "TorchIndex | tuple[TorchIndex, ...]"
Index: TypeAlias = "TorchIndex | np.bool_ | Sequence[int] | Sequence[bool] | np.ndarray | ArrayBase"
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
    if isinstance(index, (list, tuple, range, np.ndarray, np.bool_)):
        tensor = torch.as_tensor(np.asarray(index))
    if tensor is not None:
        if not tensor.ndim:  # as in NumPy, a number by itself is no array
            return bool(tensor) if tensor.dtype is torch.bool else int(tensor)
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
        try:
            return None if value is None else operator.index(value)
        except TypeError:
            raise ParameterError(
                f"NDArray: the bounds of a slice must be ints or None; got {index!r}"
            ) from None

    return slice(plain(index.start), plain(index.stop), plain(index.step))


def is_basic(key: TorchKey) -> bool:
    """Return whether a key holds no arrays or bools: it then selects a regular block, which can share memory.

    >>> is_basic((slice(0, 2), 1)), is_basic(torch.tensor([1, 0]))
    (True, False)
    """
    if not isinstance(key, tuple):
        return not isinstance(key, _ADVANCED)
    return not any([isinstance(index, _ADVANCED) for index in key])


_ADVANCED = (Tensor, bool)


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
    indices = [index for index in _expanded(_as_tuple(key), len(shape)) if index is not None]
    triples: list[tuple[int | None, int | None, int | None]] = []
    for index, size in zip(indices, shape, strict=False):
        if isinstance(index, slice):
            begin, end, step = index.indices(size)
            # A slice with a negative step that runs to the start ends at -1, which the operator would count
            # from the right.
            triples.append((begin, None if end < 0 else end, step))
        elif isinstance(index, int):
            # One element is a slice of length 1; the axis is dropped by who calls.
            triples.append((index % size, index % size + 1, 1))
    begins, ends, steps = zip(*triples, strict=True) if triples else ((), (), ())
    return list(begins), list(ends), list(steps)


def _as_tuple(key: TorchKey) -> tuple[TorchIndex, ...]:
    return key if isinstance(key, tuple) else (key,)


def _expanded(indices: Sequence[TorchIndex], ndim: int) -> list[TorchIndex]:
    """Return indices for all axes of an array: ``...`` stands for those that have none, at the end by default."""
    ellipses = sum([index is Ellipsis for index in indices])
    missing = ndim - sum(map(_axes_of, indices))
    if missing < 0:
        raise IndexError(f"too many indices for an array of {ndim} axes")
    if ellipses > 1:
        raise IndexError("an index can have a single ellipsis ('...')")
    full = [slice(None)] * missing
    expanded: list[TorchIndex] = []
    for index in indices if ellipses else (*indices, Ellipsis):
        expanded += full if index is Ellipsis else [index]
    return expanded


def _axes_of(index: TorchIndex) -> int:
    """Return how many axes an index is for."""
    if isinstance(index, Tensor):
        return index.ndim if index.dtype is torch.bool else 1
    return 0 if index is None or index is Ellipsis or isinstance(index, bool) else 1


def read(tensor: Tensor, key: TorchKey) -> Tensor:
    """Return ``tensor[key]`` as NumPy defines it, a view where torch gives one.

    Raises
    ------
    BoundsError
        When an index is outside of its axis.

    Examples
    --------
    >>> read(torch.arange(4), slice(None, None, -1))
    tensor([3, 2, 1, 0])
    """
    try:
        if _is_as_in_torch(key, tensor):
            return tensor[key]
        block, backwards, order, rest = _steps(key, tensor)
        selected = tensor[block]
        if backwards:
            selected = selected.flip(backwards)
        return selected.permute(order)[rest] if rest else selected
    except IndexError as error:
        raise _out_of_bounds(tensor, key, error) from None


def write(tensor: Tensor, key: TorchKey, value: Tensor | float) -> None:
    """Set ``tensor[key]`` to a number or to a tensor of the same type, which broadcasts.

    >>> values = torch.zeros(4)
    >>> write(values, slice(None, None, -2), torch.tensor([1.0, 2.0]))
    >>> values
    tensor([0., 2., 0., 1.])
    """
    if not isinstance(value, Tensor):
        value = dtypes.number_in(tensor.dtype, value)
    try:
        if isinstance(key, slice) and key == _EVERYTHING:
            tensor[...] = value  # arrays without axes too
        elif _is_as_in_torch(key, tensor):
            tensor[key] = value
        else:
            block, backwards, order, rest = _steps(key, tensor)
            target = tensor[block]
            changed = target.flip(backwards) if backwards else target
            changed.permute(order)[rest or ...] = value
            if backwards:
                target.copy_(changed.flip(backwards))
    except IndexError as error:
        raise _out_of_bounds(tensor, key, error) from None
    except (RuntimeError, ValueError) as error:
        if not isinstance(value, Tensor):  # a number broadcasts
            raise ParameterError(
                f"NDArray: a number written into an array of type {dtypes.name(tensor.dtype)} must be in its range; "
                f"got {value}"
            ) from None
        raise ShapeError(
            f"NDArray: a value written into {tuple(tensor.shape)} at {key!r} must broadcast there; "
            f"got shape {tuple(np.shape(value))}. {str(error).splitlines()[0]}"
        ) from None


_EVERYTHING = slice(None)


def _is_as_in_torch(key: TorchKey, tensor: Tensor) -> bool:
    """Return whether torch takes a key as NumPy does, and checks its bounds: most keys, which are then read at once.

    It does so with ints, slices that run forward, None and one ``...``, and on CPUs with arrays that follow each other.

    >>> array = torch.tensor([0])
    >>> [_is_as_in_torch(key, torch.zeros(2, 2)) for key in (array, (array, None, 0), slice(None, None, -1))]
    [True, False, False]
    """
    indices = _as_tuple(key)
    ellipses = 0
    arrays = False
    for index in indices:
        if isinstance(index, slice):
            if index.step is not None and index.step <= 0:
                return False
        elif index is Ellipsis:
            ellipses += 1
        elif isinstance(index, bool):
            return False
        elif isinstance(index, Tensor):
            arrays = True
    if ellipses > 1:
        return False
    return not arrays or (not tensor.is_cuda and _follow_each_other(indices))


def _steps(
    key: TorchKey, tensor: Tensor
) -> tuple[tuple[TorchIndex, ...], list[int], list[int], tuple[TorchIndex, ...]]:
    """Return a key of a regular block, its axes to flip, their order then, and a key of arrays for what results.

    Without arrays the block is what is selected. Beside an array ints are arrays too, which broadcast with it; the axes
    that arrays make are where theirs were if these follow each other in the key, else in front.

    >>> _steps((0, slice(None, None, -1), torch.tensor([0, 1])), torch.zeros(2, 3, 4))[1:]
    ([1], [0, 2, 1], (tensor([0]), tensor([0, 1])))
    """
    indices = _as_tuple(key)
    basic = is_basic(indices)
    block: list[TorchIndex] = []
    backwards: list[int] = []
    indexed: list[int] = []  # axes of the block that arrays index, and the others
    retained: list[int] = []
    arrays: list[Tensor] = []
    axis = 0
    for index in _expanded(indices, tensor.dim()):
        count, following = _axes_of(index), len(indexed) + len(retained)
        if index is None or isinstance(index, slice):
            if isinstance(index, slice) and index.step is not None and index.step < 0:
                index = _forward(index, tensor.shape[axis])
                backwards.append(following)
            block.append(index)
            retained.append(following)
        elif basic:
            block.append(index)
        else:
            arrays.append(_as_array(index, axis, tensor))
            # A single bool indexes an axis that the block adds.
            block += [_EVERYTHING] * count or [None]
            indexed += range(following, following + max(count, 1))
        axis += count
    if basic or _follow_each_other(indices):
        return (
            tuple(block),
            backwards,
            sorted(indexed + retained),
            (*[_EVERYTHING] * min(indexed, default=0), *arrays),
        )
    return tuple(block), backwards, indexed + retained, tuple(arrays)


def _forward(index: slice, size: int) -> slice:
    """Return the slice that selects the same elements in forward order.

    >>> _forward(slice(None, None, -2), 4)
    slice(1, 4, 2)
    """
    chosen = range(*index.indices(size))[::-1]
    return slice(chosen[0], chosen[-1] + 1, chosen.step) if chosen else slice(0, 0)


def _follow_each_other(indices: Sequence[TorchIndex]) -> bool:
    """Return whether nothing is between the arrays of a key, which ints count as here."""
    positions = [
        n for n, index in enumerate(indices)
        if index is not None and index is not Ellipsis and not isinstance(index, slice)
    ]  # fmt: skip
    return positions[-1] - positions[0] == len(positions) - 1


def _as_array(index: TorchIndex, axis: int, tensor: Tensor) -> Tensor:
    """Return an int, a bool, a mask or an array of indices as an array that indexes a tensor from an axis on.

    An IndexError where it does not fit: a GPU would not recover from it.

    >>> _as_array(3, 1, torch.zeros(2, 3))
    Traceback (most recent call last):
        ...
    IndexError: index 3 is out of bounds for axis 1 with size 3
    """
    if isinstance(index, bool):
        return torch.zeros(int(index), dtype=torch.int64, device=tensor.device)
    array = index if isinstance(index, Tensor) else torch.tensor([index], device=tensor.device)
    if array.dtype is torch.bool:
        sizes = tensor.shape[axis : axis + array.ndim]
        if array.shape != sizes:
            raise IndexError(
                f"a mask must have the size of what it selects from, {tuple(sizes)} from axis {axis} on; "
                f"got {tuple(array.shape)}"
            )
    elif array.numel():
        size = tensor.shape[axis]
        least, most = torch.stack(torch.aminmax(array)).tolist()  # waits once
        if least < -size or most >= size:
            raise IndexError(
                f"index {most if most >= size else least} is out of bounds for axis {axis} with size {size}"
            )
    return array


def _out_of_bounds(tensor: Tensor, key: TorchKey, error: IndexError) -> Exception:
    if not is_basic(key):  # torch does not count the axes that ints take
        try:
            _steps(key, tensor)
        except IndexError as own_error:
            error = own_error
    text = str(error).splitlines()[0]
    if "too many indices" in text:
        text = f"too many indices for an array of {tensor.ndim} axes"
    text = text.replace("dimension", "axis")
    if "shape mismatch" in text:
        return ShapeError(f"NDArray: {text}; the array has shape {tuple(tensor.shape)}")
    return BoundsError(f"NDArray: {text}; the array has shape {tuple(tensor.shape)}")
