"""Arrays made from nothing but parameters: constants of the graph."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import torch

from ....dtypes import numpy_type
from ..expressions import Expression
from ..node_writer import NodeWriter
from ..translations import translation
from .pieces import positions, shape_from

__all__ = ["arange", "made"]


def _constant(writer: NodeWriter, array: np.ndarray) -> ir.Value:
    return writer.op("Constant", value=ir.tensor(array))


@translation("_zeros", "_ones", "_full", "_zeros_without_dtype")
def filled(writer: NodeWriter) -> ir.Value:
    """Write an array of one number; a free size is that of an input, or else 1, which broadcasts."""
    sizes = [n or 1 for n in writer.output_sizes()]
    shape = [n if isinstance(n, int) else 1 for n in sizes]
    kernel = writer.node.operator.kernels.function
    array = _constant(writer, kernel(**{**dict(writer.params), "shape": shape, "ctx": ""}).numpy())
    return array if shape == sizes else writer.op("Expand", array, shape_from(writer, sizes))


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
    (length,) = writer.output_sizes()
    if not length:
        raise writer.unknown("the length of a range without an end")
    start, step = (p.start, p.step) if p.dtype.is_floating_point else (int(p.start), int(p.step))
    if isinstance(length, int):
        return _constant(writer, (start + step * (np.arange(length) // p.repeat)).astype(numpy_type(p.dtype)))
    value, axis = length
    index = writer.op("Div", positions(writer, value, 0, axis), writer.ints(p.repeat))
    found = Expression(writer, writer.cast(index, torch.float64), torch.float64) * step + start
    return found.to(p.dtype).value
