"""Recurrent layers: RNN, GRU and LSTM, from the packed vector of their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

import numpy as np
import onnx_ir as ir
import torch

from ....device import cpu
from ....graph import Graph
from ....ndarray import array
from ....ops.nn.recurrent_layers import parameter_shapes, unpack
from ....ops.quantization.recurrent import on_levels
from ....shapes import Shape
from ....symbol import Symbol
from ..expressions import Expression, where
from ..node_writer import NodeWriter
from ..translations import translation
from .recurrent_steps import Cell, Take, lstm_step_by_step

__all__ = ["quantized_rnn", "rnn", "rnn_param_concat"]

#: ONNX's operator, and where the rows of its gates are among MXNet's.
_KINDS = {
    "rnn_relu": ("RNN", (0,)),
    "rnn_tanh": ("RNN", (0,)),
    "gru": ("GRU", (1, 0, 2)),  # from r, z, n to z, r, h
    "lstm": ("LSTM", (0, 3, 1, 2)),  # from i, f, c, o to i, o, f, c
}


@translation("_rnn_param_concat")
def rnn_param_concat(writer: NodeWriter, *data: ir.Value) -> ir.Value:
    """Write weights and biases joined to one vector; `rnn` does without it where they are parameters."""
    return writer.op("Concat", *data, axis=writer.params.dim if writer.rank() > 1 else 0)


@translation("RNN")
def rnn(
    writer: NodeWriter,
    data: ir.Value,
    parameters: ir.Value,
    state: ir.Value,
    state_cell: ir.Value | None = None,
    sequence_length: ir.Value | None = None,
) -> Sequence[ir.Value]:
    """Write a node for each layer; both directions are one node, but for cells that ONNX's LSTM lacks."""
    states = [each for each in (state, state_cell) if each is not None]
    take = partial(_take, writer, parameters, _numbers(writer))
    return _all_layers(writer, data, take, states, sequence_length)


@translation("_contrib_quantized_rnn")
def quantized_rnn(
    writer: NodeWriter,
    data: ir.Value,
    parameters: ir.Value,
    state: ir.Value,
    state_cell: ir.Value,
    scale: ir.Value,
    shift: ir.Value,
) -> Sequence[ir.Value]:
    """Write the layers with the real numbers that data and weights stand for, as MXNet computes them."""
    known, shapes = _numbers(writer), _packing(writer)
    if known is None:
        raise writer.refuse("its parameters must be arrays that are given, or be computed from such")
    held = on_levels(torch.from_numpy(np.array(known)), shapes).numpy()
    factor, offset = (Expression(writer, each, torch.float32) for each in (scale, shift))
    real = (Expression(writer, data, writer.dtype()).to(torch.float32) - offset) * where(
        factor > 0.0, 1.0 / factor, 0.0
    )
    take = partial(_take, writer, parameters, held)
    return _all_layers(writer, real.value, take, [state, state_cell], None)


def _all_layers(
    writer: NodeWriter,
    data: ir.Value,
    take: Take,
    states: Sequence[ir.Value],
    lengths: ir.Value | None,
) -> list[ir.Value]:
    """Return the outputs of the last layer, and the states of all if they are outputs."""
    p = writer.params
    layer = _layer if p.projection_size is None and p.lstm_state_clip_min is None else lstm_step_by_step
    directions = 1 + p.bidirectional
    initial = [_layers(writer, each, directions) for each in states]
    cells, after = _cells(writer), []
    for i in range(p.num_layers):
        of_layer = cells[i * directions : (i + 1) * directions]
        data, *new = layer(writer, data, take, of_layer, [each[i] for each in initial], lengths)
        after.append(new)
    if not p.state_outputs:
        return [data]
    return [data, *(writer.concat(*each) for each in zip(*after, strict=True))]


def _layer(
    writer: NodeWriter,
    data: ir.Value,
    take: Take,
    cells: Sequence[Cell],
    states: Sequence[ir.Value],
    lengths: ir.Value | None,
) -> list[ir.Value]:
    """Return the outputs of a layer, (T, N, directions * H), and its states after the last step."""
    p = writer.params
    kind, _ = _KINDS[p.mode]
    activations = {"rnn_relu": ["Relu"], "rnn_tanh": ["Tanh"]}.get(p.mode)
    out, *new = writer.op_of_many(
        kind,
        1 + len(states),
        *(data, *map(take, _joined(p.mode, p.state_size, cells))),
        None if lengths is None else writer.op("Cast", lengths, to=ir.DataType.INT32),
        *states,
        hidden_size=p.state_size,
        direction="bidirectional" if p.bidirectional else "forward",
        activations=None if activations is None else activations * (1 + p.bidirectional),
        linear_before_reset=1 if kind == "GRU" else None,
    )
    if not p.bidirectional:
        return [writer.op("Squeeze", out, writer.ints([1])), *new]
    beside = writer.op("Transpose", out, perm=[0, 2, 1, 3])
    return [writer.op("Reshape", beside, writer.ints([0, 0, -1])), *new]


def _layers(writer: NodeWriter, state: ir.Value, directions: int) -> Sequence[ir.Value]:
    """Return the initial states of each layer."""
    count = writer.params.num_layers
    if count == 1:
        return [state]
    return writer.op_of_many("Split", count, state, writer.ints([directions] * count), axis=0)


def _joined(mode: str, size: int, cells: Sequence[Cell]) -> list[np.ndarray]:
    """Return where weights of the data and of the states, and biases are, as ONNX has them: directions first."""
    gates = list(_KINDS[mode][1])
    i2h, h2h, *biases = (
        np.stack([piece.reshape(len(gates), size, -1)[gates].reshape(piece.shape) for piece in pieces])
        for pieces in zip(*cells, strict=True)
    )
    return [i2h, h2h, np.concatenate(biases, axis=1)]


def _packing(writer: NodeWriter) -> tuple[Shape, ...]:
    """Return the shapes of all pieces of the vector of parameters."""
    p = writer.params
    features = writer.shape()[2]
    if not features:
        raise writer.unknown("the number of features")
    sizes = (p.state_size, p.num_layers, 1 + p.bidirectional, p.projection_size or 0)
    return parameter_shapes(p.mode, features, *sizes)


def _cells(writer: NodeWriter) -> list[Cell]:
    """Return where in the vector of parameters the numbers of each layer and direction are."""
    shapes, p = _packing(writer), writer.params
    positions = unpack(torch.arange(sum(map(prod, shapes))), shapes, p.num_layers * (1 + p.bidirectional))
    return [tuple(piece.numpy() for piece in cell) for cell in positions]


def _take(
    writer: NodeWriter, parameters: ir.Value, known: np.ndarray | None, positions: np.ndarray
) -> ir.Value:
    """Return the numbers at positions of the vector of parameters: constants, where they are known."""
    if known is None:
        return writer.op("Gather", parameters, writer.constant(positions, np.int64))
    return writer.constant(known[positions])


def _numbers(writer: NodeWriter) -> np.ndarray | None:
    """Return the numbers of the vector, if they follow from parameters alone."""
    given = writer.graph.parameters
    symbol = Symbol(Graph([writer.entry(1)]))
    if not given.keys() >= set(symbol.list_inputs()):
        return None
    arrays = {name: array(given[name]) for name in symbol.list_inputs()}
    return symbol.bind(cpu(), arrays, grad_req="null").forward()[0].asnumpy()
