"""Larger images: each pixel repeated, or spread by a kernel."""

from __future__ import annotations

import functools
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from ..errors import ShapeError
from ..params import AtLeast, Params
from ..shapes import Shape
from ._types import Workspace
from .declaration import Shapes, operator
from .nn.window_slices import spread, suits

__all__ = ["up_sampling"]

#: Copies of a pixel up to which torch's interpolation, which counts in float32, finds it; of 41 it takes a neighbour.
_EXACT = 32


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
    workspace: Workspace = 512,
) -> Tensor:
    """Images `scale` times as high and wide: each pixel repeated, or spread by a kernel.

    With ``'nearest'`` any number of arrays can be given. The first one sets the size of the result; the others are
    enlarged to it, by as much as they need. With ``'bilinear'`` there are two, the images and a kernel for each
    channel, and the result is the transposed convolution with it. The initializer ``Bilinear`` makes the kernels
    that interpolate; they are trained like other weights.

    Parameters
    ----------
    scale
        How often a pixel is repeated in both directions, or the stride.
    num_filter
        For ``'bilinear'``: the number of channels of the data; 0 means it too. (MXNet 1.9.1 crashes with 0.)
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
            raise ShapeError(
                f"two arrays, data and weight, must be given with sample_type 'bilinear'; got {len(data)}"
            )
        wanted = _kernels(tuple(data[0].shape), scale, num_filter)
        if data[1].shape != wanted:
            raise ShapeError(
                f"weight must have shape {wanted} to match data {tuple(data[0].shape)}; "
                f"got {tuple(data[1].shape)}"
            )
        margin = (wanted[-1] - scale) // 2  # cut off on both sides: scale * H rows are left
        # One group for each channel: none of them sees another.
        return F.conv_transpose2d(data[0], data[1], None, scale, margin, 0, data[0].shape[1])
    size = _enlarged([tuple(each.shape) for each in data], scale, multi_input_mode)
    larger = [_repeated(each, size) for each in data]
    if multi_input_mode == "sum" or len(larger) == 1:
        return functools.reduce(torch.add, larger)
    return torch.cat(larger, 1)


def _repeated(data: Tensor, size: tuple[int, int]) -> Tensor:
    """Return images of `size`, a multiple of their own, in one copy."""
    batch, channels, height, width = data.shape
    down, across = (whole // n if n else 1 for whole, n in zip(size, (height, width), strict=True))
    if (
        not data.is_contiguous()
        and data.is_contiguous(memory_format=torch.channels_last)
        and data.is_floating_point()
        and max(down, across) <= _EXACT
    ):
        return F.interpolate(data, size, mode="nearest")
    if suits(data, (down, across), (down, across)):
        return spread(data, (down, across))
    # A view with an axis for the copies of a row and one for those of a column; `reshape` copies it once.
    repeated = data[:, :, :, None, :, None].expand(-1, -1, -1, down, -1, across)
    return repeated.reshape(batch, channels, *size)


def _kernels(data: Shape, scale: int, num_filter: int) -> Shape:
    """Return the shape of the kernels of a bilinear enlargement."""
    if len(data) != 4:
        raise ShapeError(f"data must have 4 axes (N, C, H, W); got shape {data}")
    if num_filter and data[1] and num_filter != data[1]:
        raise ShapeError(
            f"num_filter must be the number of channels of data, {data[1]}, or 0; got {num_filter}"
        )
    # The kernel that overlaps its neighbours such that weights of a pixel sum to 1.
    width = 2 * scale - scale % 2
    return (data[1] or num_filter, 1, width, width)


def _enlarged(shapes: list[Shape], scale: int, mode: str) -> tuple[int, int]:
    """Return height and width of the result, to which all inputs must fit; sizes are known or 0."""
    if not shapes:
        raise ShapeError("needs at least one array; got none")
    for shape in shapes:
        if len(shape) != 4:
            raise ShapeError(f"data must have 4 axes (N, C, H, W); got shape {shape}")
    # The first input sets the size of the result.
    size = (scale * shapes[0][2], scale * shapes[0][3])
    common = slice(2) if mode == "sum" else slice(1)
    for shape in shapes[1:]:
        # 0 is unknown and fits everything.
        if any(a and b and a != b for a, b in zip(shape[common], shapes[0][common], strict=True)):
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
