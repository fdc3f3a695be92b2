"""Windows of images as columns, and back; histograms; Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import onnx_ir as ir
import torch

from ..node_writer import NodeWriter
from ..translations import translation
from .pieces import arange

__all__ = ["col2im", "fft", "histogram", "ifft", "im2col"]

#: What ONNX reads as "to the last".
_LAST = 2**63 - 1


@translation("im2col")
def im2col(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write windows as columns: elements of the flattened images, by positions that are known beforehand."""
    p, spatial = writer.params, writer.shape()[2:]
    if 0 in spatial:
        raise writer.unknown("the spatial sizes")
    axes = len(p.kernel)
    ones, zeros = (1,) * axes, (0,) * axes
    pad = p.pad or zeros
    if any(pad):
        data = writer.op("Pad", data, writer.ints([0, 0, *pad] * 2))
    padded = [n + 2 * width for n, width in zip(spatial, pad, strict=True)]
    where = np.arange(prod(padded)).reshape(padded)
    for axis, (k, s, d) in enumerate(zip(p.kernel, p.stride or ones, p.dilate or ones, strict=True)):
        windows = np.lib.stride_tricks.sliding_window_view(where, d * (k - 1) + 1, axis)
        where = windows.take(range(0, windows.shape[axis], s), axis)[..., ::d]
    # (*windows, *elements) to (elements, windows).
    where = np.moveaxis(where, range(axes), range(axes, 2 * axes)).reshape(prod(p.kernel), -1)
    columns = writer.op("Gather", writer.reshape(data, [0, 0, -1]), writer.constant(where, np.int64), axis=2)
    # The channels of a window are one axis with its elements.
    rows = writer.shape()[1] * where.shape[0] or -1
    return writer.reshape(columns, [0, rows, where.shape[1]])


@translation("col2im")
def col2im(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write columns added up where they lie: a transposed convolution whose weights are each one element."""
    p, rows = writer.params, writer.shape()[1]
    if not rows:
        raise writer.unknown("the number of channels")
    axes, elements = len(p.kernel), prod(p.kernel)
    ones, zeros = (1,) * axes, (0,) * axes
    stride, dilate, pad = p.stride or ones, p.dilate or ones, p.pad or zeros
    windows, missing = [], []
    for n, k, s, d, width in zip(p.output_size, p.kernel, stride, dilate, pad, strict=True):
        count, rest = divmod(n + 2 * width - d * (k - 1) - 1, s)
        windows.append(count + 1)
        missing.append(rest)  # behind the last window
    weight = np.tile(np.eye(elements).reshape(elements, 1, *p.kernel), (rows // elements, *(1,) * (axes + 1)))
    return writer.op(
        "ConvTranspose",
        writer.reshape(data, [0, rows, *windows]),
        writer.constant(weight, writer.dtype()),
        group=rows // elements,
        kernel_shape=p.kernel,
        strides=stride,
        dilations=dilate,
        pads=[*pad, *pad],
        output_padding=missing,
    )


@translation("_histogram")
def histogram(writer: NodeWriter, data: ir.Value, bins: ir.Value | None = None) -> Sequence[ir.Value]:
    """Write how many values lie between bounds, and the bounds; a value on the last one counts below it."""
    op = writer.op
    flat = writer.reshape(data, [-1])
    bounds = op("Identity", bins) if bins is not None else _bounds(writer, flat)
    values = writer.unsqueeze(flat, [1])
    below, above = writer.slice(bounds, [0], [-1], [0]), writer.slice(bounds, [1], [_LAST], [0])
    last = writer.size_of(above, 0)
    is_last = op("Equal", arange(writer, last), op("Sub", last, writer.ints([1])))
    at_end = op("And", op("Equal", values, above), is_last)
    # Nothing is true of what is not a number.
    inside = op("And", op("GreaterOrEqual", values, below), op("Or", op("Less", values, above), at_end))
    return writer.reduce("ReduceSum", writer.cast(inside, torch.int64), [0]), bounds


def _bounds(writer: NodeWriter, values: ir.Value) -> ir.Value:
    """Write bounds of bins of one width; without a range from the least to the greatest value."""
    p, op = writer.params, writer.op
    steps = writer.constant(np.arange(p.bin_cnt + 1) / p.bin_cnt, torch.float64)
    if p.range is not None:
        low, high = (writer.constant([each], torch.float64) for each in p.range)
    else:
        low, high = (
            writer.cast(writer.reduce(kind, values, [0], keepdims=True), torch.float64)
            for kind in ("ReduceMin", "ReduceMax")
        )
    half = op("Where", op("Equal", low, high), *(writer.constant([n], torch.float64) for n in (0.5, 0.0)))
    low, high = op("Sub", low, half), op("Add", high, half)
    return writer.cast(op("Add", low, op("Mul", op("Sub", high, low), steps)), writer.dtype())


def _transform(writer: NodeWriter, data: ir.Value, axis: int, *, inverse: bool) -> ir.Value:
    """Write a transform along an axis, the real and imaginary parts in the last one."""
    if writer.opset < 17:
        raise writer.refuse("DFT needs opset 17 or later")
    if writer.opset < 20:
        return writer.op("DFT", data, axis=axis, inverse=int(inverse))
    return writer.op("DFT", data, None, writer.ints(axis), inverse=int(inverse))


@translation("_contrib_fft")
def fft(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the Fourier transform of the last axis, real and imaginary parts beside each other."""
    rank = writer.rank()
    # ONNX asks for an axis of the batch.
    found = _transform(writer, writer.unsqueeze(data, [0, rank + 1]), rank, inverse=False)
    flat = writer.reshape(found, [*[0] * rank, -1])
    return writer.op("Squeeze", flat, writer.ints([0]))


@translation("_contrib_ifft")
def ifft(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the real part of the inverse transform, not divided by the number of frequencies."""
    rank = writer.rank()
    pairs = writer.op("Unsqueeze", data, writer.ints([0]))
    pairs = writer.reshape(pairs, [*[0] * rank, -1, 2])
    found = _transform(writer, pairs, rank, inverse=True)
    real = writer.op("Squeeze", writer.op("Gather", found, writer.ints(0), axis=-1), writer.ints([0]))
    return writer.op("Mul", real, writer.cast(writer.size_of(real, rank - 1), writer.dtype()))
