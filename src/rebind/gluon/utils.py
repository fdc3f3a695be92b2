"""`gluon.utils`: splitting batches, and clipping arrays together."""

from __future__ import annotations

import hashlib
import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from ..absent import absent_function, old_names
from ..checks import NUMBER, check_kind
from ..device import Device, as_devices
from ..errors import ArgumentError, ParameterError, ShapeError
from ..ndarray import NDArray, array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "HookHandle", "check_sha1", "clip_global_norm", "download", "joined_shape", "replace_file", "shape_is_known",
    "split_and_load", "split_data",
]  # fmt: skip

download = absent_function("gluon.utils.download", "Download files by other means; NDArrayIter takes arrays")
replace_file = absent_function("gluon.utils.replace_file", "os.replace does it")


class HookHandle:
    """Holds a hook, which `detach` (or the end of a ``with`` block) removes.

    Parameters
    ----------
    hooks
        Where hooks are registered.
    hook
        The function.

    Examples
    --------
    >>> hooks = {}
    >>> handle = HookHandle(hooks, print)
    >>> handle.detach()
    >>> hooks
    {}
    """

    def __init__(self, hooks: dict[int, Callable[..., object]], hook: Callable[..., object]) -> None:
        self._hooks = hooks
        hooks[id(self)] = hook

    def detach(self) -> None:
        """Remove the hook."""
        self._hooks.pop(id(self), None)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.detach()


def split_data(data: NDArray, num_slice: int, batch_axis: int = 0, even_split: bool = True) -> list[NDArray]:
    """Return slices of an array along its batch axis.

    Parameters
    ----------
    data
        The array.
    num_slice
        How many slices.
    batch_axis
        The axis.
    even_split
        Whether the slices must be of equal size; otherwise the first ones are larger by a sample.

    Examples
    --------
    >>> import rebind as mx
    >>> [each.shape for each in split_data(mx.nd.ones((5, 2)), 2, even_split=False)]
    [(3, 2), (2, 2)]
    """
    size = data.shape[batch_axis]
    if even_split and size % num_slice:
        raise ShapeError(
            f"split_data: axis {batch_axis} of shape {data.shape} must be a multiple of {num_slice}, the number of "
            "slices; set even_split=False for slices of different sizes."
        )
    if num_slice == 1:
        return [data]
    step, longer = divmod(size, num_slice)
    # The first slices are longer by one where the size does not divide.
    starts = [step * k + min(k, longer) for k in range(num_slice + 1)]
    before = (slice(None),) * batch_axis
    parts = [(*before, slice(a, b)) for a, b in itertools.pairwise(starts)]
    return [data[part] for part in parts]


def split_and_load(
    data: NDArray | ArrayLike, ctx_list: Sequence[Device], batch_axis: int = 0, even_split: bool = True
) -> list[NDArray]:
    """Return slices of an array along its batch axis, one on each device.

    >>> import rebind as mx
    >>> [each.shape for each in split_and_load([[1, 2], [3, 4]], [mx.cpu(0), mx.cpu(1)])]
    [(1, 2), (1, 2)]
    """
    devices = as_devices(ctx_list, "split_and_load: ctx_list")
    whole = data if isinstance(data, NDArray) else array(data, ctx=devices[0])
    slices = split_data(whole, len(devices), batch_axis, even_split)
    return [each.as_in_context(device) for each, device in zip(slices, devices, strict=True)]


def clip_global_norm(
    arrays: Sequence[NDArray], max_norm: float, check_isfinite: bool = True
) -> np.generic | NDArray:
    """Scale arrays in place so that their norm over all is `max_norm` at most; return what it was.

    Parameters
    ----------
    arrays
        The arrays.
    max_norm
        The largest norm.
    check_isfinite
        Whether to warn when the norm is not finite. If not, the norm is returned as an array, without waiting for it.

    Examples
    --------
    >>> import rebind as mx
    >>> grads = [mx.nd.array([3.0]), mx.nd.array([4.0])]
    >>> clip_global_norm(grads, 1.0), [each.asnumpy().round(2) for each in grads]
    (np.float32(5.0), [array([0.6], dtype=float32), array([0.8], dtype=float32)])
    """
    if not arrays:
        raise ArgumentError("clip_global_norm: arrays must hold at least one array; got none")
    check_kind("clip_global_norm", NUMBER, max_norm=max_norm)
    if not max_norm > 0:
        raise ParameterError(f"clip_global_norm: max_norm must be positive; got {max_norm}")
    tensors = [each.tensor.detach() for each in arrays]
    # In float32: the square of half precision overflows early.
    joint = torch.stack([torch.linalg.vector_norm(each.float()).to(tensors[0].device) for each in tensors])
    norm = torch.linalg.vector_norm(joint)
    total = NDArray(norm.reshape(1))
    if check_isfinite and not math.isfinite(total.item()):
        warnings.warn(
            "clip_global_norm: the norm is nan or infinite; the clipped arrays are too", stacklevel=2
        )
    # MXNet's formula, whose 1e-8 keeps arrays of zeros.
    factor = (max_norm / (norm + 1e-8)).clamp(max=1.0)
    for each, tensor in zip(arrays, tensors, strict=True):
        each.write_unrecorded((tensor * factor.to(tensor.device)).to(dtype=tensor.dtype))
    return total.asscalar() if check_isfinite else total


def shape_is_known(shape: Sequence[int] | None) -> bool:
    """Return whether a shape has no unknown size.

    >>> shape_is_known((2, 3)), shape_is_known((0, 3)), shape_is_known(None)
    (True, False, False)
    """
    return shape is not None and all(size > 0 for size in shape)


def joined_shape(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...] | None:
    """Return what two shapes with unknown sizes (0 or -1) say together; None if they contradict each other.

    >>> joined_shape((2, 0), (0, 3)), joined_shape((2,), (3,))
    ((2, 3), None)
    """
    if len(one) != len(other):
        return None
    pairs = list(zip(one, other, strict=True))
    if any(a > 0 and b > 0 and a != b for a, b in pairs):
        return None
    return tuple(max(a, b, 0) for a, b in pairs)


def check_sha1(filename: str, sha1_hash: str) -> bool:
    """Return whether the SHA-1 of a file is the given one, or begins with it."""
    with open(filename, "rb") as file:
        return hashlib.sha1(file.read(), usedforsecurity=False).hexdigest() == sha1_hash


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
