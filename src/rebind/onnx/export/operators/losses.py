"""Heads of losses: what they give in inference, without their labels."""

from __future__ import annotations

import onnx_ir as ir

from ..node_writer import NodeWriter
from ..translations import translation

__all__ = [
    "identity",
    "logistic_regression_output",
    "output_layer",
    "regularized",
    "softmax_output",
    "warp_ctc",
]


@translation("SoftmaxOutput", training_inputs=["label"])
def softmax_output(writer: NodeWriter, data: ir.Value, label: None) -> ir.Value:
    """Write a softmax over the channels, along the last axis, or over all that belongs to an instance."""
    p, rank = writer.params, writer.rank()
    if p.multi_output or rank == 2:
        return writer.op("Softmax", data, axis=1)
    if p.preserve_shape:
        return writer.op("Softmax", data, axis=-1)
    flat = writer.op("Softmax", writer.op("Flatten", data), axis=1)
    return writer.reshape(flat, writer.shape_of(data))


@translation("WarpCTC", training_inputs=["label"])
def warp_ctc(writer: NodeWriter, data: ir.Value, label: None) -> ir.Value:
    """Write the softmax of each step."""
    return writer.op("Softmax", data, axis=1)


@translation("LinearRegressionOutput", "MAERegressionOutput", "SVMOutput", training_inputs=["label"])
def output_layer(writer: NodeWriter, data: ir.Value, label: None) -> ir.Value:
    """Return the data."""
    return data


@translation("LogisticRegressionOutput", training_inputs=["label"])
def logistic_regression_output(writer: NodeWriter, data: ir.Value, label: None) -> ir.Value:
    """Write the logistic function."""
    return writer.op("Sigmoid", data)


@translation("MakeLoss", "make_loss", "BlockGrad", "_contrib_gradientmultiplier")
def identity(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Return the data: all that these do is to change gradients."""
    return data


@translation("IdentityAttachKLSparseReg", training_inputs=["moving_avg"])
def regularized(writer: NodeWriter, data: ir.Value, moving_avg: None) -> ir.Value:
    """Return the data."""
    return data
