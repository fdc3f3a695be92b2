"""LSTM layers that ONNX's operator lacks, step by step: outputs with a projection, cell states within bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import onnx_ir as ir
import torch

from ....params import Params
from ..body_writer import BodyWriter
from ..expressions import Expression, concat, stack, where
from ..node_writer import NodeWriter
from .suppression import numbered

__all__ = ["Cell", "Take", "lstm_step_by_step"]

#: Where in the vector of parameters the pieces of one layer and direction are, as `ops.nn.recurrent_layers.unpack` has
#: them.
Cell: TypeAlias = tuple[np.ndarray, ...]
#: From positions in the vector of parameters to the numbers there.
Take: TypeAlias = Callable[[np.ndarray], ir.Value]


def lstm_step_by_step(
    writer: NodeWriter,
    data: ir.Value,
    take: Take,
    cells: Sequence[Cell],
    states: Sequence[ir.Value],
    lengths: ir.Value | None,
) -> list[ir.Value]:
    """Return the outputs of a layer, (T, N, directions * H), and its states after the last step.

    Each direction is a Scan over the steps, the second from the last step to the first.
    """
    steps = Expression(writer, data, writer.dtype(2))  # that of the states: data may be levels
    valid = None if lengths is None else _valid(steps, Expression(writer, lengths, writer.dtype(-1)))
    results = []
    for direction, cell in enumerate(cells):
        initial = [Expression(writer, each, steps.dtype).select(0, direction) for each in states]
        results.append(
            _direction(writer, steps, [take(piece.T) for piece in cell], initial, valid, direction)
        )
    hidden, memory, out = zip(*results, strict=True)
    return [concat(out, -1).value, stack(hidden, 0).value, stack(memory, 0).value]


def _valid(steps: Expression, lengths: Expression) -> Expression:
    """Return which steps are within each sequence, (T, N, 1)."""
    return numbered(steps, 0).unsqueeze(1, 2) < lengths.to(torch.int64).unsqueeze(1)


def _direction(
    writer: NodeWriter,
    steps: Expression,
    weights: Sequence[ir.Value],
    initial: Sequence[Expression],
    valid: Expression | None,
    direction: int,
) -> list[Expression]:
    """Return the states after the last step and the outputs, (T, N, H), of a layer in one direction."""
    i2h, h2h, *others = (Expression(writer, each, steps.dtype) for each in weights)
    biases, projection = others[:2], others[2:]
    gates = steps.matmul(i2h) + (biases[0] + biases[1])  # of all steps at once
    inner = BodyWriter(writer, f"direction{direction}")
    batch, size = writer.shape()[1], writer.params.state_size
    widths = (writer.params.projection_size or size, size)
    old = [
        _input(inner, name, steps, (batch, width))
        for name, width in zip(("state", "cell"), widths, strict=True)
    ]
    of_step = _input(inner, "gates", gates, (batch, 4 * size))
    new = _step(of_step, old, h2h, projection, writer.params)
    out = new[0]
    if valid is not None:  # after its end a sequence has the state that it ended with
        within = _input(inner, "valid", valid, (batch, 1))
        new = [where(within, *pair) for pair in zip(new, old, strict=True)]
        out = where(within, out, 0.0)
    scanned = [gates] if valid is None else [gates, valid]
    found = writer.op_of_many(
        "Scan",
        3,
        *(each.value for each in (*initial, *scanned)),
        body=inner.finish([each.value for each in (*new, out)]),
        num_scan_inputs=len(scanned),
        scan_input_directions=[direction] * len(scanned),
        scan_output_directions=[direction],
    )
    return [Expression(writer, each, steps.dtype) for each in found]


def _input(inner: BodyWriter, name: str, like: Expression, shape: Sequence[int]) -> Expression:
    return Expression(inner, inner.input(name, like.dtype, shape), like.dtype)


def _step(
    gates: Expression, old: Sequence[Expression], h2h: Expression, projection: Sequence[Expression], p: Params
) -> list[Expression]:
    """Return the states after a step."""
    hidden, memory = old
    writer, size = gates.writer, p.state_size
    pieces = writer.split((gates + hidden.matmul(h2h)).value, [size] * 4, axis=1)
    i, f, g, o = (Expression(writer, piece, gates.dtype) for piece in pieces)
    memory = f.apply("Sigmoid") * memory + i.apply("Sigmoid") * g.apply("Tanh")
    if p.lstm_state_clip_min is not None:
        if p.lstm_state_clip_nan:
            is_nan = Expression(writer, writer.op("IsNaN", memory.value), torch.bool)
            memory = where(~is_nan, memory, p.lstm_state_clip_min)
        memory = memory.clamp(p.lstm_state_clip_min, p.lstm_state_clip_max)
    hidden = o.apply("Sigmoid") * memory.apply("Tanh")
    return [hidden.matmul(projection[0]) if projection else hidden, memory]
