"""Layers with parameters: dense, convolutions, normalization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....symbol import Symbol
from ..node_reader import NodeReader
from ..readings import reading
from .windows import Windows

__all__ = ["matmul"]


# Dense layers


@reading("Gemm")
def gemm(reader: NodeReader) -> Symbol:
    """A dense layer: ``alpha A B + beta C``; with a constant `B` it is a FullyConnected with a weight and a bias."""
    alpha, beta = reader.attribute("alpha", 1.0), reader.attribute("beta", 1.0)
    data = reader.input(0)
    if reader.attribute("transA", 0):
        data = reader.op("transpose", data, axes=(1, 0))
    weight, bias = reader.constant(1), reader.constant(2)
    if weight is not None and weight.ndim == 2 and reader.is_float() and alpha == 1.0:
        transposed = bool(reader.attribute("transB", 0))
        units = weight.shape[0 if transposed else 1]
        kernel = reader.input(1) if transposed else _kernel(reader, weight)
        if not reader.has(2):
            return reader.op("FullyConnected", data, kernel, num_hidden=units, no_bias=True, flatten=False)
        if bias is not None and beta == 1.0 and bias.shape in ((units,), (1, units)):
            row = reader.input(2) if bias.ndim == 1 else reader.parameter(bias.reshape(-1), "bias")
            return reader.op("FullyConnected", data, kernel, row, num_hidden=units, flatten=False)
    other = reader.input(1)
    if reader.attribute("transB", 0):
        other = reader.op("transpose", other, axes=(1, 0))
    product = reader.op(_product(reader), data, other)
    if alpha != 1.0:
        product = reader.op("_mul_scalar", product, scalar=alpha)
    if not reader.has(2):
        return product
    added = reader.input(2)
    if beta != 1.0:
        added = reader.op("_mul_scalar", added, scalar=beta)
    return reader.op("broadcast_add", product, added)


@reading("MatMul")
def matmul(reader: NodeReader) -> Symbol:
    """A product of matrices; with a constant of two axes a FullyConnected, and with a bias that follows its bias."""
    weight = reader.constant(1)
    shape = reader.shape()
    if (
        weight is not None
        and weight.ndim == 2
        and shape is not None
        and len(shape) >= 2
        and reader.is_float()
    ):
        kernel = _kernel(reader, weight)
        return reader.op(
            "FullyConnected", reader.input(0), kernel, num_hidden=weight.shape[1], no_bias=True, flatten=False
        )
    return reader.op(_product(reader), reader.input(0), reader.input(1))


def _kernel(reader: NodeReader, matrix: np.ndarray) -> Symbol:
    """Return a matrix, input 1, as the weight of a FullyConnected, whose rows are units.

    What the file transposes is the weight itself; what other nodes read too is transposed in the network. So a weight
    that is used twice stays one parameter.
    """
    value = reader.node.inputs[1]
    assert value is not None
    maker = value.producer()
    if maker is not None and maker.op_type == "Transpose":
        original = maker.inputs[0]
        if original is not None and original.is_initializer():
            return reader.graph.symbol(original)
    if len(value.uses()) > 1:
        return reader.op("transpose", reader.input(1), axes=(1, 0))
    return reader.parameter(np.ascontiguousarray(matrix.T), "weight")


def _product(reader: NodeReader) -> str:
    """Return the operator of a product of matrices: MXNet's for two axes, and where the other axes are equal."""
    first, second = reader.shape(0), reader.shape(1)
    if first is None or second is None or len(first) != len(second) or not reader.is_float():
        return "_onnx_matmul"
    if len(first) == 2:
        return "dot"
    is_batch = len(first) > 2 and None not in first and first[:-2] == second[:-2]
    return "batch_dot" if is_batch else "_onnx_matmul"


@reading("Einsum")
def einsum(reader: NodeReader) -> Symbol:
    """Products summed over axes that letters name."""
    return reader.op("_onnx_einsum", *reader.inputs(), equation=reader.required("equation").replace(" ", ""))


@reading("Det")
def determinant(reader: NodeReader) -> Symbol:
    """Determinants of square matrices."""
    return reader.op("_linalg_det", reader.input(0))


# Convolutions


@reading("Conv")
def conv(reader: NodeReader) -> Symbol:
    """A convolution; a border of two different widths is a Pad before it."""
    windows = Windows.of_convolution(reader)
    data, weight, bias = reader.input(0), reader.input(1), reader.optional(2)
    if not windows.is_symmetric:
        data, windows = windows.padded(reader, data)
    return reader.op(
        "Convolution",
        data,
        weight,
        bias,
        kernel=windows.kernel,
        stride=windows.stride,
        dilate=windows.dilate,
        pad=windows.before,
        num_filter=_filters(reader),
        num_group=reader.attribute("group", 1),
        no_bias=bias is None,
    )


def _filters(reader: NodeReader) -> int:
    filters = (reader.shape(1) or [None])[0]
    if not isinstance(filters, int):
        raise reader.refuse("the number of filters must be known")
    return filters


@reading("ConvTranspose")
def conv_transpose(reader: NodeReader) -> Symbol:
    """A transposed convolution; a border of two different widths is cut off after it."""
    shape = reader.shape(1)
    if shape is None or not all(isinstance(n, int) for n in shape):
        raise reader.refuse("the shape of its weight must be known")
    known = [n for n in shape if isinstance(n, int)]
    kernel = tuple(reader.attribute("kernel_shape", known[2:]))
    axes = len(kernel)
    stride = tuple(reader.attribute("strides", [1] * axes))
    dilate = tuple(reader.attribute("dilations", [1] * axes))
    adj = list(reader.attribute("output_padding", [0] * axes))
    before, after = _cut_of_transposed(reader, kernel, stride, dilate, adj)
    groups = reader.attribute("group", 1)
    bias = reader.optional(2)
    cut = tuple(max(min(a, b), 0) for a, b in zip(before, after))
    symmetric = before == after == list(cut)
    fits = all(extra < max(step, spread) for extra, step, spread in zip(adj, stride, dilate))
    # What the layer itself cannot cut or add is cut from the whole result, or is zeros beside it.
    result = reader.op(
        "Deconvolution",
        reader.input(0),
        reader.input(1),
        bias if symmetric and fits else None,
        kernel=kernel,
        stride=stride,
        dilate=dilate,
        pad=cut if symmetric and fits else None,
        adj=tuple(adj) if symmetric and fits else None,
        num_filter=known[1] * groups,
        num_group=groups,
        no_bias=not (symmetric and fits) or bias is None,
    )
    if symmetric and fits:
        return result
    begin = (None, None, *[n or None for n in (max(b, 0) for b in before)])
    ends = [extra - b for extra, b in zip(adj, after)]
    end = (None, None, *[min(n, 0) or None for n in ends])
    result = reader.op("slice", result, begin=begin, end=end)
    added = [n for b, n in zip(before, ends) for n in (max(-b, 0), max(n, 0))]
    if any(added):
        result = reader.op("Pad", result, mode="constant", pad_width=(0, 0, 0, 0, *added))
    if bias is not None:
        result = reader.op("broadcast_add", result, reader.op("Reshape", bias, shape=(1, -1, *[1] * axes)))
    return result


def _cut_of_transposed(
    reader: NodeReader,
    kernel: Sequence[int],
    stride: Sequence[int],
    dilate: Sequence[int],
    adj: Sequence[int],
) -> tuple[list[int], list[int]]:
    """Return how much of a transposed convolution's whole result is cut before and after each axis."""
    axes = len(kernel)
    automatic = reader.attribute("auto_pad", "NOTSET")
    sizes = reader.attribute("output_shape", None)
    if sizes is None and automatic in ("NOTSET", "VALID"):
        pads = reader.attribute("pads", [0] * (2 * axes)) if automatic == "NOTSET" else [0] * (2 * axes)
        return list(pads[:axes]), list(pads[axes:])
    shape = reader.known_shape()[2:]
    wanted = [n * s for n, s in zip(shape, stride)] if sizes is None else list(sizes)[-axes:]
    totals = [
        s * (n - 1) + extra + (k - 1) * d + 1 - size
        for n, s, extra, k, d, size in zip(shape, stride, adj, kernel, dilate, wanted)
    ]
    halves = [total // 2 for total in totals]
    if automatic == "SAME_UPPER":
        return halves, [total - half for total, half in zip(totals, halves)]
    return [total - half for total, half in zip(totals, halves)], halves


@reading("DeformConv")
def deformable_conv(reader: NodeReader) -> Symbol:
    """A convolution whose samples are moved by offsets, and weighted by a mask if there is one."""
    windows = Windows.of_convolution(reader)
    data, weight, offset = (reader.input(i) for i in range(3))
    bias, mask = reader.optional(3), reader.optional(4)
    if not windows.is_symmetric:
        data, windows = windows.padded(reader, data)
    kind = "_contrib_DeformableConvolution" if mask is None else "_contrib_ModulatedDeformableConvolution"
    arrays: list[Symbol | None] = [data, offset, mask, weight, bias]
    return reader.op(
        kind,
        *arrays,
        kernel=windows.kernel,
        stride=windows.stride,
        dilate=windows.dilate,
        pad=windows.before,
        num_filter=_filters(reader),
        num_group=reader.attribute("group", 1),
        num_deformable_group=reader.attribute("offset_group", 1),
        no_bias=bias is None,
    )


@reading("Col2Im")
def col2im(reader: NodeReader) -> Symbol:
    """Columns of windows added up to an image."""
    return reader.op(
        "_onnx_col2im",
        reader.input(0),
        image=tuple(reader.ints(1, "image_shape")),
        block=tuple(reader.ints(2, "block_shape")),
        stride=tuple(reader.attribute("strides", [])),
        dilate=tuple(reader.attribute("dilations", [])),
        pads=tuple(reader.attribute("pads", [])),
    )


# Normalization


@reading("BatchNormalization")
def batch_norm(reader: NodeReader) -> Any:
    """Normalization by statistics, which are auxiliary states; one without a name asks for the batch's own."""
    training = reader.attribute("training_mode", 0) if reader.opset >= 14 else 0
    if training and (reader.wanted(1) or reader.wanted(2)):
        return _batch_norm_in_training(reader)
    if reader.opset < 9 and not reader.attribute("spatial", 1):
        raise reader.refuse("spatial must be 1, statistics for each channel; got 0")
    return reader.op(
        "BatchNorm",
        reader.input(0),
        reader.input(1),
        reader.input(2),
        _state(reader, 3),
        _state(reader, 4),
        eps=reader.attribute("epsilon", 1e-5),
        momentum=reader.attribute("momentum", 0.9),
        fix_gamma=False,
    )


def _state(reader: NodeReader, index: int) -> Symbol:
    """Return a variable for statistics, which training changes in its own way; never behind a `BlockGrad`."""
    numbers = reader.constant(index)
    value = reader.value(index)
    if numbers is not None and value.symbol is None:
        value.trained = True
    return reader.input(index)


def _batch_norm_in_training(reader: NodeReader) -> list[Symbol]:
    """Normalization by the batch's own statistics, and the moving averages that result."""
    data, momentum = reader.input(0), reader.attribute("momentum", 0.9)
    axes = tuple(axis for axis in range(reader.rank()) if axis != 1)
    like = (1, -1, *[1] * (reader.rank() - 2))
    mean = reader.op("mean", data, axis=axes, keepdims=True)
    centred = reader.op("broadcast_sub", data, mean)
    variance = reader.op("mean", reader.op("square", centred), axis=axes, keepdims=True)
    deviation = reader.op(
        "sqrt", reader.op("_plus_scalar", variance, scalar=reader.attribute("epsilon", 1e-5))
    )
    normal = reader.op("broadcast_div", centred, deviation)
    scaled = reader.op("broadcast_mul", normal, reader.op("Reshape", reader.input(1), shape=like))
    outputs = [reader.op("broadcast_add", scaled, reader.op("Reshape", reader.input(2), shape=like))]
    for index, statistic in ((3, mean), (4, variance)):
        old = reader.op("_mul_scalar", reader.input(index), scalar=momentum)
        new = reader.op("_mul_scalar", reader.op("Reshape", statistic, shape=(-1,)), scalar=1 - momentum)
        outputs.append(reader.op("broadcast_add", old, new))
    return outputs


@reading("InstanceNormalization")
def instance_norm(reader: NodeReader) -> Symbol:
    """Normalization of each channel of each example."""
    return reader.op("InstanceNorm", *reader.inputs(), eps=reader.attribute("epsilon", 1e-5))


@reading("LayerNormalization", since=17)
def layer_norm(reader: NodeReader) -> Any:
    """Normalization over the axes from one on."""
    axis, rank = reader.axis(reader.attribute("axis", -1)), reader.rank()
    data, epsilon = reader.input(0), reader.attribute("epsilon", 1e-5)
    scale = reader.shape(1)
    is_last = axis == rank - 1 and reader.has(2) and scale is not None and len(scale) == 1
    if is_last and not reader.wanted(1) and not reader.wanted(2):
        return reader.op("LayerNorm", data, reader.input(1), reader.input(2), axis=-1, eps=epsilon)
    axes = tuple(range(axis, rank))
    mean = reader.op("mean", data, axis=axes, keepdims=True)
    centred = reader.op("broadcast_sub", data, mean)
    variance = reader.op("mean", reader.op("square", centred), axis=axes, keepdims=True)
    inverse = reader.op("rsqrt", reader.op("_plus_scalar", variance, scalar=epsilon))
    found = reader.op("broadcast_mul", reader.op("broadcast_mul", centred, inverse), reader.input(1))
    if reader.has(2):
        found = reader.op("broadcast_add", found, reader.input(2))
    return [found, mean, inverse]


@reading("LRN")
def local_response(reader: NodeReader) -> Symbol:
    """Normalization over neighbouring channels."""
    return reader.op(
        "LRN",
        reader.input(0),
        alpha=reader.attribute("alpha", 0.0001),
        beta=reader.attribute("beta", 0.75),
        knorm=reader.attribute("bias", 1.0),
        nsize=reader.required("size"),
    )
