"""Normalizations: over the batch, a layer, groups of channels, neighbouring channels, or to unit length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from ..node_writer import NodeWriter
from ..translations import translation

__all__ = [
    "batch_norm",
    "batch_norm_with_relu",
    "group_norm",
    "instance_norm",
    "l2_normalization",
    "layer_norm",
    "lrn",
    "variance_batch_norm",
]


def _batch_normalized(writer: NodeWriter, data: ir.Value, *parameters: ir.Value) -> ir.Value:
    """Write a batch normalization by the moving statistics; with `fix_gamma` the scale is 1, whatever is stored."""
    p, rank = writer.params, writer.rank()
    gamma, beta, mean, var = parameters
    stored = writer.parameter(1)
    if p.fix_gamma and (stored is None or (stored != 1).any()):  # it is computed, or read elsewhere too
        gamma = writer.constant(np.ones(writer.shape(3)), writer.dtype(1))
    axis = p.get("axis", 1) % rank
    order = [0, axis, *(each for each in range(1, rank) if each != axis)] if axis else [1, 0, *range(2, rank)]
    statistics = writer.dtype(3)
    data = writer.transpose(data, order)
    if statistics != writer.dtype():  # a type for all until opset 15, and in runtimes beyond it
        data = writer.cast(data, statistics)
    out = writer.op("BatchNormalization", data, gamma, beta, mean, var, epsilon=p.eps)
    if statistics != writer.dtype():
        out = writer.cast(out, writer.dtype())
    return writer.transpose(out, [order.index(each) for each in range(rank)])


@translation("BatchNorm")
def batch_norm(writer: NodeWriter, data: ir.Value, *parameters: ir.Value) -> Sequence[ir.Value]:
    """Write a batch normalization; with `output_mean_var` also the mean and one over the deviation."""
    others = _mean_and_inverse_deviation(writer, *parameters)
    return [_batch_normalized(writer, data, *parameters), *others]


def _mean_and_inverse_deviation(writer: NodeWriter, *parameters: ir.Value) -> list[ir.Value]:
    """Return, with `output_mean_var`, the mean and one over the deviation."""
    if not writer.params.output_mean_var:
        return []
    mean, var = parameters[2:]
    deviation = writer.op("Sqrt", writer.op("Add", var, writer.like(writer.params.eps, 4)))
    return [writer.op("Identity", mean), writer.op("Reciprocal", deviation)]


@translation("BatchNorm_v1", "_contrib_SyncBatchNorm")
def variance_batch_norm(writer: NodeWriter, data: ir.Value, *parameters: ir.Value) -> Sequence[ir.Value]:
    """Write a batch normalization, with `output_mean_var` also the mean and the variance."""
    shown = parameters[2:] if writer.params.output_mean_var else ()
    others = [writer.op("Identity", value) for value in shown]
    return [_batch_normalized(writer, data, *parameters), *others]


@translation("_contrib_BatchNormWithReLU")
def batch_norm_with_relu(writer: NodeWriter, data: ir.Value, *parameters: ir.Value) -> Sequence[ir.Value]:
    """Write a batch normalization with a rectifier."""
    others = _mean_and_inverse_deviation(writer, *parameters)
    return [writer.op("Relu", _batch_normalized(writer, data, *parameters)), *others]


def _centred(
    writer: NodeWriter, data: ir.Value, axes: Sequence[int], eps: float
) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Return data less their mean over axes, the mean, and the root of the variance and `eps`."""
    mean = writer.reduce("ReduceMean", data, axes, keepdims=True)
    centred = writer.op("Sub", data, mean)
    variance = writer.reduce("ReduceMean", writer.op("Mul", centred, centred), axes, keepdims=True)
    return centred, mean, writer.op("Sqrt", writer.op("Add", variance, writer.like(eps)))


@translation("LayerNorm")
def layer_norm(
    writer: NodeWriter, data: ir.Value, gamma: ir.Value, beta: ir.Value
) -> ir.Value | Sequence[ir.Value]:
    """Write a normalization along one axis: as ONNX's operator where the opset has it and the axis is the last."""
    p, rank = writer.params, writer.rank()
    axis = p.axis % rank
    if writer.opset >= 17 and axis == rank - 1 and not p.output_mean_var:
        return writer.op("LayerNormalization", data, gamma, beta, axis=-1, epsilon=p.eps)
    centred, mean, deviation = _centred(writer, data, [axis], p.eps)
    if following := range(1, rank - axis):
        gamma, beta = (writer.unsqueeze(each, following) for each in (gamma, beta))
    scaled = writer.op("Mul", writer.op("Div", centred, deviation), gamma)
    out = writer.op("Add", scaled, beta)
    return [out, mean, deviation] if p.output_mean_var else out


@translation("GroupNorm")
def group_norm(
    writer: NodeWriter, data: ir.Value, gamma: ir.Value, beta: ir.Value
) -> ir.Value | Sequence[ir.Value]:
    """Write a normalization of groups of channels, whose scale is the group's: ONNX's operator has the channels'."""
    p = writer.params
    groups = writer.reshape(data, [0, p.num_groups, -1])
    centred, mean, deviation = _centred(writer, groups, [2], p.eps)
    gamma, beta = (writer.unsqueeze(each, [1]) for each in (gamma, beta))
    scaled = writer.op("Mul", writer.op("Div", centred, deviation), gamma)
    out = writer.reshape(writer.op("Add", scaled, beta), writer.shape_of(data))
    if not p.output_mean_var:
        return out
    return [out, *(writer.squeeze(each, [2]) for each in (mean, deviation))]


@translation("InstanceNorm")
def instance_norm(writer: NodeWriter, data: ir.Value, gamma: ir.Value, beta: ir.Value) -> ir.Value:
    """Write a normalization of each channel of each instance."""
    return writer.op("InstanceNormalization", data, gamma, beta, epsilon=writer.params.eps)


@translation("L2Normalization")
def l2_normalization(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Divide by the root of the sum of squares and `eps`."""
    p, rank = writer.params, writer.rank()
    axes = {"instance": range(1, rank), "channel": [1], "spatial": range(2, rank)}[p.mode]
    squares = writer.op("Mul", data, data)
    if axes:  # instances of one number have none
        squares = writer.reduce("ReduceSum", squares, axes, keepdims=True)
    return writer.op("Div", data, writer.op("Sqrt", writer.op("Add", squares, writer.like(p.eps))))


@translation("LRN")
def lrn(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write ONNX's operator, whose implementations take four axes: others are four meanwhile."""
    p, rank = writer.params, writer.rank()
    images = data
    if rank != 4:
        images = writer.reshape(data, [0, 0, -1, 1])
    out = writer.op("LRN", images, alpha=p.alpha, beta=p.beta, bias=p.knorm, size=p.nsize)
    return out if rank == 4 else writer.reshape(out, writer.shape_of(data))
