"""Images in another size, with OpenCV's numbers: each new pixel is a weighted sum of old ones."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from ...errors import DTypeError, ShapeError
from ._pixels import compute

__all__ = ["Kind", "Taps", "covered", "kind_of", "nearest", "resized", "taps"]

Kind = Literal["nearest", "area", "grow", "linear", "cubic", "lanczos"]
Taps = tuple[Tensor, Tensor]  # which old pixels make each new one, and their weights: two arrays (new, taps)


def kind_of(rows: int, columns: int, height: int, width: int, interp: int) -> Kind:
    """Return how OpenCV resizes, which depends on the sizes too.

    >>> kind_of(8, 8, 4, 4, interp=1), kind_of(8, 8, 16, 4, interp=3)
    ('area', 'grow')
    """
    if interp == 0 or (rows, columns) == (height, width):
        return "nearest"
    if interp == 1 and (rows, columns) == (2 * height, 2 * width):
        return "area"  # the mean of four pixels is what is linear between them
    if interp == 3:
        # Areas are averaged only where neither side grows; else it is linear, but with positions of its own.
        return "area" if height <= rows and width <= columns else "grow"
    kinds: dict[int, Kind] = {1: "linear", 2: "cubic", 4: "lanczos"}
    return kinds[interp]


def resized(data: Tensor, height: int, width: int, interp: int) -> Tensor:
    """Return `data` (..., H, W, C) with `height` rows and `width` columns.

    >>> resized(torch.tensor([[[0.0], [4.0]]]), 1, 4, interp=1).flatten()
    tensor([0., 1., 3., 4.])
    """
    rows, columns = data.shape[-3:-1]
    if not (rows and columns and height and width):
        raise ShapeError(
            f"an image must have at least one pixel to be resized; got shape {tuple(data.shape)}"
        )
    kind = kind_of(rows, columns, height, width, interp)
    if kind == "nearest":
        return _nearest(data, height, width)
    if not (data.is_floating_point() or data.dtype is torch.uint8):
        raise DTypeError(
            f"data must be uint8 or of a floating type for interp={interp}; "
            f"got {str(data.dtype).removeprefix('torch.')}. Convert it with astype()."
        )
    if kind == "area":
        return _area(data, height, width)
    if data.dtype is torch.uint8:
        return _fixed_point(data, height, width, kind)
    return _resampled(data, taps(rows, height, kind, False), taps(columns, width, kind, True))


def _resampled(data: Tensor, down: Taps, along: Taps) -> Tensor:
    """Return sums of the rows of an image, and then of its columns."""
    values = compute(data)
    return _sums(_sums(values, -3, down), -2, along).to(dtype=data.dtype)


def _sums(values: Tensor, axis: int, given: Taps) -> Tensor:
    """Return weighted sums along an axis, in the type of `values`, added in the order of the taps."""
    index, weight = given[0].to(values.device), given[1].to(values.device, values.dtype)
    return _weighted(_chosen(values, axis, index), weight.T.reshape(-1, index.shape[0], *(1,) * (-axis - 1)))


def _chosen(values: Tensor, axis: int, index: Tensor) -> list[Tensor]:
    return [torch.index_select(values, axis, column) for column in index.T.contiguous()]


def _weighted(pixels: Sequence[Tensor], weights: Tensor) -> Tensor:
    # In this order: a matrix product would round otherwise than OpenCV does.
    total = pixels[0] * weights[0]
    for pixel, weight in zip(pixels[1:], weights[1:], strict=True):
        total = total + pixel * weight
    return total


def taps(size: int, new: int, kind: Kind, border: bool) -> Taps:
    """Return which old pixels make each of the `new` ones, and their weights.

    Positions are computed in float64, distances and weights in float32, as OpenCV does. With `border` a new pixel
    beyond the first or last old one takes that one alone: the sum is the same, but not how uint8 rounds it.
    """
    # OpenCV's expression: `size / new` differs in the last digit for some sizes.
    scale = 1.0 / (new / size)
    position = torch.arange(new, dtype=torch.float64)
    if kind == "grow":
        # A new pixel begins in old pixel `first`; it is a mixture only if it reaches into the next one.
        first = torch.floor(position * scale)
        distance = ((position + 1) - (first + 1) * (new / size)).to(dtype=torch.float32)
        distance = torch.where(distance <= 0, 0, distance - distance.floor())
    else:
        # Centres of pixels are mapped to centres of pixels.
        exact = ((position + 0.5) * scale - 0.5).to(dtype=torch.float32)
        first = exact.floor()
        distance = exact - first
    first = first.to(dtype=torch.int64)
    # OpenCV cuts columns at the border and leaves rows to the repeated pixels: the same but for rounding.
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
    # Beyond the border the outermost pixel is repeated.
    index = first[:, None] + torch.arange(-before, weight.shape[1] - before)
    return index.clamp(0, size - 1), weight


def _cubic(distance: Tensor) -> Tensor:
    """Return the weights of four pixels under cubic convolution (Keys, 1981) with slope -0.75 at distance 1."""
    slope = -0.75

    def near(d: Tensor) -> Tensor:
        # The cubic between the two inner pixels; `far`, below, is the one of the outer ones.
        return ((slope + 2) * d - (slope + 3)) * d * d + 1

    far = d1 = distance + 1
    far = ((slope * d1 - 5 * slope) * d1 + 8 * slope) * d1 - 4 * slope
    # The last weight makes the sum exactly 1.
    weights = (far, near(distance), near(1 - distance))
    return torch.stack((*weights, 1 - weights[0] - weights[1] - weights[2]), 1)


def _lanczos(distance: Tensor) -> Tensor:
    """Return the weights of eight pixels: sinc within a window that is sinc as well, four pixels to each side."""
    away = distance.double()[:, None] + 3 - torch.arange(8)
    # Lanczos's window over four pixels on each side; `sinc` has the factor pi in it.
    weight = torch.sinc(away) * torch.sinc(away / 4)
    return (weight / weight.sum(1, keepdim=True)).to(dtype=torch.float32)


def nearest(size: int, new: int) -> Tensor:
    """Return which old pixel is each of the `new` ones."""
    # The same expression as OpenCV: `size / new` would round otherwise.
    position = torch.arange(new, dtype=torch.float64) * (1.0 / (new / size))
    return position.floor().to(dtype=torch.int64).clamp(max=size - 1)


def _nearest(data: Tensor, height: int, width: int) -> Tensor:
    for axis, new in ((-3, height), (-2, width)):
        if data.shape[axis] != new:
            data = torch.index_select(data, axis, nearest(data.shape[axis], new).to(data.device))
    return data


def _fixed_point(data: Tensor, height: int, width: int, kind: Kind) -> Tensor:
    """Resize uint8 with weights of 11 bits after the point, and OpenCV's rounding."""
    rows, columns = data.shape[-3:-1]

    def whole(real: Taps) -> Taps:
        # 2048 is 2**11.
        return real[0].to(data.device), (real[1] * 2048).round().to(data.device, torch.int32)

    # Columns first: `sums` holds 11 bits after the point, and rows add 11 more.
    sums = _sums(data.to(dtype=torch.int32), -2, whole(taps(columns, width, kind, True)))
    index, weight = whole(taps(rows, height, kind, False))
    pixels, weights = _chosen(sums, -3, index), weight.T.reshape(-1, height, 1, 1)
    if kind in ("linear", "grow"):
        # Each row's share is cut to two bits after the point before they are added, and the sum is rounded.
        shares = [((pixel >> 4) * share) >> 16 for pixel, share in zip(pixels, weights, strict=True)]
        return ((shares[0] + shares[1] + 2) >> 2).clamp(0, 255).to(dtype=torch.uint8)
    # Two factors of 2**11 have been applied; 2**21 rounds before they are taken out.
    out = (_weighted([pixel.to(dtype=torch.int64) for pixel in pixels], weights) + 2**21) >> 22
    if kind == "cubic":
        # OpenCV takes eight numbers at a time, and those in float32; what is left of a row is done as above.
        quick = _weighted([pixel.to(dtype=torch.float32) for pixel in pixels], weights / 2**22).round()
        count = width * data.shape[-1]
        in_eights = (torch.arange(count, device=data.device) < count // 8 * 8).reshape(width, -1)
        out = torch.where(in_eights, quick.to(dtype=torch.int64), out)
    return out.clamp(0, 255).to(dtype=torch.uint8)


def _area(data: Tensor, height: int, width: int) -> Tensor:
    """Return means over the area that each new pixel covers."""
    *batch, rows, columns, channels = data.shape
    block = (rows // height, columns // width)
    blocks = rows == block[0] * height and columns == block[1] * width
    if data.dtype is not torch.uint8:
        if blocks:
            values = _summed(_summed(compute(data), -3, block[0]), -2, block[1])
            return (values * (1 / (block[0] * block[1]))).to(dtype=data.dtype)
        return _resampled(data, covered(rows, height), covered(columns, width))
    if blocks:
        total = data.reshape(*batch, height, block[0], width, block[1], channels).sum((-4, -2))
        # OpenCV has an integer form for this case, which rounds halves up; the general one rounds them to even.
        if block == (2, 2):
            return ((total + 2) >> 2).to(dtype=torch.uint8)
        return (total.to(dtype=torch.float32) * (1 / (block[0] * block[1]))).round().to(dtype=torch.uint8)
    # What is rounded depends on the order in which OpenCV adds float32: columns first, from left to right.
    means = _sums(_sums(data.to(dtype=torch.float32), -2, covered(columns, width)), -3, covered(rows, height))
    return means.round().clamp(0, 255).to(dtype=torch.uint8)


def _summed(values: Tensor, axis: int, count: int) -> Tensor:
    """Return sums of so many elements each that follow each other along an axis."""
    apart = values.unflatten(axis, (-1, count)).unbind(axis)  # the first of each sum, the second ones, ...
    return functools.reduce(torch.add, apart)


def covered(size: int, new: int) -> Taps:
    """Return which old pixels each new one covers, and what share of its area each of them has."""
    scale = 1.0 / (new / size)
    low = torch.arange(new, dtype=torch.float64)[:, None] * scale
    old = low.floor() + torch.arange(math.ceil(scale) + 1)
    area = torch.minimum(old + 1, (low + scale).clamp(max=size)) - torch.maximum(old, low)
    area = torch.where(area > 1e-3, area, 0)  # OpenCV leaves slivers out
    # At the far border the last new pixel may cover less than `scale`.
    share = area / torch.clamp(size - low, max=scale)
    return old.to(dtype=torch.int64).clamp(max=size - 1), share.to(dtype=torch.float32)
