"""Pooling of all kinds and conventions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import onnx_ir as ir
import torch

from ....shapes import Shape
from ..node_writer import NodeWriter
from ..translations import translation
from .layers import from_channels_first, is_channels_last, to_channels_first

__all__ = ["pooling", "pooling_v1"]

#: Elements that are added before and after each axis.
Widths = Sequence[tuple[int, int]]


@translation("Pooling")
def pooling(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write maxima, means, sums or norms over windows; channels that are last go to the front and back."""
    p, rank = writer.params, writer.rank()
    last = is_channels_last(p.layout)
    if last:
        data = to_channels_first(writer, data, rank)
    out = _over_all(writer, data) if p.global_pool else _over_windows(writer, data)
    return from_channels_first(writer, out, rank) if last else out


@translation("Pooling_v1")
def pooling_v1(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the old form: its padding takes part in a maximum, and counts in a mean wherever a window reaches."""
    p = writer.params
    if p.global_pool:
        return _over_all(writer, data)
    pad, stride = p.pad or (0, 0), p.stride or (1, 1)
    data = _padded(writer, data, [(size, size) for size in pad], 0)
    beyond = [(0, size) for size in _beyond(p.pooling_convention, p.kernel, stride)]
    if p.pool_type == "max":
        return _maximum(writer, data, p.kernel, stride, beyond)
    mean = _mean(writer, data, p.kernel, stride, beyond)
    return mean if p.pool_type == "avg" else writer.op("Mul", mean, writer.like(prod(p.kernel)))


def _over_all(writer: NodeWriter, data: ir.Value) -> ir.Value:
    kind = writer.params.pool_type
    if kind == "max":
        return writer.op("GlobalMaxPool", data)
    if kind == "avg":
        return writer.op("GlobalAveragePool", data)
    axes = range(2, writer.rank())
    if kind == "sum":
        return writer.reduce("ReduceSum", data, axes, keepdims=True)
    power = writer.params.p_value
    return _root(writer, writer.reduce("ReduceSum", _power(writer, data, power), axes, keepdims=True), power)


def _over_windows(writer: NodeWriter, data: ir.Value) -> ir.Value:
    p, axes = writer.params, len(writer.params.kernel)
    kernel, stride, pad = p.kernel, p.stride[:axes] or (1,) * axes, p.pad[:axes] or (0,) * axes
    beyond = _beyond(p.pooling_convention, kernel, stride)
    widths = [(before, before + more) for before, more in zip(pad, beyond, strict=True)]
    if p.pool_type == "max":
        return _maximum(writer, data, kernel, stride, widths)
    if p.pool_type == "avg":
        return _counted_mean(writer, data, kernel, stride, pad, beyond)
    power = p.p_value if p.pool_type == "lp" else 1
    mean = _mean(writer, _power(writer, data, power), kernel, stride, widths)
    total = writer.op("Mul", mean, writer.like(prod(kernel)))
    return _root(writer, total, power)


def _beyond(convention: str, kernel: Shape, stride: Shape) -> list[int]:
    """Return what is added at the end of each axis, so that the windows that fit are as many as a convention has.

    ``full`` rounds the number of windows up, ``ceil((n - k) / s) + 1 = floor((n + s - 1 - k) / s) + 1``; ``same`` has
    ``ceil(n / s) = floor((n + k - 1 - k) / s) + 1``. So the sizes may be free. What no window reaches has no effect.
    """
    if convention == "full":
        return [step - 1 for step in stride]
    return [size - 1 for size in kernel] if convention == "same" else [0] * len(kernel)


def _maximum(writer: NodeWriter, data: ir.Value, kernel: Shape, stride: Shape, widths: Widths) -> ir.Value:
    data, pads = _pads(writer, data, kernel, widths, _lowest(writer.dtype()))
    return writer.op("MaxPool", data, kernel_shape=kernel, strides=stride, pads=pads)


def _lowest(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).min if dtype.is_floating_point else torch.iinfo(dtype).min


def _counted_mean(
    writer: NodeWriter, data: ir.Value, kernel: Shape, stride: Shape, pad: Shape, beyond: Sequence[int]
) -> ir.Value:
    """Write a mean over what counts: the data, with `count_include_pad` the padding, never what lies beyond it."""
    include = writer.params.count_include_pad is not False
    sides = [(size, size) for size in pad]
    if not any(beyond):
        if include:
            return _mean(writer, data, kernel, stride, sides)
        if all(size < extent for size, extent in zip(pad, kernel, strict=True)):
            return writer.op(
                "AveragePool",
                data,
                kernel_shape=kernel,
                strides=stride,
                pads=[*pad, *pad],
                count_include_pad=0,
            )
    # The mean of a window, over the mean of its ones: 1 where an element counts and 0 elsewhere.
    spatial = writer.shape_of(data, 2)
    ones = writer.op("Expand", writer.like(1), writer.concat(writer.ints([1, 1]), spatial))
    ones = _padded(writer, _padded(writer, ones, sides, include), [(0, more) for more in beyond], 0)
    widths = [(before, before + more) for before, more in zip(pad, beyond, strict=True)]
    means = _mean(writer, data, kernel, stride, widths)
    share = writer.op("Max", _mean(writer, ones, kernel, stride), writer.like(1 / prod(kernel)))
    return writer.op("Div", means, share)


def _mean(writer: NodeWriter, data: ir.Value, kernel: Shape, stride: Shape, widths: Widths = ()) -> ir.Value:
    """Write the sums of windows, over the size of the kernel."""
    data, pads = _pads(writer, data, kernel, widths, 0)
    return writer.op("AveragePool", data, kernel_shape=kernel, strides=stride, pads=pads, count_include_pad=1)


def _pads(
    writer: NodeWriter, data: ir.Value, kernel: Shape, widths: Widths, value: float
) -> tuple[ir.Value, Sequence[int]]:
    """Return data and ONNX's `pads`; a padding as large as the kernel, which runtimes refuse, is in the data."""
    before, after = zip(*(widths or [(0, 0)] * len(kernel)), strict=True)
    if all(max(pair) < size for pair, size in zip(widths, kernel, strict=False)):
        return data, (*before, *after)
    return _padded(writer, data, widths, value), (0,) * (2 * len(kernel))


def _padded(writer: NodeWriter, data: ir.Value, widths: Widths, value: float) -> ir.Value:
    if not any(map(any, widths)):
        return data
    # Under one more axis: onnxruntime would make a Pad part of the pooling behind it, where it is refused when it is
    # as large as the kernel, and counts as minus infinity for a maximum, whatever its value.
    data = writer.unsqueeze(data, [0])
    return writer.squeeze(
        writer.pad(data, [(0, 0), (0, 0), (0, 0), *widths], writer.dtype(), value=value), [0]
    )


def _power(writer: NodeWriter, data: ir.Value, power: int) -> ir.Value:
    """Write a power as products: of a negative number it has its sign."""
    return data if power == 1 else writer.op("Mul", *(data, _power(writer, data, power - 1)))


def _root(writer: NodeWriter, total: ir.Value, power: int) -> ir.Value:
    if power == 1:
        return total
    if power == 2:
        return writer.op("Sqrt", total)
    size = writer.op("Pow", writer.op("Abs", total), writer.like(1 / 3))
    return writer.op("Mul", writer.op("Sign", total), size)
