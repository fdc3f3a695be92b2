"""Operators on images that networks begin with."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import torch

from ....ops.image.colour import COMPONENTS, DEVIATIONS
from ..expressions import Expression, numbers
from ..node_writer import NodeWriter
from ..translations import translation

__all__ = [
    "adjust_lighting",
    "crop",
    "flip_left_right",
    "flip_top_bottom",
    "lit",
    "normalize",
    "stored",
    "to_tensor",
    "wide_enough",
]


@translation("_image_to_tensor")
def to_tensor(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write numbers from 0 to 1, channels first."""
    axes = (2, 0, 1) if writer.rank() == 3 else (0, 3, 1, 2)
    return (Expression(writer, data, writer.dtype()).permute(*axes).to(torch.float32) / 255.0).value


@translation("_image_normalize")
def normalize(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write ``(data - mean) / std`` for each channel; the defaults have four numbers, for any number of channels."""
    p, found = writer.params, Expression(writer, data, writer.dtype())
    mean, std = (
        numbers(writer, np.reshape(given[:1] if set(given) == {default} else given, (-1, 1, 1)), found.dtype)
        for given, default in ((p.mean, 0.0), (p.std, 1.0))
    )
    return ((found - mean) / std).value


@translation("_image_crop")
def crop(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write a region."""
    p = writer.params
    return writer.slice(data, [p.y, p.x], [p.y + p.height, p.x + p.width], [-3, -2])


@translation("_image_flip_left_right")
def flip_left_right(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the columns in reverse order."""
    return writer.slice(data, [-1], [-(2**62)], [-2], [-1])


@translation("_image_flip_top_bottom")
def flip_top_bottom(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the rows in reverse order."""
    return writer.slice(data, [-1], [-(2**62)], [-3], [-1])


def wide_enough(image: Expression) -> Expression:
    """Return an image in the type to compute in."""
    return image.to(image.dtype if image.dtype == torch.float64 else torch.float32)


def lit(image: Expression, alpha: Expression) -> Expression:
    """Return an image and a multiple of each principal component of colours."""
    writer = image.writer
    components, deviations = (numbers(writer, each, image.dtype) for each in (COMPONENTS, DEVIATIONS))
    return image + components.matmul(alpha * deviations)


def stored(values: Expression, dtype: torch.dtype) -> Expression:
    """Return numbers as an image of a type."""
    if dtype == torch.uint8:
        values = values.clamp(0.0, 255.0)
    elif dtype == torch.int8:  # what does not fit wraps around
        values = values.to(torch.int32)
    return values.to(dtype)


@translation("_image_adjust_lighting")
def adjust_lighting(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write multiples of the principal components of colours added to each pixel."""
    if writer.shape()[-1] == 1:
        return writer.op("Identity", data)
    image = wide_enough(Expression(writer, data, writer.dtype()))
    return stored(lit(image, numbers(writer, writer.params.alpha, image.dtype)), writer.dtype()).value
