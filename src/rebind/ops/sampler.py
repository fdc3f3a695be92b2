"""Pictures at other places than their pixels: larger ones, and ones that follow a grid of positions."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from ..errors import DTypeError, ShapeError
from ..params import AtLeast, Params
from ..shapes import Shape
from ._derivative import differentiable_twice
from .spec import Shapes, operator

__all__ = ["bilinear_sampler", "grid_generator", "spatial_transformer", "up_sampling"]


def _wide(tensor: Tensor) -> Tensor:
    """Return numbers of 16 bits in float32: positions within a picture need more digits than they have."""
    return tensor.float() if tensor.dtype.itemsize == 2 else tensor


# ---- larger pictures ---------------------------------------------------------------------------------


@operator(
    "UpSampling",
    count="num_args",
    names=lambda p: ("data", "weight") if p.sample_type == "bilinear" else (),
    inits={"weight": '["bilinear", {}]'},
)
def up_sampling(
    *data: Tensor,
    scale: Annotated[int, AtLeast(1)],
    num_filter: Annotated[int, AtLeast(0)] = 0,
    sample_type: Literal["bilinear", "nearest"],
    multi_input_mode: Literal["concat", "sum"] = "concat",
    workspace: Annotated[int, AtLeast(0)] = 512,
) -> Tensor:
    """Pictures `scale` times as high and wide: each pixel repeated, or spread by a kernel.

    With ``'nearest'`` any number of arrays can be given. The first one sets the size of the result; the others are
    enlarged to it, by as much as they need. With ``'bilinear'`` there are two, the pictures and a kernel for each
    channel, and the result is the transposed convolution with it. The initializer ``Bilinear`` makes the kernels
    that interpolate; they are trained like other weights.

    Parameters
    ----------
    scale
        How often a pixel is repeated in both directions, or the stride.
    num_filter
        For ``'bilinear'``: the number of channels of the data; 0 stands for it too. (MXNet 1.9.1 dies of 0.)
    sample_type
        ``'nearest'`` or ``'bilinear'``.
    multi_input_mode
        What becomes of several arrays, with ``'nearest'``: ``'concat'`` joins their channels, ``'sum'`` adds them up.
    workspace
        No effect here; accepted for old programs.

    Shapes
    ------
    data : (N, C, H, W)                  further ones: (N, C', H', W'), sizes that divide those of the result
    weight : (C, 1, K, K)                with ``'bilinear'``; K = 2 * scale - scale % 2
    out : (N, channels, scale * H, scale * W)

    Examples
    --------
    >>> up_sampling(torch.tensor([[[[1.0, 2.0]]]]), scale=2, sample_type="nearest")
    tensor([[[[1., 1., 2., 2.],
              [1., 1., 2., 2.]]]])
    """
    if sample_type == "bilinear":
        if len(data) != 2:
            raise ShapeError(f"takes data and weight with sample_type 'bilinear'; got {len(data)}")
        wanted = _kernels(tuple(data[0].shape), scale, num_filter)
        if data[1].shape != wanted:
            raise ShapeError(
                f"weight must have shape {wanted} to match data {tuple(data[0].shape)}; "
                f"got {tuple(data[1].shape)}"
            )
        margin = (wanted[-1] - scale) // 2  # cut off on both sides: scale * H rows are left
        return F.conv_transpose2d(data[0], data[1], None, scale, margin, 0, data[0].shape[1])
    size = _enlarged([tuple(each.shape) for each in data], scale, multi_input_mode)
    larger = [_repeated(each, size) for each in data]
    if multi_input_mode == "sum" or len(larger) == 1:
        return functools.reduce(torch.add, larger)
    return torch.cat(larger, 1)


def _repeated(data: Tensor, size: tuple[int, int]) -> Tensor:
    """Return pictures of `size`, a multiple of their own, in one copy."""
    batch, channels, height, width = data.shape
    down, across = (whole // n if n else 1 for whole, n in zip(size, (height, width), strict=True))
    parts = data[:, :, :, None, :, None].expand(-1, -1, -1, down, -1, across)
    return parts.reshape(batch, channels, *size)


def _kernels(data: Shape, scale: int, num_filter: int) -> Shape:
    """Return the shape of the kernels of a bilinear enlargement."""
    if len(data) != 4:
        raise ShapeError(f"data must have 4 axes (N, C, H, W); got shape {data}")
    if num_filter and data[1] and num_filter != data[1]:
        raise ShapeError(
            f"num_filter must be the number of channels of data, {data[1]}, or 0; got {num_filter}"
        )
    width = 2 * scale - scale % 2
    return (data[1] or num_filter, 1, width, width)


def _enlarged(shapes: list[Shape], scale: int, mode: str) -> tuple[int, int]:
    """Return height and width of the result, to which all inputs must fit; sizes are known or 0."""
    if not shapes:
        raise ShapeError("needs at least one array; got none")
    for shape in shapes:
        if len(shape) != 4:
            raise ShapeError(f"data must have 4 axes (N, C, H, W); got shape {shape}")
    size = (scale * shapes[0][2], scale * shapes[0][3])
    alike = slice(2) if mode == "sum" else slice(1)
    for shape in shapes[1:]:
        if any(a and b and a != b for a, b in zip(shape[alike], shapes[0][alike], strict=True)):
            what = "batch and channels" if mode == "sum" else "batch"
            raise ShapeError(
                f"all arrays must have the same {what} with multi_input_mode {mode!r}; "
                f"got {shapes[0]} and {shape}"
            )
        if any(whole and n and whole % n for whole, n in zip(size, shape[2:], strict=True)):
            raise ShapeError(
                f"height and width of all arrays must divide those of the result, {size}; got {shape}"
            )
    return size


@up_sampling.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    if p.sample_type == "bilinear":
        data = shapes.get("data")
        return {} if data is None else {"weight": _kernels(data, p.scale, p.num_filter)}
    known = list(shapes.values())
    if known and known[0] is not None:
        _enlarged([shape for shape in known if shape is not None], p.scale, p.multi_input_mode)
    return {}


# ---- grids of positions ------------------------------------------------------------------------------


@operator("BilinearSampler", rows=2)
def bilinear_sampler(data: Tensor, grid: Tensor, *, cudnn_off: bool | None = None) -> Tensor:
    """Values of pictures at the positions of a grid, interpolated between the four pixels around each.

    Positions run from -1, the middle of the first pixel, to 1, the middle of the last one. Beyond the picture all
    is 0: a position less than a pixel outside fades into that. The gradient flows to the pictures and to the grid.

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
    return differentiable_twice(_grid_sample, _interpolated, _wide(data), _wide(grid)).to(data.dtype)


def _grid_sample(data: Tensor, grid: Tensor) -> Tensor:
    return F.grid_sample(data, grid.movedim(1, -1), "bilinear", "zeros", True)


def _interpolated(data: Tensor, grid: Tensor) -> Tensor:
    """Do what `_grid_sample` does, in operations that can be differentiated twice."""
    batch, channels, height, width = data.shape
    across = (grid[:, 0] + 1) * ((width - 1) / 2)
    down = (grid[:, 1] + 1) * ((height - 1) / 2)
    left, top = across.floor(), down.floor()
    right_share, lower_share = across - left, down - top
    pixels = data.flatten(2)
    total = torch.zeros((), dtype=data.dtype, device=data.device)
    for row, row_share in ((top, 1 - lower_share), (top + 1, lower_share)):
        for column, column_share in ((left, 1 - right_share), (left + 1, right_share)):
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
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


@operator("GridGenerator", rows=2)
def grid_generator(
    data: Tensor,
    *,
    transform_type: Literal["affine", "warp"],
    target_shape: tuple[int, ...] = (0, 0),
) -> Tensor:
    """Positions for `BilinearSampler`: those of an affine map, or of the pixels moved by a flow.

    With ``'affine'`` the six numbers a to f of an instance make ``x' = a x + b y + c`` and ``y' = d x + e y + f`` of
    the positions x and y of the target, from -1 to 1. With ``'warp'`` the data says by how many pixels to move.

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
    if not data.is_floating_point():
        raise DTypeError(f"data must be of a floating type; got {str(data.dtype).removeprefix('torch.')}")
    wide = _wide(data)
    grid = _affine_grid(wide, target_shape) if transform_type == "affine" else _warped_grid(wide)
    return grid.to(data.dtype)


def _affine_grid(numbers: Tensor, target_shape: Shape) -> Tensor:
    rows = numbers.view(-1, 2, 3, 1, 1)
    down, across = (_positions(n, numbers) for n in target_shape)
    return rows[:, :, 0] * across + (rows[:, :, 1] * down.unsqueeze(1) + rows[:, :, 2])


def _positions(number: int, like: Tensor) -> Tensor:
    """Return the positions of so many pixels, from -1 to 1; that of a single one is 0."""
    low, high = (-1.0, 1.0) if number > 1 else (0.0, 0.0)
    return torch.linspace(low, high, number, dtype=like.dtype, device=like.device)


def _warped_grid(flow: Tensor) -> Tensor:
    height, width = flow.shape[2:]
    across = torch.arange(width, dtype=flow.dtype, device=flow.device)
    down = torch.arange(height, dtype=flow.dtype, device=flow.device).unsqueeze(1)
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


@operator("SpatialTransformer", rows=3)
def spatial_transformer(
    data: Tensor,
    loc: Tensor,
    *,
    target_shape: tuple[int, ...] = (0, 0),
    transform_type: Literal["affine"],
    sampler_type: Literal["bilinear"],
    cudnn_off: bool | None = None,
) -> Tensor:
    """Pictures seen through an affine map: `BilinearSampler` on the grid that `GridGenerator` makes of `loc`.

    Parameters
    ----------
    target_shape
        Height and width of the result.
    transform_type
        ``'affine'``: ``x' = a x + b y + c`` and ``y' = d x + e y + f``, with the six numbers of `loc` in this order.
    sampler_type
        ``'bilinear'``: interpolated, with zeros outside of the picture.
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
    """Return what the output says: batch and channels of the data, and the sizes of a grid."""
    out = outputs[0]
    if out is None or len(out) != 4:
        return {}
    return {"data": (*out[:2], 0, 0), "grid": (out[0], 2, *out[2:])}


bilinear_sampler.shapes_from_outputs(_sampled_from)
spatial_transformer.shapes_from_outputs(_sampled_from)
