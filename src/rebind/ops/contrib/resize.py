"""Pictures of other sizes: means over windows, and interpolation."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Annotated, Literal

import torch.nn.functional as F
from torch import Tensor

from ...errors import DTypeError, ShapeError
from ...params import AtLeast, Listed, Params
from ...shapes import Shape
from ..declaration import Shapes, operator

__all__ = ["adaptive_avg_pooling", "bilinear_resize"]


def _check_pictures(name: str, shape: Shape) -> None:
    if len(shape) != 4:
        raise ShapeError(f"{name} must have 4 axes (N, C, H, W); got shape {shape}")


def _empty(data: Tensor, size: tuple[int, int]) -> Tensor:
    """Return the result for no pictures, or for pictures without channels, which torch does not take."""
    # The sum, 0, makes the result a function of data for autograd.
    return data.new_zeros(*data.shape[:2], *size) + data.sum()


@operator("_contrib_AdaptiveAvgPooling2D")
def adaptive_avg_pooling(
    data: Tensor, *, output_size: Annotated[tuple[int, ...] | None, AtLeast(1), Listed("Shape(tuple)")] = ()
) -> Tensor:
    """Means over a grid of `output_size` windows that cover the whole picture.

    Window i of n along an axis of size s reaches from ``floor(i s / n)`` up to ``ceil((i + 1) s / n)``; neighbours
    overlap where n does not divide s.

    Parameters
    ----------
    output_size
        Height and width of the result, or one number for both; 1 when left out: the mean of the picture.

    Shapes
    ------
    data : (N, C, H, W)
    out : (N, C, *output_size)

    Examples
    --------
    >>> import torch
    >>> adaptive_avg_pooling(torch.tensor([[[[1.0, 2.0, 3.0]]]]), output_size=(1, 2))
    tensor([[[[1.5000, 2.5000]]]])
    """
    _check_pictures("data", tuple(data.shape))
    if not data.is_floating_point():
        raise DTypeError(f"data must be of a floating type; got {str(data.dtype).removeprefix('torch.')}")
    # One number is both sides; none, a single window.
    height, width = output_size * 2 if output_size and len(output_size) == 1 else output_size or (1, 1)
    if not data.numel():
        return _empty(data, (height, width))
    return F.adaptive_avg_pool2d(data, (height, width))


@adaptive_avg_pooling.check
def _(p: Params) -> str | None:
    if p.output_size and len(p.output_size) > 2:
        return f"output_size must be an int or two of them, (H, W); got {p.output_size}"
    return None


@adaptive_avg_pooling.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    if shapes["data"] is not None:
        _check_pictures("data", shapes["data"])
    return {}


@operator(
    "_contrib_BilinearResize2D",
    skip=lambda name, p: name == "like" and p.mode != "like",
    types={"like": "any"},
)
def bilinear_resize(
    data: Tensor,
    like: Tensor | None = None,
    *,
    height: Annotated[int, AtLeast(1)] = 1,
    width: Annotated[int, AtLeast(1)] = 1,
    scale_height: float | None = None,
    scale_width: float | None = None,
    mode: Literal[
        "like", "odd_scale", "size", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"
    ] = "size",
    align_corners: bool = True,
) -> Tensor:
    """Pictures of another height and width, interpolated linearly in both directions.

    Parameters
    ----------
    height, width
        Sizes of the result, for the mode ``'size'``.
    scale_height, scale_width
        What to multiply the sizes of the data by, for ``'size'``, instead of `height` and `width`, and for
        ``'odd_scale'``. (MXNet 1.9.1 fails at `scale_height` alone, and ignores `scale_width` alone.)
    mode
        ``'size'``; ``'like'``: the sizes of the array `like`; ``'odd_scale'``: the scaled size, for an odd one
        ``(size - 1) * scale + 1``; ``'to_even_down'``, ``'to_even_up'``, ``'to_odd_down'``, ``'to_odd_up'``: the next
        even or odd size below or above, if it is not that already.
    align_corners
        The middles of the pixels in the corners lie on each other (the default); otherwise the outer edges do.

    Shapes
    ------
    data : (N, C, H, W)
    like : (..., height, width), four axes      with mode ``'like'``; it gets no gradient
    out : (N, C, height, width)

    Examples
    --------
    >>> import torch
    >>> bilinear_resize(torch.tensor([[[[1.0, 3.0]]]]), width=3)
    tensor([[[[1., 2., 3.]]]])
    """
    like_shape = None if like is None else tuple(like.shape)
    size = _resized(tuple(data.shape), like_shape, mode, (height, scale_height), (width, scale_width))
    if not align_corners:
        # A single pixel is MXNet's first one, where torch takes the middle.
        if size[0] == 1:
            data = data[:, :, :1]
        if size[1] == 1:
            data = data[:, :, :, :1]
    if not data.numel():
        return _empty(data, size)
    return F.interpolate(data, size, mode="bilinear", align_corners=align_corners)


def _resized(data: Shape, like: Shape | None, mode: str, *given: tuple[int, float | None]) -> tuple[int, int]:
    """Return height and width of the result; `given` are for each of them the size and the scale."""
    _check_pictures("data", data)
    if mode == "like":
        if like is None:
            raise ShapeError("like must be given with mode 'like'; got None")
        _check_pictures("like", like)
        return like[2], like[3]
    height, width = (_size(n, *each, mode) for n, each in zip(data[2:], given, strict=True))
    if (height < 1 and data[2]) or (width < 1 and data[3]):
        raise ShapeError(
            f"the result must be at least 1 pixel high and 1 pixel wide; got height {height} and width {width} "
            f"for data {data} with mode {mode!r}"
        )
    return height, width


def _size(n: int, given: int, scale: float | None, mode: str) -> int:
    if mode == "size":
        return given if scale is None else _times(n, scale)
    if mode == "odd_scale":
        assert scale is not None  # the parameters were checked
        # Even steps between odd sizes: the first and the last pixel stay where they are.
        return _times(n - 1, scale) + 1 if n % 2 else _times(n, scale)
    # The four modes to_{even,odd}_{up,down}: a size that is right already is left.
    right = n % 2 == (mode in ("to_odd_down", "to_odd_up"))
    return n if right else n + 1 if mode.endswith("up") else n - 1


def _times(n: int, scale: float) -> int:
    """Return ``n * scale`` without its fraction, rounded to float32 before as in MXNet: 10 * 0.7 is 7."""
    # Through C's float and back, without an array.
    single = struct.unpack("f", struct.pack("f", scale))[0]
    return int(struct.unpack("f", struct.pack("f", n * single))[0])


@bilinear_resize.check
def _(p: Params) -> str | None:
    for name in ("scale_height", "scale_width"):
        if p[name] is not None and not 0 < p[name] < float("inf"):
            return f"{name} must be above 0; got {p[name]}"
        if p[name] is None and p.mode == "odd_scale":
            return f"{name} must be given with mode 'odd_scale'; got None"
    return None


@bilinear_resize.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data, like = shapes["data"], shapes.get("like")
    if like is not None:
        _check_pictures("like", like)
    if data is not None and p.mode != "like":
        _resized(data, None, p.mode, (p.height, p.scale_height), (p.width, p.scale_width))
    return {}


@bilinear_resize.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    out = outputs[0]
    if out is None or len(out) != 4:
        return {}
    return {"data": (*out[:2], 0, 0), "like": (0, 0, *out[2:])}
