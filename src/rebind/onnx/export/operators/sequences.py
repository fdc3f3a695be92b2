"""Sequences of different lengths in one array, steps and batch in the first two axes."""

from __future__ import annotations

import onnx_ir as ir
import torch

from ..node_writer import NodeWriter
from ..translations import translation
from .arithmetic import number_as
from .pieces import positions

__all__ = ["sequence_last", "sequence_mask", "sequence_reverse"]


def _steps(writer: NodeWriter, data: ir.Value, lengths: ir.Value, axis: int) -> tuple[ir.Value, ir.Value]:
    """Return the numbers of the steps and the lengths, which spread over the first two axes."""
    steps = positions(writer, data, writer.shape()[axis], axis)
    lengths = writer.cast(lengths, torch.int64)
    return (steps, writer.unsqueeze(lengths, [1])) if axis else (writer.unsqueeze(steps, [1]), lengths)


@translation("SequenceMask")
def sequence_mask(writer: NodeWriter, data: ir.Value, lengths: ir.Value | None = None) -> ir.Value:
    """Write an array whose steps beyond the end of each sequence are replaced."""
    if lengths is None:
        return writer.op("Identity", data)
    steps, lengths = _steps(writer, data, lengths, writer.params.axis)
    beyond = writer.op("Not", writer.op("Less", steps, lengths))
    if writer.rank() > 2:
        beyond = writer.unsqueeze(beyond, range(2, writer.rank()))
    return writer.op("Where", beyond, writer.like(number_as(writer.dtype(), writer.params.value)), data)


@translation("SequenceLast")
def sequence_last(writer: NodeWriter, data: ir.Value, lengths: ir.Value | None = None) -> ir.Value:
    """Write the last step of each sequence."""
    axis = writer.params.axis
    if lengths is None:
        return writer.op("Gather", data, writer.ints(-1), axis=axis)
    last = writer.op("Sub", writer.cast(lengths, torch.int64), writer.ints([1]))
    batch = positions(writer, data, writer.shape()[1 - axis], 1 - axis)
    pairs = (last, batch) if axis == 0 else (batch, last)
    return writer.op(
        "GatherND", data, writer.concat(*[writer.unsqueeze(each, [1]) for each in pairs], axis=1)
    )


@translation("SequenceReverse")
def sequence_reverse(writer: NodeWriter, data: ir.Value, lengths: ir.Value | None = None) -> ir.Value:
    """Write sequences from the last step to the first; the padding stays where it is."""
    if lengths is None:
        return writer.slice(data, [-1], [-(2**63)], [0], [-1])
    op = writer.op
    steps, lengths = _steps(writer, data, lengths, 0)
    mirrored = op("Sub", op("Sub", lengths, writer.ints(1)), steps)
    source = op("Where", op("Less", steps, lengths), mirrored, steps)
    batch = op("Expand", positions(writer, data, writer.shape()[1], 1), writer.shape_of(source))
    pairs = writer.concat(*[writer.unsqueeze(each, [2]) for each in (source, batch)], axis=2)
    return op("GatherND", data, pairs)
