"""Images at other positions than their pixels: samplers that follow a grid, and the grids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from ..errors import ShapeError
from ..params import Params
from ..shapes import Shape
from ._derivative import differentiable_twice
from ._types import require_floating
from .declaration import Shapes, operator

__all__ = ["bilinear_sampler", "grid_generator", "spatial_transformer"]


def _wide(tensor: Tensor) -> Tensor:
    """Return numbers of 16 bits in float32: positions within an image need more digits than they have."""
    # bfloat16 has 8 bits of mantissa: positions beyond 256 pixels would collapse.
    return tensor.float() if tensor.dtype.itemsize == 2 else tensor


# MXNet counts a workspace among the outputs; of the next two operators, the grids.
@operator("BilinearSampler", counted=2)
def bilinear_sampler(data: Tensor, grid: Tensor, *, cudnn_off: bool | None = None) -> Tensor:
    """Values of images at the positions of a grid, interpolated between the four pixels around each.

    Positions run from -1, the middle of the first pixel, to 1, the middle of the last one. Beyond the image all
    is 0: a position less than a pixel outside fades into that. The gradient flows to the images and to the grid.

    Parameters
    ----------
    cudnn_off
        No effect here; accepted for old programs.

    Shapes
    ------
    data : (N, C, H, W)
    grid : (N, 2, H', W')      the horizontal position x, then the vertical one y
    out : (N, C, H', W')

    References
    ----------
    Jaderberg, Simonyan, Zisserman and Kavukcuoglu, Spatial Transformer Networks.

    Examples
    --------
    >>> data = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> grid = torch.tensor([[[[-1.0, 0.0]], [[-1.0, 0.0]]]])  # the first pixel, the middle
    >>> bilinear_sampler(data, grid)
    tensor([[[[1.0000, 2.5000]]]])
    """
    _check_sampler(tuple(data.shape), tuple(grid.shape))
    return _sampled(data, grid)


def _sampled(data: Tensor, grid: Tensor) -> Tensor:
    wide = _wide(data), _wide(grid)
    if torch.compiler.is_compiling():  # a compiler joins its operations, and has no better form of the other
        return _interpolated(*wide).to(dtype=data.dtype)
    return differentiable_twice(_grid_sample, _interpolated, *wide).to(dtype=data.dtype)


def _grid_sample(data: Tensor, grid: Tensor) -> Tensor:
    # The last argument, `align_corners`: -1 and 1 are the middles of the outermost pixels.
    return F.grid_sample(data, grid.movedim(1, -1), "bilinear", "zeros", True)


def _interpolated(data: Tensor, grid: Tensor) -> Tensor:
    """Do what `_grid_sample` does, in operations that can be differentiated twice."""
    batch, channels, height, width = data.shape
    # From [-1, 1] to pixels; -1 and 1 are the centres of the outermost ones.
    across = (grid[:, 0] + 1) * ((width - 1) / 2)
    down = (grid[:, 1] + 1) * ((height - 1) / 2)
    # The pixel at the upper left, and how far the position is beyond it.
    left, top = across.floor(), down.floor()
    right_share, lower_share = across - left, down - top
    pixels = data.flatten(2)
    total = torch.zeros((), dtype=data.dtype, device=data.device)
    for row, row_share in ((top, 1 - lower_share), (top + 1, lower_share)):
        for column, column_share in ((left, 1 - right_share), (left + 1, right_share)):
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            # Positions outside read pixel 0, with a share of 0.
            index = torch.where(inside, row * width + column, 0).long().flatten(1)
            corner = pixels.gather(2, index.unsqueeze(1).expand(-1, channels, -1))
            share = (row_share * column_share * inside).unsqueeze(1)
            total = total + corner.view(batch, channels, *grid.shape[2:]) * share
    return total


def _check_sampler(data: Shape, grid: Shape) -> None:
    if len(data) != 4:
        raise ShapeError(f"data must have 4 axes (N, C, H, W); got shape {data}")
    if len(grid) != 4 or grid[1] not in (0, 2):
        raise ShapeError(f"grid must have shape (N, 2, H, W); got {grid}")
    if data[0] and grid[0] and data[0] != grid[0]:
        raise ShapeError(f"grid must have the batch size of data, {data[0]}; got {grid[0]} in {grid}")


@bilinear_sampler.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data, grid = shapes["data"], shapes["grid"]
    if data is not None and grid is not None:
        _check_sampler(data, grid)
    return {
        "data": None if grid is None else (grid[0], 0, 0, 0),
        "grid": None if data is None else (data[0], 2, 0, 0),
    }


@operator("GridGenerator", counted=2)
def grid_generator(
    data: Tensor,
    *,
    transform_type: Literal["affine", "warp"],
    target_shape: tuple[int, ...] = (0, 0),
) -> Tensor:
    """Positions for `BilinearSampler`: those of an affine map, or of the pixels displaced by a flow.

    With ``'affine'`` the six numbers a to f of a sample make ``x' = a x + b y + c`` and ``y' = d x + e y + f`` of
    the positions x and y of the target, from -1 to 1. With ``'warp'`` the data is the displacement in pixels.

    On an axis with one pixel there is nothing between -1 and 1: it has the position 0 with ``'affine'``. (MXNet
    1.9.1 makes it nan, and nan or inf with ``'warp'``.)

    Parameters
    ----------
    transform_type
        ``'affine'`` or ``'warp'``.
    target_shape
        Height and width of the grid, for ``'affine'``.

    Shapes
    ------
    data : (N, 6)              with ``'warp'``: (N, 2, H, W), to the right and down
    out : (N, 2, H, W)         x, then y

    Examples
    --------
    >>> unchanged = torch.tensor([[1.0, 0.0, 0.0, 0.0, 1.0, 0.0]])
    >>> grid_generator(unchanged, transform_type="affine", target_shape=(2, 3))
    tensor([[[[-1.,  0.,  1.],
              [-1.,  0.,  1.]],
    <BLANKLINE>
             [[-1., -1., -1.],
              [ 1.,  1.,  1.]]]])
    """
    _check_grid(tuple(data.shape), transform_type)
    require_floating(data)
    wide = _wide(data)
    grid = _affine_grid(wide, target_shape) if transform_type == "affine" else _warped_grid(wide)
    return grid.to(dtype=data.dtype)


def _affine_grid(numbers: Tensor, target_shape: Shape) -> Tensor:
    # (N, 2, 3, 1, 1): the two rows of each map, for x and for y.
    maps = numbers.view(-1, 2, 3, 1, 1)
    # The last two axes of the grid: y changes along the first, x along the second.
    down, across = (_positions(n, numbers) for n in target_shape)
    # (N, 2, 1, 1) with (W,) and (H, 1): all positions of all samples by broadcasting.
    return maps[:, :, 0] * across + (maps[:, :, 1] * down.unsqueeze(1) + maps[:, :, 2])


def _positions(number: int, like: Tensor) -> Tensor:
    """Return the positions of pixels along an axis, from -1 to 1; that of a single one is 0."""
    # One pixel would otherwise be at -1, the edge.
    low, high = (-1.0, 1.0) if number > 1 else (0.0, 0.0)
    return torch.linspace(low, high, number, dtype=like.dtype, device=like.device)


def _warped_grid(flow: Tensor) -> Tensor:
    height, width = flow.shape[2:]
    across = torch.arange(width, dtype=flow.dtype, device=flow.device)
    down = torch.arange(height, dtype=flow.dtype, device=flow.device).unsqueeze(1)
    # A flow in pixels becomes positions from -1 to 1; max() avoids 0 / 0 for one pixel.
    x = (flow[:, 0] + across) / (max(width - 1, 1) / 2) - 1
    y = (flow[:, 1] + down) / (max(height - 1, 1) / 2) - 1
    return torch.stack((x, y), 1)


def _check_grid(data: Shape, transform_type: str) -> None:
    if transform_type == "affine":
        if len(data) != 2 or data[1] not in (0, 6):
            raise ShapeError(f"data must have shape (N, 6) with transform_type 'affine'; got {data}")
    elif len(data) != 4 or data[1] not in (0, 2):
        raise ShapeError(f"data must have shape (N, 2, H, W) with transform_type 'warp'; got {data}")


def _needs_target(p: Params) -> str | None:
    if p.transform_type == "affine" and (len(p.target_shape) != 2 or min(p.target_shape) < 1):
        return (
            f"target_shape must be two sizes >= 1, (H, W), with transform_type 'affine'; got {p.target_shape}"
        )
    return None


grid_generator.check(_needs_target)


@grid_generator.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data = shapes["data"]
    if data is None:
        return {}
    _check_grid(data, p.transform_type)
    return {"data": (data[0], 6) if p.transform_type == "affine" else (data[0], 2, *data[2:])}


@operator("SpatialTransformer", counted=3)
def spatial_transformer(
    data: Tensor,
    loc: Tensor,
    *,
    target_shape: tuple[int, ...] = (0, 0),
    transform_type: Literal["affine"],
    sampler_type: Literal["bilinear"],
    cudnn_off: bool | None = None,
) -> Tensor:
    """Images seen through an affine map: `BilinearSampler` on the grid that `GridGenerator` makes of `loc`.

    Parameters
    ----------
    target_shape
        Height and width of the result.
    transform_type
        ``'affine'``: ``x' = a x + b y + c`` and ``y' = d x + e y + f``, with the six numbers of `loc` in this order.
    sampler_type
        ``'bilinear'``: interpolated, with zeros outside of the image.
    cudnn_off
        No effect here; accepted for old programs.

    Shapes
    ------
    data : (N, C, H, W)
    loc : (N, 6)
    out : (N, C, *target_shape)

    References
    ----------
    Jaderberg, Simonyan, Zisserman and Kavukcuoglu, Spatial Transformer Networks.

    Examples
    --------
    >>> data = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> mirror = torch.tensor([[-1.0, 0.0, 0.0, 0.0, 1.0, 0.0]])
    >>> spatial_transformer(
    ...     data, mirror, target_shape=(2, 2), transform_type="affine", sampler_type="bilinear"
    ... )
    tensor([[[[2., 1.],
              [4., 3.]]]])
    """
    _check_transformer(tuple(data.shape), tuple(loc.shape))
    return _sampled(data, _affine_grid(_wide(loc), target_shape))


def _check_transformer(data: Shape, loc: Shape) -> None:
    if len(data) != 4:
        raise ShapeError(f"data must have 4 axes (N, C, H, W); got shape {data}")
    if len(loc) != 2 or loc[1] not in (0, 6) or (data[0] and loc[0] and data[0] != loc[0]):
        raise ShapeError(f"loc must have shape {(data[0], 6)} to match data {data}; got {loc}")


spatial_transformer.check(_needs_target)


@spatial_transformer.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data, loc = shapes["data"], shapes["loc"]
    if data is not None and loc is not None:
        _check_transformer(data, loc)
    return {
        "data": None if loc is None else (loc[0], 0, 0, 0),
        "loc": None if data is None else (data[0], 6),
    }


def _sampled_from(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    """Return what follows from the output: batch and channels of the data, and the sizes of a grid."""
    out = outputs[0]
    if out is None or len(out) != 4:
        return {}
    return {"data": (*out[:2], 0, 0), "grid": (out[0], 2, *out[2:])}


bilinear_sampler.shapes_from_outputs(_sampled_from)


spatial_transformer.shapes_from_outputs(_sampled_from)
