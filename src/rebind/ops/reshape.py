"""Operators that move elements about and compute nothing: shapes, axes, repetition.

Many return views of their input; whether a result may share memory with it is for the callers to decide.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from math import prod
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from ..errors import ShapeError
from ..params import AtLeast, Params
from ..shapes import Shape, normalize_axis
from .spec import Shapes, operator

__all__ = ["reshape_target"]


# ---- reshape ------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def reshape_target(shape: Shape, codes: tuple[int, ...], reverse: bool = False) -> Shape:
    """Return the shape that `codes` make of `shape`.

    ====  ===================================================================================
    code  what it gives
    ====  ===================================================================================
    n>0   n; a source axis is passed over
    0     the size of the source axis
    -1    what is left, once; a source axis is passed over
    -2    all source axes that are left
    -3    the product of the next two source axes
    -4    the source axis parted into the next two codes, one of which may be -1
    ====  ===================================================================================

    With `reverse` source axes and codes are matched from the right; the answer is in the usual order.

    Raises
    ------
    ShapeError
        When the codes ask for more axes than there are, or the sizes do not fit.

    Examples
    --------
    >>> reshape_target((2, 3, 4), (-3, 0)), reshape_target((2, 3, 4), (0, -4, -1, 3, -2))
    ((6, 4), (2, 1, 3, 4))
    >>> reshape_target((10, 5, 4), (-1, 0)), reshape_target((10, 5, 4), (-1, 0), reverse=True)
    ((40, 5), (50, 4))
    """
    source, pending = (shape[::-1], codes[::-1]) if reverse else (shape, codes)
    target: list[int] = []
    at = position = 0  # the next source axis, the next code
    asked = f"shape={codes}{' from the right' if reverse else ''}"

    def take(count: int) -> Sequence[int]:
        nonlocal at
        if at + count > len(source):
            raise ShapeError(f"{asked} needs more axes than data has; got {shape}")
        at += count
        return source[at - count : at]

    while position < len(pending):
        code = pending[position]
        position += 1
        if code == 0:
            target += take(1)
        elif code == -2:
            target += take(len(source) - at)
        elif code == -3:
            target.append(prod(take(2)))
        elif code == -4:
            target += _parted(take(1)[0], pending[position : position + 2], asked)
            position += 2
        elif code == -1 or code > 0:
            at = min(at + 1, len(source))
            target.append(code)
        else:
            raise ShapeError(
                f"codes of shape must be sizes or one of 0, -1, -2, -3, -4; got {code} in {codes}"
            )
    if reverse:
        target.reverse()
    return _filled(target, prod(shape), f"{asked} must fit data of shape {shape}")


def _parted(size: int, parts: Sequence[int], asked: str) -> Sequence[int]:
    """Return the two parts of an axis, one of which may be -1."""
    if len(parts) == 2:
        first, second = parts
        if first == -1 and second > 0:
            first = size // second
        elif second == -1 and first > 0:
            second = size // first
        if first > 0 and second > 0 and first * second == size:
            return first, second
        if size == 0 and min(first, second) >= 0:
            return first, second
    raise ShapeError(f"in {asked} two sizes, one of which may be -1, must follow -4 and part {size}")


def _filled(target: list[int], total: int, demand: str) -> Shape:
    """Return `target` with its -1 replaced so that it holds `total` elements."""
    if target.count(-1) > 1:
        raise ShapeError(f"shape must hold -1 at most once; {demand}")
    if -1 in target:
        known = -prod(target)
        if (total % known if known else total) != 0:
            raise ShapeError(f"{demand}; got {total} elements for {known}")
        target[target.index(-1)] = total // known if known else 0
    if prod(target) != total:
        raise ShapeError(f"{demand}; got {total} elements for {prod(target)}")
    return tuple(target)


@functools.lru_cache(maxsize=1024)
def _legacy_target(shape: Shape, target: tuple[int, ...], keep_highest: bool) -> Shape:
    """Return the shape that ``target_shape`` of old makes: one 0 is what is left."""
    wanted = list(target)
    if keep_highest and wanted:
        wanted[0] = shape[0]
        wanted[1:] = [n or -1 for n in wanted[1:]]
    else:
        wanted = [n or -1 for n in wanted]
    return _filled(wanted, prod(shape), f"target_shape={target} must fit data of shape {shape}")


@operator("Reshape", "reshape")
def reshape(
    data: Tensor,
    *,
    shape: tuple[int, ...] = (),
    reverse: bool = False,
    target_shape: tuple[int, ...] = (),
    keep_highest: bool = False,
) -> Tensor:
    """`data` in another shape, its elements in the same order.

    Codes in `shape` stand for source axes: 0 copies one, -1 is what is left, -2 copies all that are left, -3
    joins two, -4 parts one into the next two codes; with `reverse` they are matched from the right.
    `target_shape` and `keep_highest` are MXNet's older way: one 0 is what is left. Different from MXNet, a shape
    that does not fit is always an error.

    >>> reshape(torch.zeros(2, 3, 4), shape=(-3, 0)).shape
    torch.Size([6, 4])
    """
    if shape:
        return data.reshape(reshape_target(tuple(data.shape), shape, reverse))
    if target_shape:
        return data.reshape(_legacy_target(tuple(data.shape), target_shape, keep_highest))
    raise ShapeError(f"shape must be given; got () for data of shape {tuple(data.shape)}")


@reshape.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    return {"data": _complete(shapes["data"], outputs[0])}


def _complete(shape: Shape | None, other: Shape | None) -> Shape | None:
    """Return `shape` with its one unknown size such that it holds as many elements as `other`."""
    if shape is None or other is None or 0 in other or shape.count(0) != 1:
        return shape
    known = prod(n for n in shape if n)
    return tuple(n or prod(other) // known for n in shape) if prod(other) % known == 0 else shape


@operator("Flatten", "flatten")
def flatten(data: Tensor) -> Tensor:
    """`data` as a matrix: all axes but the first become one.

    Shapes
    ------
    data : (N, ...)
    out : (N, product of the others)
    """
    return data.flatten(1) if data.ndim > 1 else data.reshape(-1, 1)


@flatten.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    data, out = shapes["data"], outputs[0]
    if data and out and len(out) == 2:
        data = (data[0] or out[0], *data[1:])
    return {"data": _complete(data, out)}


@operator("reshape_like", types={"lhs": "T", "rhs": "any", "output": "T"})
def reshape_like(
    lhs: Tensor,
    rhs: Tensor,
    *,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
) -> Tensor:
    """`lhs` in the shape of `rhs`, or with some of its axes replaced by some of those of `rhs`.

    >>> reshape_like(
    ...     torch.zeros(30, 7), torch.zeros(15, 2, 4), lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2
    ... ).shape
    torch.Size([15, 2, 7])
    """
    first, last = _axis_range(lhs_begin, lhs_end, lhs.ndim, "lhs")
    start, stop = _axis_range(rhs_begin, rhs_end, rhs.ndim, "rhs")
    target = (*lhs.shape[:first], *rhs.shape[start:stop], *lhs.shape[last:])
    if prod(target) != lhs.numel():
        raise ShapeError(f"lhs must have as many elements as {target}; got {tuple(lhs.shape)}")
    return lhs.reshape(target)


def _axis_range(begin: int | None, end: int | None, ndim: int, side: str) -> tuple[int, int]:
    """Return the range of axes from `begin` to `end`, both of which may count from the end."""
    first = 0 if begin is None else normalize_axis(begin, ndim, f"{side}_begin")
    last = ndim if end is None else end + ndim if end < 0 else end
    if not first <= last <= ndim:
        raise ShapeError(f"{side}_end must be in [{first}, {ndim}]; got {end}")
    return first, last


# ---- axes ---------------------------------------------------------------------------------------------


@operator("expand_dims")
def expand_dims(data: Tensor, *, axis: int) -> Tensor:
    """`data` with a new axis of size 1 before position `axis`."""
    if not -data.ndim - 1 <= axis <= data.ndim:
        raise ShapeError(
            f"axis must be in [{-data.ndim - 1}, {data.ndim}] for data of {data.ndim} axes; got {axis}"
        )
    return data.unsqueeze(axis)


@expand_dims.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    out = outputs[0]
    if out is None or not -len(out) <= p.axis < len(out):
        return {}
    axis = p.axis % len(out)
    return {"data": out[:axis] + out[axis + 1 :]}


@operator("squeeze")
def squeeze(data: Tensor, *, axis: tuple[int, ...] | None = None) -> Tensor:
    """`data` without axes of size 1: those of `axis`, or all of them. One axis is always left."""
    if axis is None:
        out = data.squeeze()
    else:
        axes = [normalize_axis(a, data.ndim, "axis") for a in axis]
        if len(set(axes)) != len(axes):
            raise ShapeError(f"axis must not name an axis twice; got {axis}")
        if any(data.shape[a] != 1 for a in axes):
            raise ShapeError(f"axes {axis} must be of size 1; got data of shape {tuple(data.shape)}")
        out = data.squeeze(axes)
    return out if out.ndim else out.reshape(1)


@operator("transpose")
def transpose(data: Tensor, *, axes: tuple[int, ...] = ()) -> Tensor:
    """`data` with its axes in the order `axes`, by default reversed."""
    if not axes:
        return data.permute(*range(data.ndim - 1, -1, -1))
    if len(axes) != data.ndim or len({axis % data.ndim for axis in axes}) != data.ndim:
        raise ShapeError(
            f"axes must name each of the {data.ndim} axes of data once; got {axes} for {tuple(data.shape)}"
        )
    return data.permute(axes)


@transpose.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    out = outputs[0]
    if out is None:
        return {}
    if not p.axes:
        return {"data": out[::-1]}
    if sorted(axis % len(out) for axis in p.axes) != list(range(len(out))):
        return {}
    data = [0] * len(out)
    for position, axis in enumerate(p.axes):
        data[axis] = out[position]
    return {"data": tuple(data)}


@operator("SwapAxis", "swapaxes")
def swapaxes(data: Tensor, *, dim1: int = 0, dim2: int = 0) -> Tensor:
    """`data` with two axes exchanged."""
    if not (-data.ndim <= dim1 < data.ndim and -data.ndim <= dim2 < data.ndim):
        normalize_axis(dim1, data.ndim, "dim1")
        normalize_axis(dim2, data.ndim, "dim2")
    return data.transpose(dim1, dim2)


@swapaxes.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    out = outputs[0]
    if out is None or not (-len(out) <= p.dim1 < len(out) and -len(out) <= p.dim2 < len(out)):
        return {}
    data = list(out)
    data[p.dim1], data[p.dim2] = data[p.dim2], data[p.dim1]
    return {"data": tuple(data)}


@operator("reverse", "flip", alike=True)
def reverse(data: Tensor, *, axis: tuple[int, ...]) -> Tensor:
    """`data` with the order along some axes reversed."""
    return torch.flip(data, [normalize_axis(a, data.ndim, "axis") for a in axis])


@operator("depth_to_space")
def depth_to_space(data: Tensor, *, block_size: Annotated[int, AtLeast(1)]) -> Tensor:
    """Channels rearranged into blocks of space.

    Shapes
    ------
    data : (N, C * block_size**2, H, W)
    out : (N, C, H * block_size, W * block_size)
    """
    n, c, h, w = _four_axes(data)
    if c % block_size**2:
        raise ShapeError(f"channels must be a multiple of block_size**2 = {block_size**2}; got {c}")
    parts = data.reshape(n, block_size, block_size, c // block_size**2, h, w)
    return parts.permute(0, 3, 4, 1, 5, 2).reshape(n, c // block_size**2, h * block_size, w * block_size)


@operator("space_to_depth")
def space_to_depth(data: Tensor, *, block_size: Annotated[int, AtLeast(1)]) -> Tensor:
    """Blocks of space rearranged into channels; undoes `depth_to_space`.

    Shapes
    ------
    data : (N, C, H * block_size, W * block_size)
    out : (N, C * block_size**2, H, W)
    """
    n, c, h, w = _four_axes(data)
    if h % block_size or w % block_size:
        raise ShapeError(f"height and width must be multiples of {block_size}; got {h} and {w}")
    parts = data.reshape(n, c, h // block_size, block_size, w // block_size, block_size)
    return parts.permute(0, 3, 5, 1, 2, 4).reshape(n, c * block_size**2, h // block_size, w // block_size)


def _four_axes(data: Tensor) -> torch.Size:
    if data.ndim != 4:
        raise ShapeError(f"data must have four axes (N, C, H, W); got shape {tuple(data.shape)}")
    return data.shape


@operator("diag")
def diag(data: Tensor, *, k: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Diagonals of `data`, or the matrix with a one-dimensional `data` on its diagonal `k`."""
    if data.ndim == 1:
        return torch.diag(data, k)
    first = normalize_axis(axis1, data.ndim, "axis1")
    second = normalize_axis(axis2, data.ndim, "axis2")
    if first == second:
        raise ShapeError(f"axis1 and axis2 must be two axes; got {axis1} and {axis2}")
    if not -data.shape[first] < k < data.shape[second]:
        raise ShapeError(f"k must name a diagonal of data of shape {tuple(data.shape)}; got {k}")
    return torch.diagonal(data, k, first, second)


# ---- repetition ---------------------------------------------------------------------------------------


@operator("broadcast_to")
def broadcast_to(data: Tensor, *, shape: tuple[int, ...] = ()) -> Tensor:
    """`data` repeated along axes of size 1 up to `shape`, in which 0 keeps a size."""
    if len(shape) != data.ndim:
        raise ShapeError(f"shape must have {data.ndim} axes as data has, {tuple(data.shape)}; got {shape}")
    return _expanded(data, [n or m for n, m in zip(shape, data.shape, strict=True)])


@operator("broadcast_axis", "broadcast_axes")
def broadcast_axis(data: Tensor, *, axis: tuple[int, ...] = (), size: tuple[int, ...] = ()) -> Tensor:
    """`data` repeated along some axes of size 1, up to the sizes given for them."""
    if len(axis) != len(size):
        raise ShapeError(f"size must have one number for each axis; got {axis} and {size}")
    target = list(data.shape)
    for a, n in zip(axis, size, strict=True):
        a = normalize_axis(a, data.ndim, "axis")
        if data.shape[a] != 1:
            raise ShapeError(f"axis {a} must be of size 1; got data of shape {tuple(data.shape)}")
        target[a] = n
    return data.expand(target)


@operator("broadcast_like", types={"lhs": "T", "rhs": "any", "output": "T"})
def broadcast_like(
    lhs: Tensor,
    rhs: Tensor,
    *,
    lhs_axes: tuple[int, ...] | None = None,
    rhs_axes: tuple[int, ...] | None = None,
) -> Tensor:
    """`lhs` repeated along axes of size 1 up to the shape of `rhs`; with axes given, up to those of `rhs` only."""
    if lhs_axes is None and rhs_axes is None:
        if lhs.ndim != rhs.ndim:
            raise ShapeError(f"rhs must have as many axes as lhs, {tuple(lhs.shape)}; got {tuple(rhs.shape)}")
        return _expanded(lhs, rhs.shape)
    if not lhs_axes or not rhs_axes or len(lhs_axes) != len(rhs_axes):
        raise ShapeError(f"lhs_axes and rhs_axes must be alike long; got {lhs_axes} and {rhs_axes}")
    target = list(lhs.shape)
    for left, right in zip(lhs_axes, rhs_axes, strict=True):
        left = normalize_axis(left, lhs.ndim, "lhs_axes")
        target[left] = rhs.shape[normalize_axis(right, rhs.ndim, "rhs_axes")]
    return _expanded(lhs, target)


def _expanded(data: Tensor, target: Sequence[int]) -> Tensor:
    try:
        return data.expand(target)
    except RuntimeError:
        raise ShapeError(
            f"data of shape {tuple(data.shape)} must broadcast to {tuple(target)}: sizes equal or 1"
        ) from None


@operator("tile")
def tile(data: Tensor, *, reps: tuple[Annotated[int, AtLeast(0)], ...]) -> Tensor:
    """`data` laid side by side, ``reps`` times along each axis."""
    return torch.tile(data, reps)


@operator("repeat")
def repeat(data: Tensor, *, repeats: Annotated[int, AtLeast(0)], axis: int | None = None) -> Tensor:
    """Each element, or each slice along `axis`, repeated; without an axis, of the flattened array.

    >>> repeat(torch.tensor([1, 2]), repeats=2)
    tensor([1, 1, 2, 2])
    """
    if axis is None:
        data, axis = data.reshape(-1), 0
    axis = normalize_axis(axis, data.ndim, "axis")
    spread = data.unsqueeze(axis + 1).expand(*data.shape[: axis + 1], repeats, *data.shape[axis + 1 :])
    return spread.flatten(axis, axis + 1)


_PAD_MODES = {"constant": "constant", "edge": "replicate", "reflect": "reflect"}


@operator("Pad", "pad")
def pad(
    data: Tensor,
    *,
    mode: Literal["constant", "edge", "reflect"],
    pad_width: tuple[Annotated[int, AtLeast(0)], ...],
    constant_value: float = 0.0,
) -> Tensor:
    """`data` with a border: of a constant, of the nearest element, or of a mirror image.

    `pad_width` holds two numbers for each axis, before and after. Only the modes ``edge`` and ``reflect`` ask
    for four or five axes, the first two of which keep their sizes; MXNet asks for it always.
    """
    if len(pad_width) != 2 * data.ndim:
        raise ShapeError(f"pad_width must have two numbers for each of {data.ndim} axes; got {pad_width}")
    if mode == "constant":
        return F.pad(data, _last_axis_first(pad_width), value=constant_value)
    if data.ndim not in (4, 5) or any(pad_width[:4]):
        raise ShapeError(
            f"mode {mode!r} pads all but the first two of four or five axes; "
            f"got data of shape {tuple(data.shape)} and pad_width {pad_width}"
        )
    if mode == "reflect" and any(
        pad_width[2 * a + side] >= n for a, n in enumerate(data.shape) for side in (0, 1) if a > 1
    ):
        raise ShapeError(
            f"mode 'reflect' needs a pad_width below the sizes {tuple(data.shape)}; got {pad_width}"
        )
    return F.pad(data, _last_axis_first(pad_width[4:]), mode=_PAD_MODES[mode])


def _last_axis_first(pad_width: tuple[int, ...]) -> list[int]:
    return [n for at in range(len(pad_width) - 2, -1, -2) for n in pad_width[at : at + 2]]


@pad.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    out = outputs[0]
    if out is None or len(p.pad_width) != 2 * len(out):
        return {}
    return {"data": tuple(n and n - sum(p.pad_width[2 * axis : 2 * axis + 2]) for axis, n in enumerate(out))}
