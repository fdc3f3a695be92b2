"""Images in another size with OpenCV's numbers: sums of pixels with weights that are constants."""

from __future__ import annotations

import functools
import operator

import onnx_ir as ir
import torch

from ....ops.image.geometry import new_size
from ....ops.image.resampling import Kind, Taps, covered, kind_of, nearest, taps
from ..expressions import Expression, numbers, where, widened
from ..node_writer import NodeWriter
from ..translations import translation

__all__ = ["resize"]


@translation("_image_resize")
def resize(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write an image (..., H, W, C) in another size; ONNX's Resize has other positions and rounds otherwise."""
    p, image = writer.params, Expression(writer, data, writer.dtype())
    rows, columns, channels = writer.shape()[-3:]
    if not (rows and columns):
        raise writer.unknown("the height and the width of an image to resize")
    height, width = new_size(rows, columns, p.size, p.keep_ratio)
    kind = kind_of(rows, columns, height, width, p.interp)
    if kind == "nearest":
        return _nearest(image, (rows, columns), (height, width)).value
    if kind == "area":
        return _area(image, (rows, columns), (height, width)).value
    down, along = taps(rows, height, kind, False), taps(columns, width, kind, True)
    if image.dtype is not torch.uint8:
        return _resampled(image, down, along).to(image.dtype).value
    if kind == "cubic" and not channels:
        raise writer.unknown("the number of channels, on which rounding depends,")
    return _fixed_point(image, _whole(down), _whole(along), kind, channels).value


def _nearest(image: Expression, old: tuple[int, int], new: tuple[int, int]) -> Expression:
    if old == new:
        return image.apply("Identity")
    for axis, before, after in zip((-3, -2), old, new, strict=True):
        if before != after:
            image = image.take(_constant(image, nearest(before, after)), axis)
    return image


def _constant(like: Expression, array: torch.Tensor, dtype: torch.dtype | None = None) -> Expression:
    return numbers(like.writer, array.numpy(), dtype or array.dtype)


def _resampled(image: Expression, down: Taps, along: Taps) -> Expression:
    """Return sums of the rows of an image, and then of its columns."""
    return _sums(_sums(widened(image), -3, down), -2, along)


def _sums(values: Expression, axis: int, given: Taps) -> Expression:
    """Return weighted sums along an axis, added in the order of the taps: a product of matrices rounds otherwise."""
    return functools.reduce(operator.add, _shares(values, axis, given))


def _shares(values: Expression, axis: int, given: Taps) -> list[Expression]:
    """Return what each tap adds to the sums along an axis."""
    index, weight = given
    across = (-1, *(1,) * (-axis - 1))
    return [
        values.take(_constant(values, pixel), axis) * _constant(values, share.reshape(across), values.dtype)
        for pixel, share in zip(index.T, weight.T, strict=True)
    ]


def _whole(given: Taps) -> Taps:
    """Return weights with 11 bits after the point."""
    return given[0], (given[1] * 2048).round().to(torch.int32)


def _fixed_point(image: Expression, down: Taps, along: Taps, kind: Kind, channels: int) -> Expression:
    """Return sums of uint8 with weights of 11 bits after the point, and OpenCV's rounding, columns first.

    Shifts are divisions here: they differ below 0 only, which becomes 0.
    """
    sums = _sums(image.to(torch.int32), -2, along)
    if kind in ("linear", "grow"):
        # Each row's share is cut to two bits after the point before they are added.
        one, other = (share / 2**16 for share in _shares(sums / 2**4, -3, down))
        return _bytes((one + other + 2) / 2**2)
    rounded = (_sums(sums.to(torch.int64), -3, down) + 2**21) / 2**22
    if kind == "cubic":  # eight numbers at a time in float32, and what is left of a row as above
        quick = _sums(sums.to(torch.float32), -3, (down[0], down[1] / 2**22)).apply("Round").to(torch.int64)
        width = len(along[0])
        in_eights = torch.arange(width * channels) < width * channels // 8 * 8
        rounded = where(_constant(image, in_eights.reshape(width, channels)), quick, rounded)
    return _bytes(rounded)


def _bytes(values: Expression) -> Expression:
    return values.clamp(0, 255).to(torch.uint8)


def _area(image: Expression, old: tuple[int, int], new: tuple[int, int]) -> Expression:
    """Return means over the area that each new pixel covers."""
    block = (old[0] // new[0], old[1] // new[1])
    down, along = (covered(*sizes) for sizes in zip(old, new, strict=True))
    is_real = image.dtype is not torch.uint8
    if old != (block[0] * new[0], block[1] * new[1]):
        if is_real:
            return _resampled(image, down, along).to(image.dtype)
        # Columns first, as what is rounded depends on the order.
        return _bytes(_sums(_sums(image.to(torch.float32), -2, along), -3, down).apply("Round"))
    total = widened(image) if is_real else image.to(torch.int32)
    for axis, count in zip((-3, -2), block, strict=True):
        total = functools.reduce(operator.add, [total.slice(axis, i, step=count) for i in range(count)])
    if is_real:
        return (total * (1 / (block[0] * block[1]))).to(image.dtype)
    if block == (2, 2):
        return _bytes((total + 2) / 4)
    return _bytes((total.to(torch.float32) * (1 / (block[0] * block[1]))).apply("Round"))
