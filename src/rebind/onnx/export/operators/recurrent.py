"""Recurrent layers: RNN, GRU and LSTM, from the packed vector of their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import onnx_ir as ir

from ....device import cpu
from ....graph import Graph
from ....ndarray import array
from ....ops.nn.recurrent_layers import parameter_shapes
from ....symbol import Symbol
from ..node_writer import NodeWriter
from ..translations import translation

__all__ = ["rnn", "rnn_param_concat"]

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
    """Write a node for each layer; both directions are one node."""
    p = writer.params
    if p.projection_size is not None:
        raise writer.refuse("its LSTM has no projection")
    if p.lstm_state_clip_min is not None:
        raise writer.refuse("its LSTM cuts the sums before the gates, not the cell state")
    lengths = None
    if sequence_length is not None:
        lengths = writer.op("Cast", sequence_length, to=ir.DataType.INT32)
    directions = 1 + p.bidirectional
    states = [_layers(writer, each, directions) for each in (state, state_cell) if each is not None]
    after = []
    for layer, weights in enumerate(_weights(writer, parameters, directions)):
        data, *new = _layer(writer, data, weights, [each[layer] for each in states], lengths)
        after.append(new)
    if not p.state_outputs:
        return [data]
    joined = [
        each[0] if len(each) == 1 else writer.op("Concat", *each, axis=0) for each in zip(*after, strict=True)
    ]
    return [data, *joined]


def _layer(
    writer: NodeWriter,
    data: ir.Value,
    weights: Sequence[ir.Value],
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
        *(data, *weights, lengths, *states),
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


def _weights(writer: NodeWriter, parameters: ir.Value, directions: int) -> list[list[ir.Value]]:
    """Return for each layer: weights of the data and of the states, and biases, with an axis of directions first."""
    numbers = _numbers(writer)
    return [
        [
            writer.op("Gather", parameters, writer.constant(where, np.int64))
            if numbers is None
            else writer.constant(numbers[where])
            for where in positions
        ]
        for positions in _positions(writer, directions)
    ]


def _positions(writer: NodeWriter, directions: int) -> list[list[np.ndarray]]:
    """Return where in the vector of parameters the numbers of each layer's weights and biases are."""
    p = writer.params
    features = writer.shape()[2]
    if not features:
        raise writer.refuse("the number of features must be known")
    shapes = parameter_shapes(p.mode, features, p.state_size, p.num_layers, directions, 0)
    ends = np.cumsum([prod(shape) for shape in shapes])
    vector = np.split(np.arange(ends[-1]), ends[:-1])
    gates = list(_KINDS[p.mode][1])
    pieces = [
        piece.reshape(len(gates), p.state_size, *shape[1:])[gates].reshape(shape)
        for piece, shape in zip(vector, shapes, strict=True)
    ]
    # All weights come first, then all biases; each cell has two of both.
    weights, biases = pieces[: len(pieces) // 2], pieces[len(pieces) // 2 :]
    found = []
    for first in range(0, len(weights), 2 * directions):
        cells = slice(first, first + 2 * directions)
        i2h, h2h = weights[cells][::2], weights[cells][1::2]
        both = np.concatenate(biases[cells]).reshape(directions, -1)
        found.append([np.stack(i2h), np.stack(h2h), both])
    return found


def _numbers(writer: NodeWriter) -> np.ndarray | None:
    """Return the numbers of the vector, if they follow from parameters alone."""
    given = writer.graph.parameters
    symbol = Symbol(Graph([writer.entry(1)]))
    if not given.keys() >= set(symbol.list_inputs()):
        return None
    arrays = {name: array(given[name]) for name in symbol.list_inputs()}
    return symbol.bind(cpu(), arrays, grad_req="null").forward()[0].asnumpy()
