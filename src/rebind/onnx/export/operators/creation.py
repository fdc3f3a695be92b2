"""Arrays made from nothing but parameters: constants of the graph."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ....dtypes import numpy_type
from ..node_writer import NodeWriter
from ..translations import translation

__all__ = ["arange", "made"]


def _constant(writer: NodeWriter, array: np.ndarray) -> ir.Value:
    return writer.op("Constant", value=ir.tensor(array))


@translation("_zeros", "_ones", "_full", "_zeros_without_dtype")
def filled(writer: NodeWriter) -> ir.Value:
    """Write an array of one number; where its size is free it is 1, and broadcasts to what it is used with."""
    shape = [n or 1 for n in writer.output_shape()]
    kernel = writer.node.operator.kernels.function
    array = kernel(**{**dict(writer.params), "shape": shape, "ctx": ""}).numpy()
    return _constant(writer, array)


@translation("_linspace", "_eye")
def made(writer: NodeWriter) -> ir.Value:
    """Write numbers at equal distances, or a matrix with ones on a diagonal."""
    return _constant(writer, writer.node.operator.kernels.function(**dict(writer.params)).numpy())


@translation("_arange")
def arange(writer: NodeWriter) -> ir.Value:
    """Write a range of numbers; without its end it is as long as where it is used asks for."""
    p = writer.params
    if p.stop is not None or not p.infer_range:
        return _constant(writer, writer.node.operator.kernels.function(**dict(p)).numpy())
    (length,) = writer.output_shape()
    if not length:
        raise writer.refuse("the length of a range without an end must be known")
    numbers = p.start + p.step * (np.arange(length) // p.repeat)
    return _constant(writer, numbers.astype(numpy_type(p.dtype)))
