"""Axes added, dropped, exchanged and reversed; blocks of space as channels; diagonals.

Many results are views of their input; whether a result may share memory with it is for the callers to decide.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Annotated

import torch
from torch import Tensor

from ..errors import ShapeError
from ..params import AtLeast, Params
from ..shapes import Shape, normalize_axis
from .declaration import Shapes, operator

__all__ = [
    "depth_to_space",
    "diag",
    "expand_dims",
    "reverse",
    "space_to_depth",
    "squeeze",
    "swapaxes",
    "transpose",
]


@operator("expand_dims")
def expand_dims(data: Tensor, *, axis: int) -> Tensor:
    """`data` with a new axis of size 1 before position `axis`.

    Parameters
    ----------
    axis
        The position; a negative number counts from the end of the result.

    Examples
    --------
    >>> expand_dims(torch.zeros(2, 3), axis=1).shape
    torch.Size([2, 1, 3])
    """
    if not -data.ndim - 1 <= axis <= data.ndim:
        raise ShapeError(
            f"axis must be in [{-data.ndim - 1}, {data.ndim}] for data of {data.ndim} axes; got {axis}"
        )
    return data.unsqueeze(axis)


@expand_dims.output_shapes
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    data = shapes["data"]
    if data is None or not -len(data) - 1 <= p.axis <= len(data):
        return []
    axis = p.axis % (len(data) + 1)
    return [(*data[:axis], 1, *data[axis:])]


@expand_dims.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    out = outputs[0]
    if out is None or not -len(out) <= p.axis < len(out):
        return {}
    axis = p.axis % len(out)
    return {"data": out[:axis] + out[axis + 1 :]}


@operator("squeeze")
def squeeze(data: Tensor, *, axis: tuple[int, ...] | None = None) -> Tensor:
    """`data` without axes of size 1: those of `axis`, or all of them. One axis is always left.

    Parameters
    ----------
    axis
        The axes, each of size 1; all such axes by default.

    Examples
    --------
    >>> squeeze(torch.zeros(2, 1, 3)).shape
    torch.Size([2, 3])
    """
    if axis is None:
        out = data.squeeze()
    else:
        axes = [normalize_axis(a, data.ndim, "axis") for a in axis]
        if len(set(axes)) != len(axes):
            raise ShapeError(f"axis must not name an axis twice; got {axis}")
        if any(data.shape[a] != 1 for a in axes):
            raise ShapeError(f"axes {axis} must be of size 1; got data of shape {tuple(data.shape)}")
        out = data.squeeze(axes)
    # MXNet has no arrays without axes.
    return out if out.ndim else out.reshape(1)


@operator("transpose")
def transpose(data: Tensor, *, axes: tuple[int, ...] = ()) -> Tensor:
    """`data` with its axes in the order `axes`, by default reversed.

    >>> transpose(torch.zeros(2, 3, 4), axes=(1, 0, 2)).shape
    torch.Size([3, 2, 4])
    """
    if not axes:
        return torch.permute(data, tuple(range(data.ndim))[::-1])
    if not _is_order(axes, data.ndim):
        raise ShapeError(
            f"axes must name each of the {data.ndim} axes of data once; got {axes} for {tuple(data.shape)}"
        )
    return torch.permute(data, axes)


@functools.lru_cache(maxsize=4096)
def _is_order(axes: tuple[int, ...], ndim: int) -> bool:
    """Whether `axes` name each axis once; they may count from the end."""
    within = all(-ndim <= axis < ndim for axis in axes)
    return within and len(axes) == ndim and len({axis % ndim for axis in axes}) == ndim


@transpose.output_shapes
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    data = shapes["data"]
    if data is None or (p.axes and not _is_order(p.axes, len(data))):
        return []
    return [tuple(data[axis] for axis in p.axes) if p.axes else data[::-1]]


@transpose.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    out = outputs[0]
    if out is None:
        return {}
    if not p.axes:
        return {"data": out[::-1]}
    # Inconsistent axes are reported by the kernel.
    if not _is_order(p.axes, len(out)):
        return {}
    data = [0] * len(out)
    for position, axis in enumerate(p.axes):
        # Output axis `position` is data axis `axis`.
        data[axis] = out[position]
    return {"data": tuple(data)}


@operator("SwapAxis", "swapaxes")
def swapaxes(data: Tensor, *, dim1: int = 0, dim2: int = 0) -> Tensor:
    """`data` with two axes exchanged.

    >>> swapaxes(torch.zeros(2, 3, 4), dim1=0, dim2=2).shape
    torch.Size([4, 3, 2])
    """
    # The usual case pays for two comparisons, not for two calls.
    if not (-data.ndim <= dim1 < data.ndim and -data.ndim <= dim2 < data.ndim):
        normalize_axis(dim1, data.ndim, "dim1")
        normalize_axis(dim2, data.ndim, "dim2")
    return data.transpose(dim1, dim2)


@swapaxes.output_shapes
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    found = _swapped(shapes["data"], p)
    return [] if found is None else [found]


@swapaxes.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    found = _swapped(outputs[0], p)
    return {} if found is None else {"data": found}


def _swapped(shape: Shape | None, p: Params) -> Shape | None:
    """Return a shape with two sizes exchanged, which is what the other side has; None for axes that it lacks."""
    if shape is None or not (-len(shape) <= p.dim1 < len(shape) and -len(shape) <= p.dim2 < len(shape)):
        return None
    sizes = list(shape)
    sizes[p.dim1], sizes[p.dim2] = sizes[p.dim2], sizes[p.dim1]
    return tuple(sizes)


@operator("reverse", "flip", same_shape=True)
def reverse(data: Tensor, *, axis: tuple[int, ...]) -> Tensor:
    """`data` with the order along some axes reversed.

    Parameters
    ----------
    axis
        The axes.

    Examples
    --------
    >>> reverse(torch.tensor([[1, 2], [3, 4]]), axis=(1,))
    tensor([[2, 1],
            [4, 3]])
    """
    return torch.flip(data, [normalize_axis(a, data.ndim, "axis") for a in axis])


@operator("depth_to_space")
def depth_to_space(data: Tensor, *, block_size: Annotated[int, AtLeast(1)]) -> Tensor:
    """Channels rearranged into blocks of space.

    Shapes
    ------
    data : (N, C * block_size**2, H, W)
    out : (N, C, H * block_size, W * block_size)

    >>> depth_to_space(torch.arange(4).reshape(1, 4, 1, 1), block_size=2)
    tensor([[[[0, 1],
              [2, 3]]]])
    """
    n, c, h, w = _four_axes(data)
    if c % block_size**2:
        raise ShapeError(f"channels must be a multiple of block_size**2 = {block_size**2}; got {c}")
    # Channels hold the offset within a block first, as in MXNet (DCR order).
    blocks = data.reshape(n, block_size, block_size, c // block_size**2, h, w)
    # (N, block, block, C, H, W) to (N, C, H, block, W, block).
    return blocks.permute(0, 3, 4, 1, 5, 2).reshape(n, c // block_size**2, h * block_size, w * block_size)


@operator("space_to_depth")
def space_to_depth(data: Tensor, *, block_size: Annotated[int, AtLeast(1)]) -> Tensor:
    """Blocks of space rearranged into channels; undoes `depth_to_space`.

    Shapes
    ------
    data : (N, C, H * block_size, W * block_size)
    out : (N, C * block_size**2, H, W)

    >>> space_to_depth(torch.zeros(1, 3, 4, 6), block_size=2).shape
    torch.Size([1, 12, 2, 3])
    """
    n, c, h, w = _four_axes(data)
    if h % block_size or w % block_size:
        raise ShapeError(f"height and width must be multiples of {block_size}; got {h} and {w}")
    blocks = data.reshape(n, c, h // block_size, block_size, w // block_size, block_size)
    # (N, C, H, block, W, block) to (N, block, block, C, H, W): the same order of channels as in `depth_to_space`.
    return blocks.permute(0, 3, 5, 1, 2, 4).reshape(n, c * block_size**2, h // block_size, w // block_size)


def _four_axes(data: Tensor) -> torch.Size:
    if data.ndim != 4:
        raise ShapeError(f"data must have four axes (N, C, H, W); got shape {tuple(data.shape)}")
    return data.shape


@operator("diag")
def diag(data: Tensor, *, k: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Diagonals of `data`, or the matrix with a one-dimensional `data` on its diagonal `k`.

    >>> diag(torch.tensor([[1, 2], [3, 4]])), diag(torch.tensor([1, 2]))
    (tensor([1, 4]), tensor([[1, 0],
            [0, 2]]))
    """
    if data.ndim == 1:
        return torch.diag(data, k)
    first = normalize_axis(axis1, data.ndim, "axis1")
    second = normalize_axis(axis2, data.ndim, "axis2")
    if first == second:
        raise ShapeError(f"axis1 and axis2 must be different axes; got {axis1} and {axis2}")
    if not -data.shape[first] < k < data.shape[second]:
        raise ShapeError(
            f"k must be in [{1 - data.shape[first]}, {data.shape[second] - 1}], the diagonals of data of shape "
            f"{tuple(data.shape)}; got {k}"
        )
    return torch.diagonal(data, k, first, second)
