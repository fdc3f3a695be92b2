"""How a batch is cut for several devices, and put together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..errors import ParameterError, ShapeError
from ..ndarray import NDArray, array
from ..shapes import Shape

__all__ = ["Target", "batch_axis", "batch_size_of", "join", "mean", "part_of", "part_shape", "split_batch"]


class Target(NamedTuple):
    """Where one array of a batch goes."""

    position: int  # its place among the batch's arrays
    name: str
    axis: int  # its batch axis; -1: every device gets it whole
    parts: Sequence[slice]  # of the batch, for each device
    arrays: Sequence[NDArray]  # the devices' arrays

    def pieces(self, sources: Sequence[Any], kind: str) -> list[tuple[NDArray, Tensor]]:
        """Return what to copy where from a whole batch's arrays; an error where something does not fit."""
        if self.position >= len(sources):
            raise ShapeError(
                f"forward: the batch must hold {kind} {self.name!r}; got {len(sources)} arrays of {kind}"
            )
        source = sources[self.position]
        if not isinstance(source, NDArray):
            source = array(source, dtype=getattr(source, "dtype", None))
        found = []
        for part, target in zip(self.parts, self.arrays, strict=True):
            piece = source.tensor
            if len(self.arrays) > 1:
                piece = _cut(piece, part, self.axis, self.parts[-1].stop, f"forward: {kind} {self.name!r}")
            if piece.shape != target.tensor.shape:
                where = f" on {target.device}" if len(self.arrays) > 1 else ""
                raise ShapeError(
                    f"forward: {kind} {self.name!r} must have shape {target.shape}{where}; got {tuple(piece.shape)}"
                )
            found.append((target, piece))
        return found

    def on(self, device: int) -> Target:
        """Return the target for a batch that was cut already and is for one device."""
        return self._replace(parts=[self.parts[device]], arrays=[self.arrays[device]])


def batch_axis(layout: str | None) -> int:
    """Return the place of the batch axis N in a layout such as ``NCHW`` or ``TNC``; -1 when there is none.

    >>> batch_axis("TNC"), batch_axis(None), batch_axis("")
    (1, 0, 0)
    """
    return layout.find("N") if layout else 0


def split_batch(batch_size: int, work_load_list: Sequence[float]) -> list[slice]:
    """Return the part of a batch for each device, in proportion to its work load, rounded as MXNet does.

    Raises
    ------
    ParameterError
        ``Too many slices`` when a device would get nothing.

    Examples
    --------
    >>> split_batch(10, [1, 1, 1])
    [slice(0, 3, None), slice(3, 6, None), slice(6, 10, None)]
    """
    total = sum(work_load_list)
    if not total > 0:
        raise ParameterError(
            f"work_load_list: must hold a positive number for each device; got {list(work_load_list)}"
        )
    counts = [round(load * batch_size / total) for load in work_load_list]
    counts[-1] += batch_size - sum(counts)
    slices, begin = [], 0
    for count in counts:
        end = min(begin + count, batch_size)
        if begin >= end:
            raise ParameterError(
                f"Too many slices: {len(work_load_list)} devices with work loads {list(work_load_list)} must each get "
                f"a part of the batch; got batch size {batch_size}"
            )
        slices.append(slice(begin, end))
        begin = end
    return slices


def batch_size_of(descs: Sequence[Any]) -> int:
    """Return the batch size that all of `descs`, descriptions with shape and layout, have."""
    sizes = {}
    for desc in descs:
        axis = batch_axis(desc.layout)
        if axis >= 0 and len(desc.shape) > axis:
            sizes[desc.name] = desc.shape[axis]
    if not sizes:
        raise ShapeError(f"bind: one of the inputs must have a batch axis; got {list(descs)}")
    if len(set(sizes.values())) > 1:
        raise ShapeError(f"bind: all inputs must have one batch size; got {sizes}")
    return next(iter(sizes.values()))


def part_shape(desc: Any, part: slice, devices: int) -> Shape:
    """Return the shape of one device's part of the array that `desc` describes."""
    shape = list(desc.shape)
    axis = batch_axis(desc.layout)
    if devices > 1 and axis >= 0 and shape:
        shape[axis] = part.stop - part.start
    return tuple(shape)


def part_of(value: Any, parts: Sequence[slice], device: int, axis: int, what: str) -> Any:
    """Return one device's part of an array for the whole batch, without a copy."""
    if len(parts) == 1 or axis < 0:
        return value
    whole = value if isinstance(value, NDArray) else array(value)
    return NDArray(_cut(whole.tensor, parts[device], axis, parts[-1].stop, what), whole.device)


def _cut(tensor: Tensor, part: slice, axis: int, batch_size: int, what: str) -> Tensor:
    if axis < 0:
        return tensor
    if tensor.ndim <= axis or tensor.shape[axis] != batch_size:
        raise ShapeError(
            f"{what} must have {batch_size} rows, on axis {axis}; got shape {tuple(tensor.shape)}"
        )
    return tensor.narrow(axis, part.start, part.stop - part.start)


def join(parts: Sequence[NDArray], axis: int) -> NDArray:
    """Return the devices' parts of one array as one array, along the batch axis, on the first device.

    What has no batch axis (-1) is the same everywhere: the first part.
    """
    first = parts[0]
    if len(parts) == 1 or axis < 0:
        return first
    place = first.tensor.device
    return NDArray(torch.cat([part.tensor.to(place) for part in parts], axis), first.device)


def mean(arrays: Sequence[NDArray]) -> NDArray:
    """Return the mean over the devices, as a new array on the CPU of the arrays' own type."""
    first = arrays[0].tensor.detach()
    if len(arrays) == 1:
        return NDArray(first.to("cpu", copy=True))
    total = first.to("cpu", torch.float64)
    for other in arrays[1:]:
        total = total + other.tensor.detach().to("cpu", torch.float64)
    return NDArray((total / len(arrays)).to(first.dtype))
