"""Images changed by chance: brightness, contrast, saturation, hue and lighting by drawn factors, and flips."""

from __future__ import annotations

from collections.abc import Callable

import onnx_ir as ir
import torch

from ....ops.image.colour import HUE_LEVELS, LUMA
from ..expressions import Expression, numbers, stack, where
from ..node_writer import NodeWriter, onnx_type
from ..translations import translation
from .image import lit, stored, wide_enough

__all__ = ["random_color_jitter", "random_lighting"]

#: From an image in floating point, a factor and the number of channels to the changed one.
Change = Callable[[Expression, Expression, int], Expression]


def _uniform(writer: NodeWriter, low: float, high: float, dtype: torch.dtype) -> Expression:
    """Return one number drawn from a range; where that is one number, itself."""
    if low == high:
        return numbers(writer, [low], dtype)
    drawn = writer.op("RandomUniform", low=low, high=high, shape=[1], dtype=int(onnx_type(dtype)))
    return Expression(writer, drawn, dtype)


def _grey(image: Expression) -> Expression:
    """Return the brightness of each pixel, in one channel."""
    red, green, blue = (image.slice(-1, i, i + 1) * share for i, share in enumerate(LUMA))
    return red + green + blue


def _towards(image: Expression, other: Expression, factor: Expression) -> Expression:
    return image * factor + other * (1.0 - factor)


def _brighter(image: Expression, factor: Expression, channels: int) -> Expression:
    return image * factor


def _contrasted(image: Expression, factor: Expression, channels: int) -> Expression:
    grey = image if channels == 1 else _grey(image)
    return _towards(image, grey.mean(-3, -2, -1, keepdim=True), factor)


def _saturated(image: Expression, factor: Expression, channels: int) -> Expression:
    return image if channels == 1 else _towards(image, _grey(image), factor)


def _rotated(image: Expression, turn: Expression, channels: int) -> Expression:
    """Return an image with its hues rotated by a part of the circle, in the model HLS, as `ops.image.colour` has it."""
    if channels == 1:
        return image
    red, green, blue = ((image / 255.0).select(-1, i) for i in range(3))
    top, bottom = red.maximum(green).maximum(blue), red.minimum(green).minimum(blue)
    spread, light = top - bottom, (top + bottom) * 0.5
    coloured = spread > torch.finfo(torch.float32).eps
    sixth = 60.0 / where(coloured, spread, 1.0)
    from_green, from_blue = (blue - red) * sixth + 120.0, (red - green) * sixth + 240.0
    others = where(top.equals(green), from_green, from_blue)
    hue = where(top.equals(red), (green - blue) * sixth, others)
    hue = where(hue < 0.0, hue + 360.0, hue) + turn * 360.0
    hue = (hue * (6.0 / 360)).apply("Mod", numbers(image.writer, 6.0, image.dtype).value, fmod=1)
    sector = hue.floor()
    fraction = hue - sector
    divisor = where(light < 0.5, top + bottom, 2.0 - top - bottom)
    saturation = spread / where(divisor.equals(0.0), divisor.full_like(1.0), divisor)
    high = where(light <= 0.5, light * (saturation + 1.0), light + saturation - light * saturation)
    low = light * 2.0 - high
    levels = stack([high, low, low + (high - low) * (1.0 - fraction), low + (high - low) * fraction], -1)
    which = numbers(image.writer, HUE_LEVELS, torch.int64).take(sector.to(torch.int64).clamp(0, 5))
    turned = levels.gather(2, which)  # not -1, which onnx's reference does not take
    return where(coloured.unsqueeze(-1), turned, light.unsqueeze(-1)) * 255.0


def _declare(kind: str, change: Change) -> None:
    @translation(f"_image_random_{kind}")
    def translate(writer: NodeWriter, data: ir.Value) -> ir.Value:
        p, image = writer.params, wide_enough(Expression(writer, data, writer.dtype()))
        factor = _uniform(writer, p.min_factor, p.max_factor, image.dtype)
        return stored(change(image, factor, writer.shape()[-1]), writer.dtype()).value


for _kind, _change in {
    "brightness": _brighter, "contrast": _contrasted, "saturation": _saturated, "hue": _rotated,
}.items():  # fmt: skip
    _declare(_kind, _change)


@translation("_image_random_color_jitter")
def random_color_jitter(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write changes by drawn factors, in the order of drawn numbers; each step rounds to the type of the image."""
    p, channels, dtype = writer.params, writer.shape()[-1], writer.dtype()
    image = wide_enough(Expression(writer, data, dtype))
    changes: list[tuple[Change, float, float]] = [
        (_brighter, 1, p.brightness),
        (_contrasted, 1, p.contrast),
    ]
    if channels == 3:  # one channel has neither saturation nor hue
        changes += [(_saturated, 1, p.saturation), (_rotated, 0, p.hue)]
    drawn = [
        (change, _uniform(writer, around - amount, around + amount, image.dtype))
        for change, around, amount in changes
        if amount > 0
    ]
    if not drawn:
        return writer.op("Identity", data)
    keys = writer.op("RandomUniform", shape=[len(drawn)])
    count = numbers(writer, [len(drawn)], torch.int64)
    _, order = Expression(writer, keys, torch.float32).topk(count, 0)
    for turn in range(len(drawn)):
        chosen, before = order.slice(0, turn, turn + 1), image
        for number, (change, factor) in enumerate(drawn):
            image = where(chosen.equals(number), change(before, factor, channels), image)
        image = wide_enough(stored(image, dtype))
    return image.to(dtype).value


@translation("_image_random_lighting")
def random_lighting(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write multiples of the principal components of colours, drawn for the image, added to each pixel."""
    image, deviation = wide_enough(Expression(writer, data, writer.dtype())), writer.params.alpha_std
    if writer.shape()[-1] == 1 or deviation == 0:
        return writer.op("Identity", data)
    kind = int(onnx_type(image.dtype))
    drawn = writer.op("RandomNormal", mean=0.0, scale=deviation, shape=[3], dtype=kind)
    return stored(lit(image, Expression(writer, drawn, image.dtype)), writer.dtype()).value


def _declare_flip(side: str, axis: int) -> None:
    @translation(f"_image_random_flip_{side}")
    def translate(writer: NodeWriter, data: ir.Value) -> ir.Value:
        image = Expression(writer, data, writer.dtype())
        turns = _uniform(writer, 0.0, 1.0, torch.float32) < 0.5
        return where(turns, image.slice(axis, -1, -(2**62), -1), image).value


_declare_flip("left_right", -2)
_declare_flip("top_bottom", -3)
