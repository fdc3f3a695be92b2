"""Regions of arrays by ranges, and arrays with such a region replaced.

Whether a region may share memory with the array that it comes from is for the callers to decide.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..dtypes import number_in
from ..errors import ShapeError
from ..params import Params
from ..shapes import Shape, normalize_axis
from ._types import Double, whole_number
from .declaration import Shapes, operator

__all__ = ["Bounds", "slice", "slice_assign", "slice_assign_scalar", "slice_axis", "slice_like"]

Bounds = tuple[int | None, ...]


class _Region(NamedTuple):
    """Which region of an array is meant."""

    slices: tuple[builtins.slice, ...]  # forward on every axis: torch knows no negative steps
    backwards: tuple[int, ...]  # the axes that run backwards
    shape: Shape


@functools.lru_cache(maxsize=4096)
def _region(shape: Shape, begin: Bounds, end: Bounds, step: Bounds) -> _Region:
    """Return the region of an array of `shape` that ranges along its first axes choose."""
    if len(begin) != len(end) or (step and len(step) != len(begin)):
        raise ShapeError(f"begin, end and step must have the same length; got {begin}, {end} and {step}")
    if len(begin) > len(shape):
        raise ShapeError(f"begin must have at most one value for each axis of data {shape}; got {begin}")
    if 0 in step:
        raise ShapeError(f"step must not be 0; got {step}")
    slices = map(builtins.slice, begin, end, step or (None,) * len(begin))
    # Python's own rules for bounds that are negative, absent or out of range.
    ranges = [range(*chosen.indices(size)) for chosen, size in zip(slices, shape, strict=False)]
    # torch has no negative steps: such an axis is taken forward and flipped afterwards.
    forward = [chosen if chosen.step > 0 else chosen[::-1] for chosen in ranges]
    return _Region(
        # An empty range may stop before its start, which torch refuses.
        tuple(builtins.slice(c.start, max(c.stop, c.start), c.step) for c in forward),
        tuple(axis for axis, chosen in enumerate(ranges) if chosen.step < 0),
        (*map(len, ranges), *shape[len(ranges) :]),
    )


def _replaced(data: Tensor, region: _Region, value: Tensor | float) -> Tensor:
    """Return a copy of `data` with a region replaced."""
    out = data.clone()
    if region.backwards and isinstance(value, Tensor):
        # The region is written forward, so the value has to run backward.
        value = torch.flip(value, region.backwards)
    # A copy of its own by now, so that writing is safe; autograd follows it.
    out[region.slices] = value
    return out


@operator("slice", "crop")
def slice(data: Tensor, *, begin: Bounds, end: Bounds, step: Bounds = ()) -> Tensor:
    """Slice of `data` from `begin` up to `end`, as Python slices of its first axes; None is "all the way".

    >>> slice(torch.arange(12).reshape(3, 4), begin=(0, None), end=(2, None), step=(1, -2))
    tensor([[3, 1],
            [7, 5]])
    """
    region = _region(tuple(data.shape), begin, end, step)
    out = data[region.slices]
    return torch.flip(out, region.backwards) if region.backwards else out


@slice.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    data = shapes["data"]
    if data is None:
        return []
    region = _region(data, p.begin, p.end, p.step)
    # An unknown size (0) stays unknown, however it is sliced.
    return [tuple(n and size for n, size in zip(data, region.shape, strict=True))]


@slice.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    data, out = shapes["data"], outputs[0]
    if data is None or out is None or len(data) != len(out):
        return {}
    at = len(p.begin)  # further axes are not sliced
    return {"data": (*data[:at], *out[at:])}


@operator("slice_axis")
def slice_axis(data: Tensor, *, axis: int, begin: int, end: int | None) -> Tensor:
    """Slice of `data` from `begin` up to `end` along one axis; both may count from the end.

    >>> slice_axis(torch.arange(5), axis=0, begin=-3, end=None)
    tensor([2, 3, 4])
    """
    axis = normalize_axis(axis, data.ndim, "axis")
    size = data.shape[axis]
    # Not Python's slices: out-of-range bounds are errors here, as in MXNet.
    first = begin + size if begin < 0 else begin
    last = size if end is None else end + size if end < 0 else end
    if not 0 <= first < last <= size:
        raise ShapeError(
            f"begin must be less than end, and both within axis {axis} of size {size}; got {begin} and {end}"
        )
    return data.narrow(axis, first, last - first)


@slice_axis.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    data = shapes["data"]
    if data is None:
        return []
    axis = normalize_axis(p.axis, len(data), "axis")
    sliced = len(range(*builtins.slice(p.begin, p.end).indices(data[axis])))
    return [(*data[:axis], data[axis] and sliced, *data[axis + 1 :])]


@slice_axis.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    out = outputs[0]
    if out is None or not -len(out) <= p.axis < len(out):
        return {}
    axis = p.axis % len(out)
    return {"data": (*out[:axis], 0, *out[axis + 1 :])}


@operator("slice_like", types={"data": "T", "shape_like": "any", "output": "T"})
def slice_like(data: Tensor, shape_like: Tensor, *, axes: tuple[int, ...] = ()) -> Tensor:
    """The beginning of `data`, as large as `shape_like`, on all axes or on those of `axes`.

    >>> slice_like(torch.arange(6).reshape(2, 3), torch.zeros(1, 2))
    tensor([[0, 1]])
    """
    if not axes and data.ndim != shape_like.ndim:
        raise ShapeError(
            f"shape_like must have as many axes as data, {tuple(data.shape)}; got {tuple(shape_like.shape)}"
        )
    out = data
    for axis in axes or range(data.ndim):
        at = normalize_axis(axis, data.ndim, "axes")  # counted on data for both, as MXNet does
        size = shape_like.shape[normalize_axis(at, shape_like.ndim, "axes")]
        if size > data.shape[at]:
            raise ShapeError(
                f"axis {at} of shape_like must be at most that of data, {tuple(data.shape)}; "
                f"got {tuple(shape_like.shape)}"
            )
        out = out.narrow(at, 0, size)
    return out


@operator("_slice_assign", "_crop_assign")
def slice_assign(lhs: Tensor, rhs: Tensor, *, begin: Bounds, end: Bounds, step: Bounds = ()) -> Tensor:
    """A copy of `lhs` whose region from `begin` up to `end` is `rhs`; differentiable in both.

    >>> slice_assign(torch.zeros(4), torch.ones(2), begin=(1,), end=(3,))
    tensor([0., 1., 1., 0.])
    """
    region = _region(tuple(lhs.shape), begin, end, step)
    if rhs.shape != region.shape:
        raise ShapeError(f"rhs must have the shape of the region, {region.shape}; got {tuple(rhs.shape)}")
    return _replaced(lhs, region, rhs)


@slice_assign.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    return [shapes["lhs"]]


@slice_assign.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    lhs = shapes["lhs"]
    if lhs is None or 0 in lhs:
        return {}
    return {"rhs": _region(lhs, p.begin, p.end, p.step).shape}


@slice_assign.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    return {"lhs": outputs[0]}


@operator("_slice_assign_scalar", "_crop_assign_scalar", same_shape=True)
def slice_assign_scalar(
    data: Tensor, *, scalar: Double = 0.0, begin: Bounds, end: Bounds, step: Bounds = ()
) -> Tensor:
    """A copy of `data` whose region from `begin` up to `end` is `scalar`.

    >>> slice_assign_scalar(torch.zeros(4), scalar=7.0, begin=(None,), end=(None,), step=(2,))
    tensor([7., 0., 7., 0.])
    """
    region = _region(tuple(data.shape), begin, end, step)
    value = (
        number_in(data.dtype, scalar)
        if data.is_floating_point()
        else whole_number(scalar, "scalar", data.dtype)
    )
    return _replaced(data, region, value)
