"""Layers with parameters: dense, convolutions, normalization."""

from __future__ import annotations

import onnx_ir as ir

from ..node_writer import NodeWriter
from ..translations import translation

__all__ = ["activation", "fully_connected"]

_ACTIVATIONS = {
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "softrelu": "Softplus",
    "softsign": "Softsign",
}


@translation("FullyConnected")
def fully_connected(
    writer: NodeWriter, data: ir.Value, weight: ir.Value, bias: ir.Value | None = None
) -> ir.Value:
    """Rows of `data` times the transposed `weight`; without `flatten` the last axis alone is multiplied."""
    if writer.params.flatten:
        return writer.op(
            "Gemm", data if writer.rank() == 2 else writer.op("Flatten", data), weight, bias, transB=1
        )
    product = writer.op("MatMul", data, writer.op("Transpose", weight, perm=[1, 0]))
    return product if bias is None else writer.op("Add", product, bias)


@translation("Activation")
def activation(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Apply the function that `act_type` names."""
    return writer.op(_ACTIVATIONS[writer.params.act_type], data)
