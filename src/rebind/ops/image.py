"""Pictures as arrays: ``nd.image.X`` and ``sym.image.X``. Sizes, flips, colours, and the same by chance.

A picture is an array (H, W, C) of numbers from 0 to 255; in a network it is (C, H, W), see `to_tensor`. Whole numbers
are cut towards 0, and uint8 is first kept within 0 and 255. What is drawn comes from the `generator` and stays on the
device.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import torch
from torch import Tensor

from ..errors import DTypeError, ShapeError
from ..params import AtLeast, Between, Params
from .spec import Operator, operator

Factor = Annotated[float, AtLeast(0)]
Interpolation = Annotated[int, Between(0, 4)]

# Share of red, green and blue in the brightness of a colour (ITU-R BT.601).
_LUMA = (0.299, 0.587, 0.114)
# Principal components of the colours of ImageNet's pixels, each multiplied by its standard deviation
# (Krizhevsky, Sutskever, Hinton: ImageNet Classification with Deep Convolutional Neural Networks, 2012).
_DEVIATIONS = (55.46, 4.794, 1.148)
_COMPONENTS = ((-0.5675, 0.7192, 0.4009), (-0.5808, -0.0045, -0.8140), (-0.5836, -0.6948, 0.4203))


def _check_axes(data: Tensor, layout: str = "H, W, C", batch: bool = True) -> None:
    if data.ndim != 3 and not (batch and data.ndim == 4):
        wanted = f"({layout}) or (N, {layout})" if batch else f"({layout})"
        raise ShapeError(f"data must have shape {wanted}; got {tuple(data.shape)}")


def _check_channels(data: Tensor, axis: int = -1) -> None:
    if data.shape[axis] not in (1, 3):
        raise ShapeError(f"data must have 1 or 3 channels in axis {axis}; got shape {tuple(data.shape)}")


def _check_colours(data: Tensor, batch: bool = False) -> None:
    _check_axes(data, batch=batch)
    _check_channels(data)


def _compute(data: Tensor) -> Tensor:
    """Return `data` in the type to compute in."""
    return data if data.dtype in (torch.float32, torch.float64) else data.to(torch.float32)


def _store(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Return `values` as a picture of type `dtype`."""
    if dtype is torch.uint8:
        values = values.clamp(0, 255)
    elif dtype is torch.int8:  # what does not fit wraps around, as a cast in C does
        values = values.to(torch.int32)
    return values.to(dtype)


def _draw(low: float, high: float, data: Tensor, generator: torch.Generator | None) -> Tensor:
    """Return one number from the uniform distribution on ``[low, high)``, as an array without axes."""
    drawn = torch.rand((), generator=generator, dtype=data.dtype, device=data.device)
    return low + (high - low) * drawn


# ---- from pictures to the inputs of networks ----------------------------------------------------------


@operator("_image_to_tensor", types={"data": "any", "output": torch.float32})
def to_tensor(data: Tensor) -> Tensor:
    """Numbers from 0 to 1 as float32, channels first: `data` divided by 255.

    Shapes
    ------
    data : (H, W, C) or (N, H, W, C)
    out : (C, H, W) or (N, C, H, W)

    >>> to_tensor(torch.tensor([[[255, 0, 51]]], dtype=torch.uint8)).flatten()
    tensor([1.0000, 0.0000, 0.2000])
    """
    _check_axes(data)
    return data.movedim(-1, -3).to(torch.float32) / 255


@operator("_image_normalize")
def normalize(
    data: Tensor,
    *,
    mean: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0),
    std: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0),
) -> Tensor:
    """``(data - mean) / std`` for each channel.

    Different from MXNet, which refuses its own defaults, `mean` and `std` may be left out.

    Parameters
    ----------
    mean, std
        A number for all channels, or one for each; the default for none.

    Shapes
    ------
    data, out : (C, H, W) or (N, C, H, W)     C is 1 or 3

    >>> normalize(torch.ones(3, 1, 1), mean=(0.5,), std=(0.25, 0.5, 1.0)).flatten()
    tensor([2.0000, 1.0000, 0.5000])
    """
    _check_axes(data, "C, H, W")
    _check_channels(data, -3)
    if not data.is_floating_point():
        raise DTypeError(
            "data must be of a floating type; "
            f"got {str(data.dtype).removeprefix('torch.')}. Convert it with image.to_tensor()."
        )
    return (data - _per_channel("mean", mean, 0.0, data)) / _per_channel("std", std, 1.0, data)


def _per_channel(name: str, numbers: tuple[float, ...], default: float, data: Tensor) -> Tensor | float:
    if numbers == (default,) * 4:  # not given
        return default
    if len(numbers) not in (1, data.shape[-3]):
        raise ShapeError(
            f"{name} must hold 1 number or {data.shape[-3]}, one for each channel of data of shape "
            f"{tuple(data.shape)}; got {numbers}"
        )
    return torch.tensor(numbers, dtype=data.dtype, device=data.device).reshape(-1, 1, 1)


# ---- parts and sizes ----------------------------------------------------------------------------------


@operator("_image_crop")
def crop(
    data: Tensor,
    *,
    x: Annotated[int, AtLeast(0)],
    y: Annotated[int, AtLeast(0)],
    width: Annotated[int, AtLeast(1)],
    height: Annotated[int, AtLeast(1)],
) -> Tensor:
    """The part of `width` and `height` whose first column is `x` and whose first row is `y`.

    Shapes
    ------
    data : (H, W, C) or (N, H, W, C)
    out : (height, width, C) or (N, height, width, C)

    >>> crop(torch.arange(6).reshape(2, 3, 1), x=1, y=0, width=2, height=1).flatten()
    tensor([1, 2])
    """
    _check_axes(data)
    if y + height > data.shape[-3] or x + width > data.shape[-2]:
        raise ShapeError(
            f"x + width must be at most {data.shape[-2]} and y + height at most {data.shape[-3]} for data "
            f"of shape {tuple(data.shape)}; got {x} + {width} and {y} + {height}"
        )
    return data[..., y : y + height, x : x + width, :]


@operator("_image_resize")
def resize(
    data: Tensor, *, size: tuple[int, ...] = (), keep_ratio: bool = False, interp: Interpolation = 1
) -> Tensor:
    """`data` in another size, as OpenCV resizes a picture.

    Each new pixel is a weighted sum of old ones, along columns and along rows. For floating types the weights are
    float32; for uint8 they are whole multiples of 1/2048, and sums are rounded as by OpenCV 3.4, which MXNet holds.

    Parameters
    ----------
    size
        Width and height. One number is both of them, or with `keep_ratio` the shorter side.
    keep_ratio
        Whether one number in `size` leaves the picture its shape; with two it has no effect.
    interp
        0: the pixel before. 1: linear between two. 2: cubic between four. 3: mean of the area that a new pixel covers
        (linear where the picture grows). 4: Lanczos' window over eight.

    Shapes
    ------
    data : (H, W, C) or (N, H, W, C)
    out : (height, width, C) or (N, height, width, C)

    >>> resize(torch.tensor([[[0.0], [4.0]]]), size=(4, 1)).flatten()
    tensor([0., 1., 3., 4.])
    """
    _check_axes(data)
    height, width = _new_size(data.shape[-3], data.shape[-2], size, keep_ratio)
    return resized(data, height, width, interp)


@resize.check
def _(p: Params) -> str | None:
    if len(p.size) not in (1, 2) or min(p.size) < 1:
        return f"size must be one or two numbers above 0, width and height; got {p.size}"
    return None


def _new_size(height: int, width: int, size: tuple[int, ...], keep_ratio: bool) -> tuple[int, int]:
    if len(size) == 2:
        return size[1], size[0]
    (side,) = size
    if not keep_ratio:
        return side, side
    if height > width:
        return height * side // max(width, 1), side
    return side, width * side // max(height, 1)


def resized(data: Tensor, height: int, width: int, interp: int) -> Tensor:
    """Return `data` (..., H, W, C) with `height` rows and `width` columns."""
    rows, columns = data.shape[-3:-1]
    if not (rows and columns and height and width):
        raise ShapeError(f"a picture must have a pixel to be resized; got shape {tuple(data.shape)}")
    if interp == 0 or (rows, columns) == (height, width):
        return _nearest(data, height, width)
    if not (data.is_floating_point() or data.dtype is torch.uint8):
        raise DTypeError(
            f"data must be uint8 or of a floating type for interp={interp}; "
            f"got {str(data.dtype).removeprefix('torch.')}. Convert it with astype()."
        )
    shrinks = height <= rows and width <= columns
    if interp == 1 and (rows, columns) == (2 * height, 2 * width):
        interp = 3  # as OpenCV: the mean of four pixels is what is linear between them
    if interp == 3 and shrinks:
        return _area(data, height, width)
    kind = "grow" if interp == 3 else {1: "linear", 2: "cubic", 4: "lanczos"}[interp]
    if data.dtype is torch.uint8:
        return _fixed_point(data, height, width, kind)
    return _resampled(data, _taps(rows, height, kind, False), _taps(columns, width, kind, True))


Taps = tuple[Tensor, Tensor]  # which old pixels make each new one, and their weights: two arrays (new, taps)


def _resampled(data: Tensor, down: Taps, along: Taps) -> Tensor:
    """Return sums of the rows of a picture, and then of its columns."""
    values = _compute(data)
    return _sums(_sums(values, -3, down), -2, along).to(data.dtype)


def _sums(values: Tensor, axis: int, taps: Taps) -> Tensor:
    """Return weighted sums along an axis, in the type of `values`, added in the order of the taps."""
    index, weight = taps[0].to(values.device), taps[1].to(values.device, values.dtype)
    return _weighted(_chosen(values, axis, index), weight.T.reshape(-1, index.shape[0], *(1,) * (-axis - 1)))


def _chosen(values: Tensor, axis: int, index: Tensor) -> list[Tensor]:
    return [torch.index_select(values, axis, column) for column in index.T.contiguous()]


def _weighted(parts: Sequence[Tensor], weights: Tensor) -> Tensor:
    total = parts[0] * weights[0]
    for part, weight in zip(parts[1:], weights[1:], strict=True):
        total = total + part * weight
    return total


def _taps(size: int, new: int, kind: str, border: bool) -> Taps:
    """Return which old pixels make each of the `new` ones, and their weights.

    Positions are computed in float64, distances and weights in float32, as OpenCV does. With `border` a new pixel
    beyond the first or last old one takes that one alone: the sum is the same, but not how uint8 rounds it.
    """
    scale = 1.0 / (new / size)
    place = torch.arange(new, dtype=torch.float64)
    if kind == "grow":
        first = torch.floor(place * scale)
        distance = ((place + 1) - (first + 1) * (new / size)).to(torch.float32)
        distance = torch.where(distance <= 0, 0, distance - distance.floor())
    else:
        exact = ((place + 0.5) * scale - 0.5).to(torch.float32)
        first = exact.floor()
        distance = exact - first
    first = first.to(torch.int64)
    if border and kind in ("linear", "grow"):
        outside = (first < 0) | (first >= size - 1)
        distance = torch.where(outside, 0, distance)
        first = first.clamp(0, size - 1)
    if kind == "cubic":
        weight, before = _cubic(distance), 1
    elif kind == "lanczos":
        weight, before = _lanczos(distance), 3
    else:
        weight, before = torch.stack((1 - distance, distance), 1), 0
    index = first[:, None] + torch.arange(-before, weight.shape[1] - before)
    return index.clamp(0, size - 1), weight


def _cubic(distance: Tensor) -> Tensor:
    """Return the weights of four pixels under cubic convolution (Keys, 1981) with slope -0.75 at distance 1."""
    slope = -0.75

    def near(d: Tensor) -> Tensor:
        return ((slope + 2) * d - (slope + 3)) * d * d + 1

    far = d1 = distance + 1
    far = ((slope * d1 - 5 * slope) * d1 + 8 * slope) * d1 - 4 * slope
    weights = (far, near(distance), near(1 - distance))
    return torch.stack((*weights, 1 - weights[0] - weights[1] - weights[2]), 1)


def _lanczos(distance: Tensor) -> Tensor:
    """Return the weights of eight pixels: sinc within a window that is sinc as well, four pixels to each side."""
    away = distance.double()[:, None] + 3 - torch.arange(8)
    weight = torch.sinc(away) * torch.sinc(away / 4)
    return (weight / weight.sum(1, keepdim=True)).to(torch.float32)


def _nearest(data: Tensor, height: int, width: int) -> Tensor:
    for axis, new in ((-3, height), (-2, width)):
        size = data.shape[axis]
        if size != new:
            place = torch.arange(new, dtype=torch.float64) * (1.0 / (new / size))
            index = place.floor().to(torch.int64).clamp(max=size - 1)
            data = torch.index_select(data, axis, index.to(data.device))
    return data


def _fixed_point(data: Tensor, height: int, width: int, kind: str) -> Tensor:
    """Resize uint8 with weights of 11 bits after the point, and OpenCV's rounding."""
    rows, columns = data.shape[-3:-1]

    def whole(taps: Taps) -> Taps:
        return taps[0].to(data.device), (taps[1] * 2048).round().to(data.device, torch.int32)

    sums = _sums(data.to(torch.int32), -2, whole(_taps(columns, width, kind, True)))
    index, weight = whole(_taps(rows, height, kind, False))
    parts, weights = _chosen(sums, -3, index), weight.T.reshape(-1, height, 1, 1)
    if kind in ("linear", "grow"):
        # Each row's share is cut to two bits after the point before they are added, and the sum is rounded.
        shares = [((part >> 4) * share) >> 16 for part, share in zip(parts, weights, strict=True)]
        return ((shares[0] + shares[1] + 2) >> 2).clamp(0, 255).to(torch.uint8)
    out = (_weighted([part.to(torch.int64) for part in parts], weights) + 2**21) >> 22
    if kind == "cubic":
        # OpenCV takes eight numbers at a time, and those in float32; what is left of a row is done as above.
        quick = _weighted([part.to(torch.float32) for part in parts], weights / 2**22).round()
        count = width * data.shape[-1]
        in_eights = (torch.arange(count, device=data.device) < count // 8 * 8).reshape(width, -1)
        out = torch.where(in_eights, quick.to(torch.int64), out)
    return out.clamp(0, 255).to(torch.uint8)


def _area(data: Tensor, height: int, width: int) -> Tensor:
    """Return means over the area that each new pixel covers."""
    *batch, rows, columns, channels = data.shape
    if data.dtype is not torch.uint8:
        return _resampled(data, _covered(rows, height), _covered(columns, width))
    if rows % height == 0 and columns % width == 0:
        block = (rows // height, columns // width)
        total = data.reshape(*batch, height, block[0], width, block[1], channels).sum((-4, -2))
        if block == (2, 2):
            return ((total + 2) >> 2).to(torch.uint8)
        return (total.to(torch.float32) * (1 / (block[0] * block[1]))).round().to(torch.uint8)
    # What is rounded depends on the order in which OpenCV adds float32: columns first, from left to right.
    means = _sums(_sums(data.to(torch.float32), -2, _covered(columns, width)), -3, _covered(rows, height))
    return means.round().clamp(0, 255).to(torch.uint8)


def _covered(size: int, new: int) -> Taps:
    """Return which old pixels each new one covers, and what share of its area each of them has."""
    scale = 1.0 / (new / size)
    low = torch.arange(new, dtype=torch.float64)[:, None] * scale
    old = low.floor() + torch.arange(math.ceil(scale) + 1)
    covered = torch.minimum(old + 1, (low + scale).clamp(max=size)) - torch.maximum(old, low)
    covered = torch.where(covered > 1e-3, covered, 0)  # OpenCV leaves slivers out
    share = covered / torch.clamp(size - low, max=scale)
    return old.to(torch.int64).clamp(max=size - 1), share.to(torch.float32)


# ---- flips --------------------------------------------------------------------------------------------


def _declare_flips(side: str, axis: int, what: str, example: str = "") -> tuple[Operator, Operator]:
    """Make the operator that reverses an axis, and the one that does so by chance."""

    def flip(data: Tensor) -> Tensor:
        _check_axes(data)
        return data.flip(axis)

    def random_flip(data: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
        _check_axes(data, batch=False)
        turn = torch.rand((), generator=generator, device=data.device) < 0.5
        return torch.where(turn, data.flip(axis), data)

    shapes = "\n\nShapes\n------\ndata, out : (H, W, C)"
    flip.__doc__ = f"`data` with its {what} in reverse order.{shapes} or (N, H, W, C){example}"
    random_flip.__doc__ = (
        f"`data`, or with a probability of one half `data` with its {what} in reverse order.{shapes}"
    )
    made = []
    for function, name in ((flip, f"flip_{side}"), (random_flip, f"random_flip_{side}")):
        function.__name__ = function.__qualname__ = name
        made.append(operator(f"_image_{name}", alike=True)(function))
    return made[0], made[1]


flip_left_right, random_flip_left_right = _declare_flips(
    "left_right",
    -2,
    "columns",
    "\n\n>>> flip_left_right(torch.tensor([[[1], [2], [3]]])).flatten()\ntensor([3, 2, 1])",
)
flip_top_bottom, random_flip_top_bottom = _declare_flips("top_bottom", -3, "rows")


# ---- colours: functions of a picture in the type to compute in, and a factor --------------------------


def _grey(data: Tensor) -> Tensor:
    """Return the brightness of each pixel, in one channel."""
    if data.shape[-1] == 1:
        return data
    red, green, blue = data.split(1, -1)
    return _LUMA[0] * red + _LUMA[1] * green + _LUMA[2] * blue


def _mean_grey(data: Tensor) -> Tensor:
    return _grey(data).mean((-3, -2, -1), keepdim=True)


def _towards(data: Tensor, other: Tensor, factor: Tensor) -> Tensor:
    """Return what lies between `other` (factor 0) and `data` (factor 1), or beyond."""
    return data * factor + other * (1 - factor)


def _rotated(data: Tensor, turn: Tensor) -> Tensor:
    """Return `data` with the hue of each pixel rotated by `turn` of a full circle; what is grey stays so."""
    if data.shape[-1] == 1:
        return data
    red, green, blue = (data / 255).unbind(-1)
    top = torch.maximum(torch.maximum(red, green), blue)
    bottom = torch.minimum(torch.minimum(red, green), blue)
    spread = top - bottom
    light = (top + bottom) * 0.5
    coloured = spread > torch.finfo(torch.float32).eps
    safe = torch.where(coloured, spread, 1)
    # hue in degrees: where on the circle red (0), green (120), blue (240)
    sixth = torch.full((), 60, dtype=safe.dtype, device=safe.device) / safe  # `60 / safe` rounds twice
    hue = torch.where(
        top == red,
        (green - blue) * sixth,
        torch.where(top == green, (blue - red) * sixth + 120, (red - green) * sixth + 240),
    )
    hue = torch.where(hue < 0, hue + 360, hue) + turn * 360
    hue = hue * (6.0 / 360)
    hue = torch.remainder(hue, 6)
    sector = hue.floor()
    part = hue - sector
    dark = light < 0.5
    # saturation is a share of the lightness that is possible; back from it comes the largest channel again
    divisor = torch.where(dark, top + bottom, 2 - top - bottom)
    saturation = spread / torch.where(divisor == 0, 1, divisor)
    high = torch.where(light <= 0.5, light * (1 + saturation), light + saturation - light * saturation)
    low = 2 * light - high
    levels = torch.stack((high, low, low + (high - low) * (1 - part), low + (high - low) * part), -1)
    which = torch.tensor(
        [[0, 3, 1], [2, 0, 1], [1, 0, 3], [1, 2, 0], [3, 1, 0], [0, 1, 2]], device=data.device
    )
    turned = torch.gather(levels, -1, which[sector.to(torch.int64).clamp(0, 5)])
    return torch.where(coloured[..., None], turned, light[..., None]) * 255


def _lit(data: Tensor, alpha: Tensor) -> Tensor:
    """Return `data` and a multiple of each principal component of colours."""
    if data.shape[-1] == 1:
        return data
    components = torch.tensor(_COMPONENTS, dtype=data.dtype, device=data.device)
    deviations = torch.tensor(_DEVIATIONS, dtype=data.dtype, device=data.device)
    return data + components @ (alpha * deviations)


@operator("_image_random_brightness", alike=True)
def random_brightness(
    data: Tensor, *, min_factor: Factor, max_factor: Factor, generator: torch.Generator | None = None
) -> Tensor:
    """`data` multiplied by a factor that is drawn evenly from ``[min_factor, max_factor)``.

    Shapes
    ------
    data, out : (H, W, C)     C is 1 or 3

    >>> random_brightness(torch.tensor([[[10.0]]]), min_factor=0.5, max_factor=0.5)
    tensor([[[5.]]])
    """
    _check_colours(data)
    values = _compute(data)
    return _store(values * _draw(min_factor, max_factor, values, generator), data.dtype)


@operator("_image_random_contrast", alike=True)
def random_contrast(
    data: Tensor, *, min_factor: Factor, max_factor: Factor, generator: torch.Generator | None = None
) -> Tensor:
    """`data` moved away from its mean brightness by a factor that is drawn evenly from ``[min_factor, max_factor)``.

    It is ``factor * data + (1 - factor) * mean``: the mean over all pixels of ``0.299 R + 0.587 G + 0.114 B``.

    Shapes
    ------
    data, out : (H, W, C)     C is 1 or 3
    """
    _check_colours(data)
    values = _compute(data)
    factor = _draw(min_factor, max_factor, values, generator)
    return _store(_towards(values, _mean_grey(values), factor), data.dtype)


@operator("_image_random_saturation", alike=True)
def random_saturation(
    data: Tensor, *, min_factor: Factor, max_factor: Factor, generator: torch.Generator | None = None
) -> Tensor:
    """Pixels moved away from their own grey by a factor that is drawn evenly from ``[min_factor, max_factor)``.

    It is ``factor * data + (1 - factor) * grey`` with ``grey = 0.299 R + 0.587 G + 0.114 B``.

    Shapes
    ------
    data, out : (H, W, C)     C is 1 or 3; one channel has no colour and stays as it is
    """
    _check_colours(data)
    if data.shape[-1] == 1:
        return data.view_as(data)
    values = _compute(data)
    factor = _draw(min_factor, max_factor, values, generator)
    return _store(_towards(values, _grey(values), factor), data.dtype)


@operator("_image_random_hue", alike=True)
def random_hue(
    data: Tensor, *, min_factor: Factor, max_factor: Factor, generator: torch.Generator | None = None
) -> Tensor:
    """Hues rotated by a part of the circle that is drawn evenly from ``[min_factor, max_factor)``.

    Lightness and saturation stay (the model HLS). One channel has no hue and stays as it is; MXNet leaves its result
    unwritten.

    Shapes
    ------
    data, out : (H, W, C)     C is 1 or 3
    """
    _check_colours(data)
    values = _compute(data)
    return _store(_rotated(values, _draw(min_factor, max_factor, values, generator)), data.dtype)


@operator("_image_random_color_jitter", alike=True)
def random_color_jitter(
    data: Tensor,
    *,
    brightness: float,
    contrast: float,
    saturation: float,
    hue: float,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Brightness, contrast, saturation and hue changed by chance, in random order.

    The factors are drawn evenly from ``[1 - x, 1 + x)``, the rotation of the hue from ``[-hue, hue)``. What is 0 or
    less is left alone; with all of them 0 the picture stays as it is (MXNet leaves the result unwritten then).

    Shapes
    ------
    data, out : (H, W, C)     C is 1 or 3
    """
    _check_colours(data)
    amounts = (brightness, contrast, saturation, hue)
    changeable = 4 if data.shape[-1] == 3 else 2  # one channel has neither saturation nor hue
    kinds = [kind for kind, amount in enumerate(amounts[:changeable]) if amount > 0]
    if not kinds:
        return data.view_as(data)
    values = _compute(data)
    dtype, device = values.dtype, data.device
    low = torch.tensor([-hue if kind == 3 else 1 - amounts[kind] for kind in kinds], dtype=dtype)
    wide = torch.tensor([2 * amounts[kind] for kind in kinds], dtype=dtype)
    drawn = torch.rand(len(kinds), generator=generator, dtype=dtype, device=device)
    factors = low.to(device) + wide.to(device) * drawn
    # The order is drawn on the device and not known here: each step does what its turn is, chosen by arithmetic.
    order = torch.randperm(len(kinds), generator=generator, device=device)
    turns, factors = torch.tensor(kinds, device=device)[order], factors[order]
    out = data
    for turn, factor in zip(turns, factors, strict=True):
        other = torch.zeros((), dtype=dtype, device=device)
        if 1 in kinds:
            other = torch.where(turn == 1, _mean_grey(values), other)
        if 2 in kinds:
            other = torch.where(turn == 2, _grey(values), other)
        changed = _towards(values, other, factor)
        if 3 in kinds:
            changed = torch.where(turn == 3, _rotated(values, factor), changed)
        out = _store(changed, data.dtype)
        values = _compute(out)
    return out


@operator("_image_adjust_lighting", alike=True)
def adjust_lighting(data: Tensor, *, alpha: tuple[float, ...]) -> Tensor:
    """`data` with multiples of the principal components of ImageNet's colours added, the same to each pixel.

    One channel has no colour and stays as it is; MXNet leaves its result unwritten.

    Parameters
    ----------
    alpha
        Three numbers: how many standard deviations along each component.

    Shapes
    ------
    data, out : (H, W, C) or (N, H, W, C)     C is 1 or 3
    """
    _check_colours(data, batch=True)
    values = _compute(data)
    return _store(_lit(values, torch.tensor(alpha, dtype=values.dtype, device=data.device)), data.dtype)


@adjust_lighting.check
def _(p: Params) -> str | None:
    return None if len(p.alpha) == 3 else f"alpha must hold three numbers; got {p.alpha}"


@operator("_image_random_lighting", alike=True)
def random_lighting(
    data: Tensor, *, alpha_std: float = 0.05, generator: torch.Generator | None = None
) -> Tensor:
    """`adjust_lighting` with numbers drawn from the normal distribution with standard deviation `alpha_std`.

    Shapes
    ------
    data, out : (H, W, C)     C is 1 or 3
    """
    _check_colours(data)
    values = _compute(data)
    drawn = torch.randn(3, generator=generator, dtype=values.dtype, device=data.device)
    return _store(_lit(values, drawn * alpha_std), data.dtype)
