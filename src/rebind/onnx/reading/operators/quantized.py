"""Numbers in few bits, as arithmetic."""

from __future__ import annotations

import onnx_ir as ir

from ....symbol import Symbol
from ..element_types import FLOATS
from ..node_reader import NodeReader
from ..readings import reading
from .windows import Windows

__all__ = ["dequantize", "quantize"]

#: The least and the greatest steps of a type.
_RANGES = {
    ir.DataType.UINT2: (0, 3),
    ir.DataType.INT2: (-2, 1),
    ir.DataType.UINT4: (0, 15),
    ir.DataType.INT4: (-8, 7),
    ir.DataType.UINT8: (0, 255),
    ir.DataType.INT8: (-128, 127),
    ir.DataType.UINT16: (0, 65535),
    ir.DataType.INT16: (-32768, 32767),
}


def _along(reader: NodeReader, factors: Symbol, index: int, data: int = 0) -> Symbol:
    """Return scales or zero points, an input, so that they are broadcast along the axis that they belong to."""
    shape = reader.shape(index)
    if shape is None:
        raise reader.refuse("the number of axes of its scale must be known")
    rank = reader.rank(data)
    if len(shape) == 0 or shape == [1]:
        return factors
    axis = reader.axis(reader.attribute("axis", 1), data)
    if len(shape) == 1:
        return reader.op("Reshape", factors, shape=(*[1] * axis, -1, *[1] * (rank - axis - 1)))
    size, blocks, block = reader.known_shape(data)[axis], shape[axis], reader.attribute("block_size", 0)
    if not block and isinstance(blocks, int):
        block = -(-size // blocks)
    whole = reader.op("repeat", factors, repeats=block, axis=axis)
    return reader.op("slice_axis", whole, axis=axis, begin=0, end=size)


def quantize(
    reader: NodeReader, data: Symbol, scale: Symbol, zero: Symbol | None, dtype: ir.DataType
) -> Symbol:
    """Return data in steps of a scale: of integers, rounded to even and cut to the type's range, or of floats."""
    steps = reader.op("broadcast_div", data, scale)
    if reader.type_name(dtype) in FLOATS:
        if zero is not None:
            steps = reader.op("broadcast_add", steps, zero)
        return reader.convert(steps, "float32", dtype, saturate=bool(reader.attribute("saturate", 1)))
    return _cut(reader, reader.op("_onnx_round", steps), zero, dtype)


def _cut(reader: NodeReader, steps: Symbol, zero: Symbol | None, dtype: ir.DataType) -> Symbol:
    """Return whole steps, moved by a zero point, in the range of a type of integers."""
    if dtype not in _RANGES:
        raise reader.refuse(
            f"the quantized type must be an integer type of 2 to 16 bits; got {dtype.name.lower()}"
        )
    if zero is not None:
        steps = reader.op("broadcast_add", steps, reader.cast(zero, "float32"))
    low, high = _RANGES[dtype]
    return reader.cast(reader.op("clip", steps, a_min=float(low), a_max=float(high)), reader.type_name(dtype))


def dequantize(reader: NodeReader, steps: Symbol, scale: Symbol, zero: Symbol | None) -> Symbol:
    """Return the numbers that steps of a scale stand for, in float32: 16 bits do not hold all steps."""
    steps = reader.cast(steps, "float32")
    if zero is not None:
        steps = reader.op("broadcast_sub", steps, reader.cast(zero, "float32"))
    return reader.op("broadcast_mul", steps, scale)


def _factors(reader: NodeReader) -> Symbol:
    """Return scales along their axis, in float32."""
    scale = _along(reader, reader.input(1), 1)
    return scale if reader.dtype(1) == "float32" else reader.cast(scale, "float32")


@reading("QuantizeLinear")
def quantize_linear(reader: NodeReader) -> Symbol:
    """Numbers to steps."""
    zero = _along(reader, reader.input(2), 2) if reader.has(2) else None
    given = reader.attribute("output_dtype", 0)
    dtype = ir.DataType(given) if given else reader.onnx_type(2) if reader.has(2) else ir.DataType.UINT8
    data = reader.input(0) if reader.dtype() == "float32" else reader.cast(reader.input(0), "float32")
    return quantize(reader, data, _factors(reader), zero, dtype)


@reading("DequantizeLinear")
def dequantize_linear(reader: NodeReader) -> Symbol:
    """Steps to numbers."""
    reader.dtype()
    zero = _along(reader, reader.input(2), 2) if reader.has(2) else None
    found = dequantize(reader, reader.input(0), _factors(reader), zero)
    given = reader.attribute("output_dtype", 0)
    dtype = reader.type_name(given) if given else reader.dtype(1)
    return found if dtype == "float32" else reader.cast(found, dtype)


def _whole(reader: NodeReader, index: int, zero: int, shape: tuple[int, ...] | None = None) -> Symbol:
    """Return an input of integers less its zero point, in a type that holds all sums."""
    data = reader.cast(reader.input(index), "float64")
    if not reader.has(zero):
        return data
    point = reader.cast(reader.input(zero), "float64")
    if shape is not None and reader.shape(zero) not in ([], [1]):
        point = reader.op("Reshape", point, shape=shape)
    return reader.op("broadcast_sub", data, point)


def _rows(reader: NodeReader, index: int) -> tuple[int, ...] | None:
    """Return how a zero point or scale of each row of the first matrix is broadcast."""
    shape = reader.shape(index)
    return (-1, 1) if shape is not None and len(shape) == 1 else None


@reading("MatMulInteger")
def matmul_integer(reader: NodeReader) -> Symbol:
    """A product of matrices of steps."""
    first = _whole(reader, 0, 2, _rows(reader, 2) if reader.has(2) else None)
    return reader.cast(reader.op("_onnx_matmul", first, _whole(reader, 1, 3)), "int32")


@reading("QLinearMatMul")
def quantized_matmul(reader: NodeReader) -> Symbol:
    """A product of matrices of steps, in steps."""
    product = reader.op("_onnx_matmul", _whole(reader, 0, 2, _rows(reader, 2)), _whole(reader, 3, 5))
    scales = []
    for index, shape in ((1, _rows(reader, 1)), (4, None), (6, _rows(reader, 6))):
        scale = reader.cast(reader.input(index), "float64")
        many = shape is not None and reader.shape(index) != [1]
        scales.append(reader.op("Reshape", scale, shape=shape) if many else scale)
    product = reader.op("broadcast_mul", reader.op("broadcast_mul", product, scales[0]), scales[1])
    steps = reader.cast(reader.op("broadcast_div", product, scales[2]), "float32")
    return _cut(reader, reader.op("_onnx_round", steps), reader.input(7), reader.onnx_type(7))


def _convolve(reader: NodeReader, data: Symbol, weight: Symbol, index: int) -> Symbol:
    shape = reader.shape(index)
    if shape is None or not all(isinstance(n, int) for n in shape):
        raise reader.refuse("the shape of its weight must be known")
    known = [n for n in shape if isinstance(n, int)]
    windows = Windows.read(reader, tuple(known[2:]))
    if not windows.is_symmetric:
        data, windows = windows.padded(reader, data)
    return reader.op(
        "Convolution",
        data,
        weight,
        kernel=windows.kernel,
        stride=windows.stride,
        dilate=windows.dilate,
        pad=windows.before,
        num_filter=known[0],
        num_group=reader.attribute("group", 1),
        no_bias=True,
    )


@reading("ConvInteger")
def conv_integer(reader: NodeReader) -> Symbol:
    """A convolution of steps."""
    weight = _whole(reader, 1, 3, (-1, *[1] * (reader.rank(1) - 1)))
    return reader.cast(_convolve(reader, _whole(reader, 0, 2), weight, 1), "int32")


@reading("QLinearConv")
def quantized_conv(reader: NodeReader) -> Symbol:
    """A convolution of steps, in steps."""
    axes = reader.rank() - 2
    weight = _whole(reader, 3, 5, (-1, *[1] * (axes + 1)))
    found = _convolve(reader, _whole(reader, 0, 2), weight, 3)
    if reader.has(8):
        bias = reader.op("Reshape", reader.cast(reader.input(8), "float64"), shape=(1, -1, *[1] * axes))
        found = reader.op("broadcast_add", found, bias)
    scale = reader.cast(reader.input(4), "float64")
    if reader.shape(4) not in ([], [1]):
        scale = reader.op("Reshape", scale, shape=(1, -1, *[1] * axes))
    found = reader.op("broadcast_mul", found, scale)
    found = reader.op("broadcast_mul", found, reader.cast(reader.input(1), "float64"))
    found = reader.op("broadcast_div", found, reader.cast(reader.input(6), "float64"))
    steps = reader.op("_onnx_round", reader.cast(found, "float32"))
    return _cut(reader, steps, reader.input(7), reader.onnx_type(7))
