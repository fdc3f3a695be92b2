"""Parts of arrays by ranges, and arrays with such a part replaced.

Whether a part may share memory with the array that it comes from is for the callers to decide.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..errors import ShapeError
from ..params import Params
from ..shapes import Shape, normalize_axis
from ._spec import Shapes, operator

Bounds = tuple[int | None, ...]


def _ranges(shape: Sequence[int], begin: Bounds, end: Bounds, step: Bounds, who: str) -> list[range]:
    """Return the indices that are chosen along each of the first axes."""
    if len(begin) != len(end) or (step and len(step) != len(begin)):
        raise ShapeError(f"{who}: begin, end and step must be alike long; got {begin}, {end} and {step}")
    if len(begin) > len(shape):
        raise ShapeError(f"{who}: begin must not be longer than data has axes, {tuple(shape)}; got {begin}")
    if 0 in step:
        raise ShapeError(f"{who}: step must not be 0; got {step}")
    steps = step or (None,) * len(begin)
    slices = map(builtins.slice, begin, end, steps)
    return [range(*part.indices(size)) for part, size in zip(slices, shape, strict=False)]


def _chosen(data: Tensor, ranges: Sequence[range]) -> Tensor:
    """Return the part of `data` in `ranges`: a view but for axes that run backwards, which torch must copy."""
    backwards = []
    index: list[Any] = []
    for axis, chosen in enumerate(ranges):
        if chosen.step < 0:
            backwards.append(axis)
            chosen = chosen[::-1]
        index.append(builtins.slice(chosen.start, max(chosen.stop, chosen.start), chosen.step))
    part = data[tuple(index)]
    return torch.flip(part, backwards) if backwards else part


def _replaced(data: Tensor, ranges: Sequence[range], value: Tensor | float) -> Tensor:
    """Return a copy of `data` with the part in `ranges` replaced."""
    out = data.clone()
    backwards = [axis for axis, chosen in enumerate(ranges) if chosen.step < 0]
    forwards = [chosen[::-1] if chosen.step < 0 else chosen for chosen in ranges]
    index = tuple(builtins.slice(c.start, max(c.stop, c.start), c.step) for c in forwards)
    if isinstance(value, Tensor):
        out[index] = torch.flip(value, backwards) if backwards else value
    else:
        out[index] = value
    return out


@operator("slice", "crop")
def slice(data: Tensor, *, begin: Bounds, end: Bounds, step: Bounds = ()) -> Tensor:
    """Part of `data` from `begin` up to `end`, as Python slices of its first axes; None is "all the way".

    >>> slice(torch.arange(12).reshape(3, 4), begin=(0, None), end=(2, None), step=(1, -2))
    tensor([[3, 1],
            [7, 5]])
    """
    return _chosen(data, _ranges(data.shape, begin, end, step, "slice"))


@slice.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    data, out = shapes["data"], outputs[0]
    if data is None or out is None or len(data) != len(out):
        return {}
    at = len(p.begin)  # the axes behind are whole
    return {"data": (*data[:at], *out[at:])}


@operator("slice_axis")
def slice_axis(data: Tensor, *, axis: int, begin: int, end: int | None) -> Tensor:
    """Part of `data` from `begin` up to `end` along one axis; both may count from the end.

    >>> slice_axis(torch.arange(5), axis=0, begin=-3, end=None)
    tensor([2, 3, 4])
    """
    axis = normalize_axis(axis, data.ndim, "slice_axis: axis")
    size = data.shape[axis]
    first = begin + size if begin < 0 else begin
    last = size if end is None else end + size if end < 0 else end
    if not 0 <= first < last <= size:
        raise ShapeError(
            f"slice_axis: begin and end must choose a part of axis {axis} of size {size}; got {begin} and {end}"
        )
    return data.narrow(axis, first, last - first)


@slice_axis.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    out = outputs[0]
    if out is None or not -len(out) <= p.axis < len(out):
        return {}
    axis = p.axis % len(out)
    return {"data": (*out[:axis], 0, *out[axis + 1 :])}


@operator("slice_like", types={"data": "T", "shape_like": "any", "output": "T"})
def slice_like(data: Tensor, shape_like: Tensor, *, axes: tuple[int, ...] = ()) -> Tensor:
    """The first part of `data`, as large as `shape_like`, on all axes or on those of `axes`."""
    if not axes and data.ndim != shape_like.ndim:
        raise ShapeError(
            f"slice_like: shape_like must have as many axes as data, {tuple(data.shape)}; got {tuple(shape_like.shape)}"
        )
    out = data
    for axis in axes or range(data.ndim):
        at = normalize_axis(axis, data.ndim, "slice_like: axes")  # counted on data for both, as MXNet does
        size = shape_like.shape[normalize_axis(at, shape_like.ndim, "slice_like: axes")]
        if size > data.shape[at]:
            raise ShapeError(
                f"slice_like: shape_like must not be larger than data, {tuple(data.shape)}; got {tuple(shape_like.shape)}"
            )
        out = out.narrow(at, 0, size)
    return out


@operator("_slice_assign", "_crop_assign")
def slice_assign(lhs: Tensor, rhs: Tensor, *, begin: Bounds, end: Bounds, step: Bounds = ()) -> Tensor:
    """A copy of `lhs` whose part from `begin` up to `end` is `rhs`; differentiable in both."""
    ranges = _ranges(lhs.shape, begin, end, step, "_slice_assign")
    part = (*map(len, ranges), *lhs.shape[len(ranges) :])
    if rhs.shape != part:
        raise ShapeError(f"_slice_assign: rhs must have the shape of the part, {part}; got {tuple(rhs.shape)}")
    return _replaced(lhs, ranges, rhs)


@slice_assign.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    lhs = shapes["lhs"]
    if lhs is None or 0 in lhs:
        return {}
    ranges = _ranges(lhs, p.begin, p.end, p.step, "_slice_assign")
    return {"rhs": (*map(len, ranges), *lhs[len(ranges) :])}


@slice_assign.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    return {"lhs": outputs[0]}


@operator("_slice_assign_scalar", "_crop_assign_scalar", alike=True)
def slice_assign_scalar(
    data: Tensor, *, scalar: float = 0.0, begin: Bounds, end: Bounds, step: Bounds = ()
) -> Tensor:
    """A copy of `data` whose part from `begin` up to `end` is `scalar`."""
    ranges = _ranges(data.shape, begin, end, step, "_slice_assign_scalar")
    return _replaced(data, ranges, scalar if data.is_floating_point() else int(scalar))
