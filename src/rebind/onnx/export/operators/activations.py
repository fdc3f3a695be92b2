"""Activations, and the softmax family."""

from __future__ import annotations

from math import sqrt

import numpy as np
import onnx_ir as ir
import torch

from ..node_writer import NodeWriter
from ..translations import translation

__all__ = ["activation", "leaky_relu", "log_softmax", "softmax", "softmax_activation", "softmin"]

_ACTIVATIONS = {
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "softrelu": "Softplus",
    "softsign": "Softsign",
}


@translation("Activation")
def activation(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Apply the function that `act_type` names."""
    return writer.op(_ACTIVATIONS[writer.params.act_type], data)


@translation("LeakyReLU")
def leaky_relu(
    writer: NodeWriter, data: ir.Value, gamma: ir.Value | None = None
) -> ir.Value | tuple[ir.Value, ir.Value]:
    """Apply the function that `act_type` names; the random slopes of ``rrelu`` are their mean, as in inference."""
    p = writer.params
    if p.act_type == "leaky":
        return writer.op("LeakyRelu", data, alpha=p.slope)
    if p.act_type == "elu":
        return writer.op("Elu", data, alpha=p.slope)
    if p.act_type == "selu":
        return writer.op("Selu", data)
    if p.act_type == "gelu":
        return _gelu(writer, data)
    if p.act_type == "rrelu":
        mask = writer.op("Expand", writer.like(0), writer.shape_of(data))
        return writer.op("LeakyRelu", data, alpha=(p.lower_bound + p.upper_bound) / 2), mask
    assert gamma is not None
    # (C, 1, ..., 1): one slope for each channel, or for all.
    following = range(1, writer.rank() - 1)
    slopes = writer.unsqueeze(gamma, following) if following else gamma
    return writer.op("PRelu", data, slopes)


def _gelu(writer: NodeWriter, data: ir.Value) -> ir.Value:
    if writer.opset >= 20:
        return writer.op("Gelu", data)
    error = writer.op("Erf", writer.op("Div", data, writer.like(sqrt(2))))
    half = writer.op("Mul", data, writer.like(0.5))
    return writer.op("Mul", half, writer.op("Add", error, writer.like(1)))


def _over_temperature(writer: NodeWriter, data: ir.Value, sign: int = 1) -> ir.Value:
    """Return data in the type of the result, divided by the temperature."""
    dtype = writer.output_dtype()
    if dtype != writer.dtype():
        data = writer.cast(data, dtype)
    temperature = sign * (writer.params.temperature or 1.0)
    return data if temperature == 1.0 else writer.op("Div", data, writer.constant(temperature, dtype))


@translation("softmax")
def softmax(writer: NodeWriter, data: ir.Value, length: ir.Value | None = None) -> ir.Value:
    """Write a softmax; with lengths what is behind them counts as minus infinity before, and is 0 after."""
    scores = _over_temperature(writer, data)
    axis = writer.params.axis % writer.rank()
    if length is None:
        return writer.op("Softmax", scores, axis=axis)
    valid = _before_length(writer, data, length, axis)
    dtype = writer.output_dtype()
    scores = writer.op("Where", valid, scores, writer.constant(-np.inf, dtype))
    return writer.op("Where", valid, writer.op("Softmax", scores, axis=axis), writer.constant(0, dtype))


def _before_length(writer: NodeWriter, data: ir.Value, length: ir.Value, axis: int) -> ir.Value:
    """Return which positions along an axis come before `length`."""
    rank = writer.rank()
    end = writer.squeeze(writer.size_of(data, axis), [0])
    positions = writer.op("Range", writer.ints(0), end, writer.ints(1))
    if axis < rank - 1:
        positions = writer.unsqueeze(positions, range(1, rank - axis))
    if rank > 1:  # the length of a vector is an array of one axis already
        length = writer.unsqueeze(length, [axis])
    return writer.op("Less", positions, writer.cast(length, torch.int64))


@translation("softmin")
def softmin(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the softmax of the negative."""
    return writer.op("Softmax", _over_temperature(writer, data, -1), axis=writer.params.axis)


@translation("log_softmax")
def log_softmax(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the logarithm of a softmax."""
    return writer.op("LogSoftmax", _over_temperature(writer, data), axis=writer.params.axis)


@translation("SoftmaxActivation")
def softmax_activation(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write a softmax over the channels, or along the last axis."""
    return writer.op("Softmax", data, axis=1 if writer.params.mode == "channel" else -1)
