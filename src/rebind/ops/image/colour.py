"""Colours of images changed at random: brightness, contrast, saturation, hue, and lighting."""

from __future__ import annotations

import torch
from torch import Tensor

from ... import draws
from ...draws import Source
from ...params import Params
from ..declaration import operator
from ._pixels import Factor, check_colours, compute, draw, store

__all__ = [
    "COMPONENTS", "DEVIATIONS", "HUE_LEVELS", "LUMA", "adjust_lighting", "random_brightness", "random_color_jitter",
    "random_contrast", "random_hue", "random_lighting", "random_saturation",
]  # fmt: skip

# Share of red, green and blue in the brightness of a colour (ITU-R BT.601).
LUMA = (0.299, 0.587, 0.114)


# Principal components of the colours of ImageNet's pixels, each multiplied by its standard deviation
# (Krizhevsky, Sutskever, Hinton: ImageNet Classification with Deep Convolutional Neural Networks, 2012).
DEVIATIONS = (55.46, 4.794, 1.148)


COMPONENTS = ((-0.5675, 0.7192, 0.4009), (-0.5808, -0.0045, -0.8140), (-0.5836, -0.6948, 0.4203))


# For each sixth of the circle of hues, which of four levels are red, green and blue: the highest, the lowest, and two
# between them, of which one falls and one rises.
HUE_LEVELS = ((0, 3, 1), (2, 0, 1), (1, 0, 3), (1, 2, 0), (3, 1, 0), (0, 1, 2))


def _grey(data: Tensor) -> Tensor:
    """Return the brightness of each pixel, in one channel."""
    if data.shape[-1] == 1:
        return data
    red, green, blue = data.split(1, -1)
    return LUMA[0] * red + LUMA[1] * green + LUMA[2] * blue


def _mean_grey(data: Tensor) -> Tensor:
    return _grey(data).mean((-3, -2, -1), keepdim=True)


def _towards(data: Tensor, other: Tensor, factor: Tensor) -> Tensor:
    """Return what lies between `other` (factor 0) and `data` (factor 1), or beyond."""
    return data * factor + other * (1 - factor)


def _rotated(data: Tensor, turn: Tensor) -> Tensor:
    """Return `data` with the hue of each pixel rotated by `turn` of a full circle; what is grey stays so."""
    if data.shape[-1] == 1:
        return data
    # By an array, which a GPU divides by: by a number it multiplies with the inverse.
    red, green, blue = (data / torch.full((), 255, dtype=data.dtype, device=data.device)).unbind(-1)
    top = torch.maximum(torch.maximum(red, green), blue)
    bottom = torch.minimum(torch.minimum(red, green), blue)
    spread = top - bottom
    light = (top + bottom) * 0.5
    coloured = spread > torch.finfo(torch.float32).eps
    # Grey pixels divide by 1; what comes out for them is replaced at the end.
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
    # Six sectors of the circle, in each of which one channel is largest and another one smallest.
    fraction = hue - sector
    dark = light < 0.5
    # saturation is a share of the lightness that is possible; back from it comes the largest channel again
    divisor = torch.where(dark, top + bottom, 2 - top - bottom)
    saturation = spread / torch.where(divisor == 0, 1, divisor)
    # The HLS model: from lightness and saturation to the largest and the smallest channel.
    high = torch.where(light <= 0.5, light * (1 + saturation), light + saturation - light * saturation)
    low = 2 * light - high
    levels = torch.stack((high, low, low + (high - low) * (1 - fraction), low + (high - low) * fraction), -1)
    which = torch.tensor(HUE_LEVELS, device=data.device)
    turned = torch.gather(levels, -1, which[sector.to(dtype=torch.int64).clamp(0, 5)])
    return torch.where(coloured[..., None], turned, light[..., None]) * 255


def _lit(data: Tensor, alpha: Tensor) -> Tensor:
    """Return `data` and a multiple of each principal component of colours."""
    if data.shape[-1] == 1:
        return data
    components = torch.tensor(COMPONENTS, dtype=data.dtype, device=data.device)
    deviations = torch.tensor(DEVIATIONS, dtype=data.dtype, device=data.device)
    return data + components @ (alpha * deviations)


@operator("_image_random_brightness", same_shape=True)
def random_brightness(
    data: Tensor, *, min_factor: Factor, max_factor: Factor, generator: Source | None = None
) -> Tensor:
    """`data` multiplied by a factor drawn uniformly from ``[min_factor, max_factor)``.

    Shapes
    ------
    data, out : (H, W, C)     C is 1 or 3

    >>> random_brightness(torch.tensor([[[10.0]]]), min_factor=0.5, max_factor=0.5)
    tensor([[[5.]]])
    """
    check_colours(data)
    values = compute(data)
    return store(values * draw(min_factor, max_factor, values, generator), data.dtype)


@operator("_image_random_contrast", same_shape=True)
def random_contrast(
    data: Tensor, *, min_factor: Factor, max_factor: Factor, generator: Source | None = None
) -> Tensor:
    """`data` scaled about its mean brightness by a factor drawn uniformly from ``[min_factor, max_factor)``.

    It is ``factor * data + (1 - factor) * mean``: the mean over all pixels of ``0.299 R + 0.587 G + 0.114 B``.

    Shapes
    ------
    data, out : (H, W, C)     C is 1 or 3

    >>> random_contrast(torch.tensor([[[0.0], [20.0]]]), min_factor=0.5, max_factor=0.5).flatten()
    tensor([ 5., 15.])
    """
    check_colours(data)
    values = compute(data)
    factor = draw(min_factor, max_factor, values, generator)
    return store(_towards(values, _mean_grey(values), factor), data.dtype)


@operator("_image_random_saturation", same_shape=True)
def random_saturation(
    data: Tensor, *, min_factor: Factor, max_factor: Factor, generator: Source | None = None
) -> Tensor:
    """Pixels scaled about their own grey by a factor drawn uniformly from ``[min_factor, max_factor)``.

    It is ``factor * data + (1 - factor) * grey`` with ``grey = 0.299 R + 0.587 G + 0.114 B``.

    Shapes
    ------
    data, out : (H, W, C)     C is 1 or 3; one channel has no colour and stays as it is

    >>> random_saturation(torch.tensor([[[255.0, 0.0, 0.0]]]), min_factor=0, max_factor=0).flatten()
    tensor([76.2450, 76.2450, 76.2450])
    """
    check_colours(data)
    if data.shape[-1] == 1:
        return data.view_as(data)
    values = compute(data)
    factor = draw(min_factor, max_factor, values, generator)
    return store(_towards(values, _grey(values), factor), data.dtype)


@operator("_image_random_hue", same_shape=True)
def random_hue(
    data: Tensor, *, min_factor: Factor, max_factor: Factor, generator: Source | None = None
) -> Tensor:
    """Hues rotated by a fraction of the circle drawn uniformly from ``[min_factor, max_factor)``.

    Lightness and saturation stay (the model HLS). One channel has no hue and stays as it is; MXNet leaves its result
    unwritten.

    Shapes
    ------
    data, out : (H, W, C)     C is 1 or 3

    >>> random_hue(torch.tensor([[[255.0, 0.0, 0.0]]]), min_factor=0.5, max_factor=0.5).flatten()
    tensor([  0.0000, 254.9999, 255.0000])
    """
    check_colours(data)
    values = compute(data)
    return store(_rotated(values, draw(min_factor, max_factor, values, generator)), data.dtype)


@operator("_image_random_color_jitter", same_shape=True)
def random_color_jitter(
    data: Tensor,
    *,
    brightness: float,
    contrast: float,
    saturation: float,
    hue: float,
    generator: Source | None = None,
) -> Tensor:
    """Brightness, contrast, saturation and hue changed at random, in random order.

    The factors are drawn uniformly from ``[1 - x, 1 + x)``, the rotation of the hue from ``[-hue, hue)``. What is 0 or
    less is left alone; with all of them 0 the image stays as it is (MXNet leaves the result unwritten then).

    Shapes
    ------
    data, out : (H, W, C)     C is 1 or 3

    >>> random_color_jitter(torch.tensor([[[9.0]]]), brightness=0, contrast=0, saturation=0, hue=0)
    tensor([[[9.]]])
    """
    check_colours(data)
    amounts = (brightness, contrast, saturation, hue)
    changeable = 4 if data.shape[-1] == 3 else 2  # one channel has neither saturation nor hue
    kinds = [kind for kind, amount in enumerate(amounts[:changeable]) if amount > 0]
    if not kinds:
        return data.view_as(data)
    values = compute(data)
    dtype, device = values.dtype, data.device
    # A rotation is drawn around 0, the factors of the others around 1.
    low = torch.tensor([-hue if kind == 3 else 1 - amounts[kind] for kind in kinds], dtype=dtype)
    wide = torch.tensor([2 * amounts[kind] for kind in kinds], dtype=dtype)
    drawn = draws.uniform((len(kinds),), generator, dtype=dtype, device=device)
    factors = low.to(device) + wide.to(device) * drawn
    # The order is drawn on the device and not known here: each step computes all changes, and `where` selects the one
    # whose turn it is.
    order = draws.permutation(len(kinds), generator, device=device)
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
        out = store(changed, data.dtype)
        # As MXNet: each step rounds to the type of the image.
        values = compute(out)
    return out


@operator("_image_adjust_lighting", same_shape=True)
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

    >>> adjust_lighting(torch.zeros(1, 1, 3), alpha=(1.0, 0.0, 0.0)).flatten()
    tensor([-31.4735, -32.2112, -32.3665])
    """
    check_colours(data, batch=True)
    values = compute(data)
    return store(_lit(values, torch.tensor(alpha, dtype=values.dtype, device=data.device)), data.dtype)


@adjust_lighting.check
def _(p: Params) -> str | None:
    return None if len(p.alpha) == 3 else f"alpha must hold three numbers; got {p.alpha}"


@operator("_image_random_lighting", same_shape=True)
def random_lighting(data: Tensor, *, alpha_std: float = 0.05, generator: Source | None = None) -> Tensor:
    """`adjust_lighting` with numbers drawn from the normal distribution with standard deviation `alpha_std`.

    Shapes
    ------
    data, out : (H, W, C)     C is 1 or 3

    >>> random_lighting(torch.tensor([[[1.0, 2.0, 3.0]]]), alpha_std=0.0).flatten()
    tensor([1., 2., 3.])
    """
    check_colours(data)
    values = compute(data)
    # One draw for the image, not one for each pixel.
    drawn = draws.normal((3,), generator, dtype=values.dtype, device=data.device)
    return store(_lit(values, drawn * alpha_std), data.dtype)
