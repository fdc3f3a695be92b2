"""What layers that MXNet fused for oneDNN are made of, once they are opened: weights on levels, sums, known ranges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir
import torch

from ....ops.nn.inference_layers import FOLD_BATCH_NORM
from ....ops.quantization._levels import FINE, INT32_LEVELS, LEVELS
from ....ops.quantization.inference_layers import (
    AS_SUMS,
    FILTER_LEVELS,
    HOLD_ON_LEVELS,
    RANGE_END,
    bias_factor,
)
from ..expressions import numbers
from ..node_writer import NodeWriter
from ..translations import translation
from .levels import REAL, in_float32, known_numbers, magnitude, negated, product_of, quotient_of

__all__ = ["as_sums", "fold_batch_norm", "hold_on_levels", "range_end"]


def _tensor(writer: NodeWriter, parameter: ir.Value) -> torch.Tensor:
    """Return the numbers of a parameter: levels of a weight are found while the graph is written."""
    known = known_numbers(parameter)
    if known is None:
        raise writer.refuse("the weights of a fused layer must be parameters whose arrays are given")
    return torch.from_numpy(np.array(known))


@translation(FOLD_BATCH_NORM)
def fold_batch_norm(writer: NodeWriter, *parameters: ir.Value | None) -> Sequence[ir.Value]:
    """Write the weight and the bias of a layer and its batch norm."""
    given = [None if each is None else _tensor(writer, each) for each in parameters]
    folded = FOLD_BATCH_NORM.kernels.function(*given, **dict(writer.params))
    return [writer.constant(each.numpy()) for each in folded]


@translation(HOLD_ON_LEVELS)
def hold_on_levels(writer: NodeWriter, weight: ir.Value) -> ir.Value:
    """Write a weight as levels of int8, with a unit for each filter or for all."""
    whole, numbers_of_weight = writer.params.whole, _tensor(writer, weight)
    given = numbers_of_weight.unsqueeze(0) if whole else numbers_of_weight
    levels, units, _ = (each.numpy() for each in FILTER_LEVELS.kernels.function(given))
    if whole:
        levels, units = levels[0], units[0]
    zeros = np.zeros_like(units, np.int8)  # written, for runtimes join only what has them
    constants = (writer.constant(each) for each in (levels, units, zeros))
    return writer.op("DequantizeLinear", *constants, axis=None if whole else 0)


@translation(RANGE_END)
def range_end(writer: NodeWriter) -> ir.Value:
    """Write one end of a range."""
    return writer.constant([writer.params.value], torch.float32)


@translation(AS_SUMS)
def as_sums(
    writer: NodeWriter,
    data: ir.Value,
    levels: ir.Value,
    low: ir.Value,
    high: ir.Value,
    weight: ir.Value,
    max_weight: ir.Value | None = None,
) -> Sequence[ir.Value]:
    """Write results of a layer in int32, with their range, and note the real numbers."""
    dtype = writer.dtype(1)
    of_data = magnitude(writer, low, high)
    if max_weight is None:
        of_weight = numbers(writer, [float(_tensor(writer, weight).abs().max())])
    else:
        of_weight = magnitude(writer, weight, max_weight)
    unit, coarse = (
        product_of(product_of(of_data, 1 / counts[dtype]), product_of(of_weight, 1 / counts[torch.int8]))
        for counts in (FINE, LEVELS)
    )
    reach = product_of(coarse, INT32_LEVELS)
    per_unit = quotient_of(numbers(writer, [1.0]), unit).to(torch.float64)
    sums = (in_float32(writer, data).to(torch.float64) * per_unit).apply("Round")
    out = sums.clamp(-(2.0**31), 2.0**31 - 1).to(torch.int32).value
    # Read with their range they are this much more: MXNet counts sums in other levels than their terms.
    out.meta[REAL] = (in_float32(writer, data) * bias_factor(dtype)).value
    return [out, negated(reach), reach.value]
