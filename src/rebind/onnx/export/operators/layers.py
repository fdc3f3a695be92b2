"""Layers with parameters: dense, convolutions and their transposes, embeddings; dropout."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
import torch

from ....params import Params
from ....shapes import Shape
from ..node_writer import NodeWriter
from ..translations import translation

__all__ = ["convolution", "deconvolution", "dropout", "embedding", "from_channels_first", "fully_connected"]


@translation("FullyConnected")
def fully_connected(
    writer: NodeWriter, data: ir.Value, weight: ir.Value, bias: ir.Value | None = None
) -> ir.Value:
    """Rows of `data` times the transposed `weight`; without `flatten` the last axis alone is multiplied."""
    rank = writer.rank()
    if writer.params.flatten or rank == 2:
        rows = data if rank == 2 else writer.op("Flatten", data)
        return writer.op("Gemm", rows, weight, bias, transB=1)
    product = writer.op("MatMul", data, writer.transpose(weight, [1, 0]))
    return product if bias is None else writer.op("Add", product, bias)


def is_channels_last(layout: str | None) -> bool:
    """Return whether a layout has the channels as its last axis.

    >>> is_channels_last("NHWC"), is_channels_last(None)
    (True, False)
    """
    return layout is not None and layout.endswith("C")


def to_channels_first(writer: NodeWriter, data: ir.Value, rank: int) -> ir.Value:
    """Write ``(N, *spatial, C)`` as ``(N, C, *spatial)``; the weights of such layers have that order too."""
    return writer.transpose(data, [0, rank - 1, *range(1, rank - 1)])


def from_channels_first(writer: NodeWriter, data: ir.Value, rank: int) -> ir.Value:
    """Write ``(N, C, *spatial)`` as ``(N, *spatial, C)``."""
    return writer.transpose(data, [0, *range(2, rank), 1])


def symmetric(pad: Shape, axes: int) -> list[int]:
    """Return ONNX's form of a padding that is the same at both ends.

    >>> symmetric((1, 2), 2), symmetric((), 1)
    ([1, 2, 1, 2], [0, 0])
    """
    return [*(pad or (0,) * axes)] * 2


def _windows(p: Params) -> dict[str, Any]:
    """Return the attributes of windows that convolutions and their transposes share."""
    ones = (1,) * len(p.kernel)
    return {
        "kernel_shape": p.kernel, "strides": p.stride or ones, "dilations": p.dilate or ones, "group": p.num_group,
    }  # fmt: skip


@translation("Convolution", "Convolution_v1")
def convolution(
    writer: NodeWriter, data: ir.Value, weight: ir.Value, bias: ir.Value | None = None
) -> ir.Value:
    """Write a convolution; where the channels are last it is between two transpositions."""
    p, axes = writer.params, len(writer.params.kernel)
    last = is_channels_last(p.layout)
    if last:
        data, weight = (to_channels_first(writer, each, axes + 2) for each in (data, weight))
    out = writer.op(
        "Conv",
        data,
        weight,
        bias,
        **_windows(p),
        pads=symmetric(p.pad, axes),
    )
    return from_channels_first(writer, out, axes + 2) if last else out


@translation("Deconvolution")
def deconvolution(
    writer: NodeWriter, data: ir.Value, weight: ir.Value, bias: ir.Value | None = None
) -> ir.Value:
    """Write a transposed convolution; `target_shape` goes out as such, so that sizes may be free."""
    p, axes = writer.params, len(writer.params.kernel)
    last = is_channels_last(p.layout)
    if last:
        data, weight = (to_channels_first(writer, each, axes + 2) for each in (data, weight))
    # ONNX shares a surplus as MXNet does: of an odd one the larger part is taken off the front.
    target = p.target_shape if any(p.target_shape) else None
    out = writer.op(
        "ConvTranspose",
        data,
        weight,
        bias,
        **_windows(p),
        output_shape=target,
        pads=symmetric(p.pad, axes) if target is None else None,
        output_padding=(p.adj or (0,) * axes) if target is None else None,
    )
    return from_channels_first(writer, out, axes + 2) if last else out


@translation("Embedding")
def embedding(writer: NodeWriter, data: ir.Value, weight: ir.Value) -> ir.Value:
    """Take rows of a table; a number outside of it takes the nearest row, as in MXNet."""
    rows = data if writer.dtype() == torch.int64 else writer.cast(data, torch.int64)
    rows = writer.clip(rows, 0, writer.params.input_dim - 1, torch.int64)
    return writer.op("Gather", weight, rows, axis=0)


@translation("Dropout")
def dropout(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Do nothing, as in inference; with the mode ``always`` drop there too."""
    p = writer.params
    if p.mode != "always":
        return data
    arguments = (writer.constant(p["p"], np.float32), writer.constant(True, np.bool_))
    if not p.axes:
        return writer.op("Dropout", data, *arguments)
    # One draw for all of an axis: the mask of its first position. A Dropout of ones would say the same, but onnxruntime
    # 1.31 takes that for ones when it optimizes.
    axes = sorted({axis % writer.rank() for axis in p.axes})
    first = writer.op(
        "Slice", data, writer.ints([0] * len(axes)), writer.ints([1] * len(axes)), writer.ints(axes)
    )
    _, mask = writer.op_of_many("Dropout", 2, first, *arguments)
    factor = writer.op("Mul", writer.cast(mask, writer.dtype()), writer.like(1 / (1 - p["p"])))
    return writer.op("Mul", data, factor)
