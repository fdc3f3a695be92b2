"""Elements repeated: broadcasting to a shape, tiles, borders."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from ..dtypes import number_in
from ..errors import ShapeError
from ..params import AtLeast, Params
from ..shapes import Shape, normalize_axis
from ._types import Double
from .declaration import Shapes, operator

__all__ = ["broadcast_axis", "broadcast_like", "broadcast_to", "pad", "repeat", "tile"]


@operator("broadcast_to")
def broadcast_to(data: Tensor, *, shape: tuple[int, ...] = ()) -> Tensor:
    """`data` repeated along axes of size 1 up to `shape`, in which 0 leaves a size as it is.

    >>> broadcast_to(torch.tensor([[1], [2]]), shape=(0, 3))
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    if len(shape) != data.ndim:
        raise ShapeError(f"shape must have {data.ndim} axes as data has, {tuple(data.shape)}; got {shape}")
    if 0 in shape:
        shape = tuple([n or m for n, m in zip(shape, data.shape, strict=True)])
    return _expanded(data, shape)


@operator("broadcast_axis", "broadcast_axes")
def broadcast_axis(data: Tensor, *, axis: tuple[int, ...] = (), size: tuple[int, ...] = ()) -> Tensor:
    """`data` repeated along some axes of size 1, up to the sizes given for them.

    >>> broadcast_axis(torch.tensor([[1], [2]]), axis=(1,), size=(2,))
    tensor([[1, 1],
            [2, 2]])
    """
    if len(axis) != len(size):
        raise ShapeError(f"axis and size must have the same length; got axis={axis} and size={size}")
    target = list(data.shape)
    for a, n in zip(axis, size, strict=True):
        a = normalize_axis(a, data.ndim, "axis")
        if data.shape[a] != 1:
            raise ShapeError(f"axis {a} must be of size 1; got data of shape {tuple(data.shape)}")
        target[a] = n
    return data.expand(*target)


@operator("broadcast_like", types={"lhs": "T", "rhs": "any", "output": "T"}, no_gradient=("rhs",))
def broadcast_like(
    lhs: Tensor,
    rhs: Tensor,
    *,
    lhs_axes: tuple[int, ...] | None = None,
    rhs_axes: tuple[int, ...] | None = None,
) -> Tensor:
    """`lhs` repeated along axes of size 1 up to the shape of `rhs`; with axes given, up to those of `rhs` only.

    >>> broadcast_like(torch.tensor([[1, 2]]), torch.zeros(2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    if lhs_axes is None and rhs_axes is None:
        if lhs.ndim != rhs.ndim:
            raise ShapeError(f"rhs must have as many axes as lhs, {tuple(lhs.shape)}; got {tuple(rhs.shape)}")
        return _expanded(lhs, rhs.shape)
    if not lhs_axes or not rhs_axes or len(lhs_axes) != len(rhs_axes):
        raise ShapeError(f"lhs_axes and rhs_axes must have the same length; got {lhs_axes} and {rhs_axes}")
    target = list(lhs.shape)
    for left, right in zip(lhs_axes, rhs_axes, strict=True):
        left = normalize_axis(left, lhs.ndim, "lhs_axes")
        target[left] = rhs.shape[normalize_axis(right, rhs.ndim, "rhs_axes")]
    return _expanded(lhs, target)


def _expanded(data: Tensor, target: Sequence[int]) -> Tensor:
    try:
        return data.expand(*target)
    except RuntimeError:
        raise ShapeError(
            f"data of shape {tuple(data.shape)} must broadcast to {tuple(target)}: sizes equal or 1"
        ) from None


@operator("tile")
def tile(data: Tensor, *, reps: tuple[Annotated[int, AtLeast(0)], ...]) -> Tensor:
    """`data` laid side by side, ``reps`` times along each axis.

    >>> tile(torch.tensor([1, 2]), reps=(2, 2))
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    return torch.tile(data, reps)


@operator("repeat")
def repeat(data: Tensor, *, repeats: Annotated[int, AtLeast(0)], axis: int | None = None) -> Tensor:
    """Each element, or each slice along `axis`, repeated; without an axis, of the flattened array.

    >>> repeat(torch.tensor([1, 2]), repeats=2)
    tensor([1, 1, 2, 2])
    """
    if axis is not None:
        axis = normalize_axis(axis, data.ndim, "axis")
    return torch.repeat_interleave(data, repeats, axis)


_PAD_MODES = {"constant": "constant", "edge": "replicate", "reflect": "reflect"}


@operator("Pad", "pad")
def pad(
    data: Tensor,
    *,
    mode: Literal["constant", "edge", "reflect"],
    pad_width: tuple[Annotated[int, AtLeast(0)], ...],
    constant_value: Double = 0.0,
) -> Tensor:
    """`data` with a border: of a constant, of the nearest element, or of a mirror image.

    `pad_width` holds two numbers for each axis, before and after. Only the modes ``edge`` and ``reflect`` ask
    for four or five axes, the first two of which are not padded; MXNet asks for it always.

    >>> pad(torch.tensor([1.0, 2.0]), mode="constant", pad_width=(1, 2))
    tensor([0., 1., 2., 0., 0.])
    """
    if len(pad_width) != 2 * data.ndim:
        raise ShapeError(f"pad_width must have two numbers for each of {data.ndim} axes; got {pad_width}")
    if mode == "constant":
        return torch.constant_pad_nd(data, _last_axis_first(pad_width), number_in(data.dtype, constant_value))
    if data.ndim not in (4, 5) or any(pad_width[:4]):
        raise ShapeError(
            f"with mode {mode!r} data must have 4 or 5 axes, and pad_width must be 0 for the first two; "
            f"got data of shape {tuple(data.shape)} and pad_width {pad_width}"
        )
    if mode == "reflect" and any(
        pad_width[2 * a + side] >= n for a, n in enumerate(data.shape) for side in (0, 1) if a > 1
    ):
        raise ShapeError(
            f"with mode 'reflect' pad_width must be less than the size of each axis of data {tuple(data.shape)}; "
            f"got {pad_width}"
        )
    # Batch and channels have no border here, and torch does not take them.
    return F.pad(data, _last_axis_first(pad_width[4:]), mode=_PAD_MODES[mode])


@functools.lru_cache(maxsize=1024)
def _last_axis_first(pad_width: tuple[int, ...]) -> tuple[int, ...]:
    # torch pads from the last axis; MXNet's numbers begin with the first.
    return tuple(n for at in range(len(pad_width) - 2, -1, -2) for n in pad_width[at : at + 2])


@pad.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    out = outputs[0]
    if out is None or len(p.pad_width) != 2 * len(out):
        return {}
    # ``n and``: a size that is unknown stays so.
    return {"data": tuple(n and n - sum(p.pad_width[2 * axis : 2 * axis + 2]) for axis, n in enumerate(out))}
