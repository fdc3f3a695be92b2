"""Convolutions, and transposed ones."""

from __future__ import annotations

from typing import Any

from ....symbol import Symbol
from ..node_reader import NodeReader
from ..readings import reading

__all__ = ["convolution", "each_axis"]


def each_axis(value: Any, axes: int) -> tuple[int, ...]:
    """Return a setting for each axis; PyTorch lets one number stand for all."""
    values = tuple(value) if isinstance(value, list) else (value,)
    return values * axes if len(values) == 1 else values


def _kernel(reader: NodeReader) -> tuple[int, ...]:
    kernel = tuple(reader.shape("weight")[2:])
    if reader.rank() != len(kernel) + 2:
        raise reader.refuse(f"data must have a batch axis; got shape {reader.shape()}")
    return kernel


@reading("conv1d", "conv2d", "conv3d", "convolution")
def convolution(reader: NodeReader) -> Symbol:
    """A convolution; a border of two different widths is a Pad before it."""
    if reader.argument("transposed", False):
        return transposed_convolution(reader)
    kernel = _kernel(reader)
    axes, data = len(kernel), reader.input()
    dilate = each_axis(reader.argument("dilation", 1), axes)
    padding = reader.argument("padding", 0)
    if isinstance(padding, str):
        total = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilate, kernel)]
        padding = [n // 2 for n in total]
        if any(n % 2 for n in total):  # the wider side is behind
            width = [n for before, all_of in zip(padding, total) for n in (before, all_of - before)]
            data = reader.op("Pad", data, mode="constant", pad_width=(0, 0, 0, 0, *width), constant_value=0.0)
            padding = 0
    bias = reader.optional("bias")
    return reader.op(
        "Convolution",
        data,
        reader.input("weight"),
        bias,
        kernel=kernel,
        stride=each_axis(reader.argument("stride", 1), axes),
        dilate=dilate,
        pad=each_axis(padding, axes),
        num_filter=reader.shape("weight")[0],
        num_group=reader.argument("groups", 1),
        no_bias=bias is None,
    )


@reading("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def transposed_convolution(reader: NodeReader) -> Symbol:
    """A transposed convolution."""
    kernel, groups = _kernel(reader), reader.argument("groups", 1)
    axes, bias = len(kernel), reader.optional("bias")
    stride, dilate, pad, adj = (
        each_axis(reader.argument(name, default), axes)
        for name, default in (("stride", 1), ("dilation", 1), ("padding", 0), ("output_padding", 0))
    )
    return reader.op(
        "Deconvolution",
        reader.input(),
        reader.input("weight"),
        bias,
        kernel=kernel,
        stride=stride,
        dilate=dilate,
        pad=pad,
        adj=adj,
        num_filter=reader.shape("weight")[1] * groups,
        num_group=groups,
        no_bias=bias is None,
    )
