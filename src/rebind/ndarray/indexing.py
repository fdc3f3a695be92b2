"""Keys in brackets, from what users of MXNet write to what torch takes."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import ArgumentError

__all__ = ["is_basic", "read", "torch_key"]


def torch_key(key: Any, device: torch.device) -> Any:
    """Return `key` with arrays and lists in it as tensors on `device`; indices of floats become whole numbers."""
    if isinstance(key, tuple):
        return tuple(_part(part, device) for part in key)
    return _part(key, device)


def _part(part: Any, device: torch.device) -> Any:
    if part is None or part is Ellipsis or isinstance(part, (slice, bool)):
        return _plain_slice(part) if isinstance(part, slice) else part
    tensor = getattr(part, "tensor", None)
    if tensor is None and isinstance(part, (list, tuple, np.ndarray)):
        tensor = torch.as_tensor(np.asarray(part))
    if tensor is not None:
        wanted = tensor.dtype if tensor.dtype in (torch.bool, torch.int64) else torch.int64
        return tensor.detach().to(device, wanted)
    try:
        return operator.index(part)
    except TypeError:
        raise ArgumentError(
            f"NDArray: an index must be an int, a slice, None, ..., a list or an array; got {part!r}"
        ) from None


def _plain_slice(part: slice) -> slice:
    def plain(value: Any) -> int | None:
        return None if value is None else operator.index(value)

    return slice(plain(part.start), plain(part.stop), plain(part.step))


def is_basic(key: Any) -> bool:
    """Tell whether a key holds no arrays: such a key selects a regular part, which can share memory."""
    parts = key if isinstance(key, tuple) else (key,)
    return not any(isinstance(part, Tensor) for part in parts)


def read(tensor: Tensor, key: Any) -> Tensor:
    """Return ``tensor[key]``, a view where torch gives one; negative steps too, which torch lacks.

    Raises
    ------
    IndexError
        When an index is outside of its axis.
    """
    flips, key = _without_negative_steps(tensor, key)
    part = tensor[key]
    return part.flip(flips) if flips else part


def _without_negative_steps(tensor: Tensor, key: Any) -> tuple[list[int], Any]:
    """Turn slices with negative steps into forward ones; return the axes of the result to flip, and the key."""
    parts = key if isinstance(key, tuple) else (key,)
    if not any(isinstance(part, slice) and part.step is not None and part.step < 0 for part in parts):
        return [], key
    named = sum(part is not None and part is not Ellipsis for part in parts)
    new, flips, axis, result_axis = [], [], 0, 0
    for part in parts:
        if part is Ellipsis:
            skipped = tensor.ndim - named
            axis, result_axis = axis + skipped, result_axis + skipped
        elif part is None:
            result_axis += 1
        elif isinstance(part, slice):
            if part.step is not None and part.step < 0:
                chosen = range(*part.indices(tensor.shape[axis]))
                low, high = (chosen[-1], chosen[0] + 1) if len(chosen) else (0, 0)
                part = slice(low, high, -part.step)
                flips.append(result_axis)
            axis, result_axis = axis + 1, result_axis + 1
        else:
            axis += 1
        new.append(part)
    return flips, tuple(new)
