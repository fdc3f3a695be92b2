"""Convolutions that read between the pixels: each filter's pixels are interpolated from a table, then multiplied."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import torch

from ..expressions import Expression, arange, real, where
from ..node_writer import NodeWriter
from ..translations import translation
from .interpolation import corners, weighted_rows

__all__ = ["deformable_convolution", "modulated_deformable_convolution"]


@translation("_contrib_DeformableConvolution")
def deformable_convolution(
    writer: NodeWriter, data: ir.Value, offset: ir.Value, weight: ir.Value, bias: ir.Value | None = None
) -> ir.Value:
    """Write what each filter reads; outside of the image everything is 0, within it the border goes on."""
    height, width = _sizes(writer)
    y, x = _points(writer, real(writer, offset, 1))
    inside = (y >= 0.0) & (y < float(height)) & (x >= 0.0) & (x < float(width))
    index, share = corners(y, x, height, width)
    share = where(inside.unsqueeze(-1), share, 0.0)
    return _product(writer, data, index, share, weight, bias, 2)


@translation("_contrib_ModulatedDeformableConvolution")
def modulated_deformable_convolution(
    writer: NodeWriter,
    data: ir.Value,
    offset: ir.Value,
    mask: ir.Value,
    weight: ir.Value,
    bias: ir.Value | None = None,
) -> ir.Value:
    """Write what each filter reads, times the mask; the image falls to 0 outside."""
    height, width = _sizes(writer)
    y, x = _points(writer, real(writer, offset, 1))
    index, share = corners(y, x, height, width, zeros=True)
    maps, elements = writer.params.num_deformable_group, int(np.prod(writer.params.kernel))
    rows, columns = writer.output_shape()[2:]
    factor = real(writer, mask, 2).to(share.dtype).reshape(-1, maps, elements, rows, columns, 1)
    return _product(writer, data, index, share * factor, weight, bias, 3)


def _sizes(writer: NodeWriter) -> tuple[int, int]:
    _, channels, height, width = writer.shape()
    if not (channels and height and width):
        raise writer.unknown("channels, height and width of the data")
    return height, width


def _points(writer: NodeWriter, offset: Expression) -> tuple[Expression, Expression]:
    """Return where the filters read, y and x: (N, maps, elements, rows, columns)."""
    p, (rows, columns) = writer.params, writer.output_shape()[2:]
    elements = int(np.prod(p.kernel))
    shift = offset.reshape(-1, p.num_deformable_group, elements, 2, rows, columns)
    element = np.indices(p.kernel).reshape(2, elements, 1, 1)
    window = np.indices((rows, columns)).reshape(2, 1, rows, columns)
    found = []
    for axis in (0, 1):
        stride, dilate, pad = ((p[name] or (default, default))[axis] for name, default in _DEFAULTS)
        start = window[axis] * stride - pad + element[axis] * dilate
        found.append(
            shift.select(3, axis) + Expression(writer, writer.constant(start, offset.dtype), offset.dtype)
        )
    return found[0], found[1]


_DEFAULTS = (("stride", 1), ("dilate", 1), ("pad", 0))


def _product(
    writer: NodeWriter,
    data: ir.Value,
    index: Expression,
    share: Expression,
    weight: ir.Value,
    bias: ir.Value | None,
    weight_index: int,
) -> ir.Value:
    """Return the product of the filters and what they read: a convolution whose windows lie beside each other."""
    p, maps = writer.params, writer.params.num_deformable_group
    _, channels, height, width = writer.shape()
    rows, columns = writer.output_shape()[2:]
    images, elements = real(writer, data), int(np.prod(p.kernel))
    # A row of channels for each pixel of each map: (N * maps * H * W, C / maps).
    table = images.reshape(-1, maps, channels // maps, height * width).permute(0, 1, 3, 2)
    table = table.reshape(-1, channels // maps)
    number = arange(writer, index.length(0).squeeze(0), torch.int64).reshape(-1, 1, 1, 1, 1, 1) * maps
    own = Expression(writer, writer.ints(list(range(maps))), torch.int64).reshape(1, -1, 1, 1, 1, 1)
    read = weighted_rows(table, index + (number + own) * (height * width), share)
    # (N, maps, elements, rows, columns, C / maps) to (N, groups, C / groups * elements, rows * columns).
    read = read.permute(0, 1, 5, 2, 3, 4)
    read = read.reshape(-1, p.num_group, channels // p.num_group * elements, rows * columns)
    filters = real(writer, weight, weight_index).to(read.dtype)
    filters = filters.reshape(p.num_group, p.num_filter // p.num_group, channels // p.num_group * elements)
    out = filters.matmul(read).reshape(-1, p.num_filter, rows, columns)
    if bias is not None:
        out = out + real(writer, bias, weight_index + 1).to(read.dtype).reshape(-1, 1, 1)
    return out.to(writer.output_dtype()).value
