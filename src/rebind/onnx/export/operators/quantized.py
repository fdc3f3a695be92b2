"""Networks of int8, as ONNX has them: QuantizeLinear and DequantizeLinear around operators on real numbers.

A runtime joins these to operators on whole numbers. MXNet's sums of products, in int32, are written as well; they are
dropped where only `requantize` reads them, which takes the real numbers instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx_ir as ir
import torch

from ....ops.quantization._levels import FINE, INT32_LEVELS, LEVELS
from ....ops.quantization.conversion import calibrated_range
from ..expressions import Expression, concat, numbers, where
from ..node_writer import NodeWriter
from ..translations import TRANSLATIONS, translation
from .levels import (
    REAL,
    as_levels,
    from_levels,
    in_float32,
    known_numbers,
    magnitude,
    negated,
    product_of,
    quotient_of,
)  # fmt: skip

__all__ = [
    "dequantize", "quantize", "quantize_asym", "quantize_v2", "quantized_act", "quantized_batch_norm",
    "quantized_concat", "quantized_conv", "quantized_elemwise_add", "quantized_elemwise_mul",
    "quantized_embedding", "quantized_flatten", "quantized_fully_connected", "quantized_pooling", "requantize",
]  # fmt: skip


def _ends(writer: NodeWriter, low: float, high: float) -> list[ir.Value]:
    """Return a calibrated range."""
    return [numbers(writer, [low]).value, numbers(writer, [high]).value]


def _extremes(data: Expression) -> tuple[ir.Value, ir.Value]:
    """Return the least and the greatest element."""
    low, high = (
        data.writer.reshape(data.writer.reduce(kind, data.value), [1]) for kind in ("ReduceMin", "ReduceMax")
    )
    return low, high


@translation("_contrib_quantize")
def quantize(
    writer: NodeWriter, data: ir.Value, min_range: ir.Value, max_range: ir.Value
) -> Sequence[ir.Value]:
    """Write levels within a given range."""
    dtype = writer.output_dtype()
    largest = magnitude(writer, min_range, max_range)
    found = Expression(writer, data, writer.dtype()).to(torch.float32)
    levels = as_levels(found, largest, LEVELS[dtype], dtype)
    if dtype is torch.int8:
        return [levels, negated(largest), largest.value]
    return [levels, min_range, max_range]


@translation("_contrib_quantize_v2")
def quantize_v2(writer: NodeWriter, data: ir.Value) -> Sequence[ir.Value]:
    """Write levels within a calibrated range, or within that of the data."""
    given, dtype = calibrated_range(writer.params), writer.output_dtype()
    if not writer.dtype().is_floating_point:
        half = FINE[dtype]
        return [
            writer.op("Identity", data),
            *_ends(writer, *(given or (-half if dtype is torch.int8 else 0.0, half))),
        ]
    found = Expression(writer, data, writer.dtype()).to(torch.float32)
    low, high = _extremes(found) if given is None else _ends(writer, *given)
    largest = magnitude(writer, low, high)
    levels = as_levels(found, largest, FINE[dtype], dtype)
    return [levels, negated(largest), largest.value] if dtype is torch.int8 else [levels, low, high]


@translation("_contrib_quantize_asym")
def quantize_asym(writer: NodeWriter, data: ir.Value) -> Sequence[ir.Value]:
    """Write levels in uint8 with a zero of its own."""
    given = calibrated_range(writer.params)
    found = Expression(writer, data, writer.dtype()).to(torch.float32)
    low, high = (
        in_float32(writer, each) for each in (_extremes(found) if given is None else _ends(writer, *given))
    )
    width = high - low
    scale = where(width > 0.0, LEVELS[torch.uint8] / width, 0.0)
    shift = where(scale > 0.0, LEVELS[torch.uint8] - high * scale, 0.0)
    levels = (found * scale + (shift + 0.5)).floor().clamp(0.0, 255.0)
    return [levels.to(torch.uint8).value, scale.value, shift.value]


@translation("_contrib_dequantize")
def dequantize(writer: NodeWriter, data: ir.Value, min_range: ir.Value, max_range: ir.Value) -> ir.Value:
    """Write real numbers."""
    level = product_of(magnitude(writer, min_range, max_range), 1 / FINE[writer.dtype()])
    return from_levels(writer, data, level, writer.dtype()).value


@translation("_contrib_requantize")
def requantize(
    writer: NodeWriter, data: ir.Value, min_range: ir.Value, max_range: ir.Value
) -> Sequence[ir.Value]:
    """Write levels in 8 bits of sums of products."""
    given, dtype = calibrated_range(writer.params), writer.output_dtype()
    if REAL in data.meta:
        real = in_float32(writer, data.meta[REAL])
    else:
        level = product_of(magnitude(writer, min_range, max_range), 1 / INT32_LEVELS)
        real = Expression(writer, data, torch.int32).to(torch.float32) * level
    if given is None:
        largest = magnitude(writer, *_extremes(real))
    else:
        largest = numbers(writer, [max(map(abs, given))])
    levels = as_levels(real, largest, LEVELS[dtype], dtype)
    low = negated(largest) if dtype is torch.int8 else product_of(largest, 0.0).value
    return [levels, low, largest.value]


@translation("_contrib_quantized_fully_connected")
def quantized_fully_connected(
    writer: NodeWriter, data: ir.Value, weight: ir.Value, bias: ir.Value | None = None, *ends: ir.Value
) -> Sequence[ir.Value]:
    """Write a dense layer, on real numbers and on levels."""
    if writer.params.flatten and writer.rank() != 2:
        data = writer.op("Flatten", data)

    def product(rows: ir.Value, filters: ir.Value, offset: ir.Value | None) -> ir.Value:
        if len(writer.output_shape()) == 2:
            return writer.op("Gemm", rows, filters, offset, transB=1)
        found = writer.op("MatMul", rows, writer.op("Transpose", filters, perm=[1, 0]))
        return found if offset is None else writer.op("Add", found, offset)

    return _layer(writer, product, data, weight, bias, ends)


@translation("_contrib_quantized_conv")
def quantized_conv(
    writer: NodeWriter, data: ir.Value, weight: ir.Value, bias: ir.Value | None = None, *ends: ir.Value
) -> Sequence[ir.Value]:
    """Write a convolution, on real numbers and on levels."""
    p = writer.params
    if p.layout not in (None, "NCW", "NCHW", "NCDHW"):
        raise writer.refuse(f"layout must be one with channels first; got {p.layout!r}")
    axes = len(p.kernel)

    def product(maps: ir.Value, filters: ir.Value, offset: ir.Value | None) -> ir.Value:
        return writer.op(
            "Conv",
            *(maps, filters, offset),
            kernel_shape=p.kernel,
            strides=p.stride or (1,) * axes,
            dilations=p.dilate or (1,) * axes,
            pads=(p.pad or (0,) * axes) * 2,
            group=p.num_group,
        )

    return _layer(writer, product, data, weight, bias, ends)


def _layer(
    writer: NodeWriter,
    product: Callable[[ir.Value, ir.Value, ir.Value | None], ir.Value],
    data: ir.Value,
    weight: ir.Value,
    bias: ir.Value | None,
    ends: Sequence[ir.Value],
) -> list[ir.Value]:
    """Return the sums of a layer as int32, with their range, and note the real numbers that they stand for."""
    dtype = writer.dtype()
    present = [each for each in ends if each is not None]
    of_data, of_weight = magnitude(writer, *present[:2]), magnitude(writer, *present[2:4])
    levels = product_of(of_data, 1 / LEVELS[dtype]), product_of(of_weight, 1 / LEVELS[torch.int8])
    level = product_of(*levels)
    offset = offset_real = None
    if bias is not None:
        of_bias = magnitude(writer, *present[4:6])
        kinds = ((of_data, dtype), (of_weight, torch.int8), (of_bias, torch.int8))
        # In this order: what is cut off makes the smallest error a whole level.
        scales = [quotient_of(numbers(writer, [FINE[kind]]), largest) for largest, kind in kinds]
        factor = quotient_of(product_of(scales[0], scales[1]), scales[2])
        whole = _whole_levels(writer, bias, factor)
        offset, offset_real = (
            writer.cast(whole, torch.float32),
            from_levels(writer, whole, level, torch.int32).value,
        )
    # Whole numbers below 2**24 are exact in float32.
    sums = product(writer.cast(data, torch.float32), writer.cast(weight, torch.float32), offset)
    out = writer.cast(sums, torch.int32)
    real = product(
        from_levels(writer, data, levels[0], dtype).value,
        from_levels(writer, weight, levels[1], torch.int8).value,
        offset_real,
    )
    out.meta[REAL] = real
    reach = product_of(level, INT32_LEVELS)
    return [out, negated(reach), reach.value]


def _whole_levels(writer: NodeWriter, bias: ir.Value, factor: Expression) -> ir.Value:
    """Return a bias in the levels of sums, in int32, cut towards 0."""
    known, times = known_numbers(bias), known_numbers(factor.value)
    if known is None or times is None:
        scaled = Expression(writer, bias, torch.int8).to(torch.float32) * factor
        return scaled.to(torch.int32).value
    return writer.constant((known.astype(np.float32) * times).astype(np.int32))


@translation("_contrib_quantized_act")
def quantized_act(writer: NodeWriter, data: ir.Value, low: ir.Value, high: ir.Value) -> Sequence[ir.Value]:
    """Write a rectifier between two conversions."""
    real, largest, count = _of_same_range(writer, data, low, high)
    return [as_levels(real.apply("Relu"), largest, count, writer.dtype()), low, high]


def _of_same_range(
    writer: NodeWriter, data: ir.Value, low: ir.Value, high: ir.Value
) -> tuple[Expression, Expression, float]:
    """Return real numbers, and the range that takes them back to levels, for what maps levels to levels.

    Where the range is known it is that of sums of products, so that a runtime can join the conversions; else each level
    is worth 1.
    """
    largest, count = magnitude(writer, low, high), LEVELS[writer.dtype()]
    if known_numbers(largest.value) is None:
        largest, count = numbers(writer, [1.0]), 1.0
    return from_levels(writer, data, product_of(largest, 1 / count), writer.dtype()), largest, count


@translation("_contrib_quantized_flatten")
def quantized_flatten(
    writer: NodeWriter, data: ir.Value, low: ir.Value, high: ir.Value
) -> Sequence[ir.Value]:
    """Write all axes but the first as one."""
    return [writer.op("Flatten", data), low, high]


@translation("_contrib_quantized_pooling")
def quantized_pooling(
    writer: NodeWriter, data: ir.Value, low: ir.Value, high: ir.Value
) -> Sequence[ir.Value]:
    """Write pooling of levels, whose means are rounded to levels."""
    real, largest, count = _of_same_range(writer, data, low, high)
    pooled = TRANSLATIONS["Pooling"](writer, real.value)
    assert isinstance(pooled, ir.Value)
    return [as_levels(in_float32(writer, pooled), largest, count, writer.dtype()), low, high]


@translation("_contrib_quantized_embedding")
def quantized_embedding(
    writer: NodeWriter, data: ir.Value, weight: ir.Value, low: ir.Value, high: ir.Value
) -> Sequence[ir.Value]:
    """Write rows of a table; an index outside of it takes the nearest one."""
    index = Expression(writer, data, writer.dtype()).to(torch.int64).clamp(0, writer.params.input_dim - 1)
    return [writer.op("Gather", weight, index.value), low, high]


@translation("_contrib_quantized_concat")
def quantized_concat(writer: NodeWriter, *data: ir.Value) -> Sequence[ir.Value]:
    """Write arrays joined in levels of the widest of their ranges."""
    count, dtype = writer.params.num_args, writer.output_dtype()
    arrays, lows, highs = data[:count], data[count::2], data[count + 1 :: 2]
    reach = [magnitude(writer, *pair) for pair in zip(lows, highs, strict=True)]
    low, high = (_outermost(writer, kind, ends) for kind, ends in (("Min", lows), ("Max", highs)))
    widest = magnitude(writer, low, high)
    # In levels of the result, of which one is worth 1 here: halves are halves.
    levels = [
        from_levels(writer, value, product_of(quotient_of(own, widest), FINE[dtype] / FINE[kind]), kind)
        for value, own, kind in zip(arrays, reach, map(writer.dtype, range(count)), strict=True)
    ]
    joined = concat(levels, writer.params.dim)
    return [as_levels(joined, numbers(writer, [1.0]), 1.0, dtype), low, high]


def _outermost(writer: NodeWriter, kind: str, ends: Sequence[ir.Value]) -> ir.Value:
    """Return the least or the greatest of some numbers: a constant, if all are known."""
    known = [number for each in ends if (number := known_numbers(each)) is not None]
    if len(known) == len(ends):
        return numbers(writer, (np.min if kind == "Min" else np.max)(known, axis=0)).value
    return writer.op(kind, *ends)


@translation("_contrib_quantized_elemwise_add")
def quantized_elemwise_add(
    writer: NodeWriter, lhs: ir.Value, rhs: ir.Value, *ends: ir.Value
) -> Sequence[ir.Value]:
    """Write a sum in levels of a calibrated range, or in int32."""
    given, dtype = calibrated_range(writer.params), writer.output_dtype()
    reach = magnitude(writer, *ends[:2]), magnitude(writer, *ends[2:])
    levels = [product_of(own, 1 / FINE[writer.dtype(i)]) for i, own in enumerate(reach)]
    total = from_levels(writer, lhs, levels[0], writer.dtype(0)) + from_levels(
        writer, rhs, levels[1], writer.dtype(1)
    )
    if given is not None:
        largest = numbers(writer, [max(map(abs, given))])
        return [as_levels(total, largest, FINE[dtype], dtype), *_ends(writer, *given)]
    both = reach[0] + reach[1]
    level = both.to(torch.float64) / INT32_LEVELS
    exact = [
        Expression(writer, value, writer.dtype(i)).to(torch.float64)
        * quotient_of(levels[i].to(torch.float64), level)
        for i, value in enumerate((lhs, rhs))
    ]
    sums = (exact[0] + exact[1]).apply("Round").clamp(-(2.0**31), 2.0**31 - 1).to(torch.int32).value
    sums.meta[REAL] = total.value
    return [sums, negated(both), both.value]


@translation("_contrib_quantized_elemwise_mul")
def quantized_elemwise_mul(
    writer: NodeWriter, lhs: ir.Value, rhs: ir.Value, *ends: ir.Value
) -> ir.Value | Sequence[ir.Value]:
    """Write a product: real numbers, levels of a calibrated range, or int32."""
    given = calibrated_range(writer.params)
    reach = magnitude(writer, *ends[:2]), magnitude(writer, *ends[2:])
    dtypes = writer.dtype(0), writer.dtype(1)
    product = Expression(writer, lhs, dtypes[0]).to(torch.int32) * Expression(writer, rhs, dtypes[1]).to(
        torch.int32
    )
    level = product_of(*(product_of(own, 1 / FINE[dtype]) for own, dtype in zip(reach, dtypes, strict=True)))
    if writer.params.enable_float_output:
        return (product.to(torch.float32) * level).value
    if given is not None:
        own = numbers(writer, [max(map(abs, given)) / FINE[torch.int8]])
        cut = (product.to(torch.float32) * quotient_of(level, own)).to(torch.int32)
        return [cut.clamp(-128, 127).to(torch.int8).value, *_ends(writer, *given)]
    coarse = product_of(
        *(product_of(own, 1 / LEVELS[dtype]) for own, dtype in zip(reach, dtypes, strict=True))
    )
    whole = product_of(coarse, INT32_LEVELS)
    return [product.value, negated(whole), whole.value]


@translation("_contrib_quantized_batch_norm")
def quantized_batch_norm(writer: NodeWriter, data: ir.Value, *others: ir.Value) -> Sequence[ir.Value]:
    """Write one factor and one offset for each channel, and levels of int8."""
    p, given = writer.params, calibrated_range(writer.params)
    gamma, beta, mean, variance, low, high = (in_float32(writer, each) for each in others)
    slope = 1.0 / (variance + p.eps).apply("Sqrt")
    if not p.fix_gamma:
        slope = slope * gamma
    offset = beta - mean * slope
    across = (-1, *(1,) * (writer.rank() - p.axis % writer.rank() - 1))
    level = product_of(magnitude(writer, low.value, high.value), 1 / FINE[writer.dtype()])
    out = from_levels(writer, data, level, writer.dtype()) * slope.reshape(*across) + offset.reshape(*across)
    if given is not None:
        largest = numbers(writer, [max(map(abs, given))])
        return [as_levels(out, largest, FINE[torch.int8], torch.int8), *_ends(writer, *given)]
    largest = magnitude(writer, *_extremes(out))
    return [as_levels(out, largest, FINE[torch.int8], torch.int8), negated(largest), largest.value]
