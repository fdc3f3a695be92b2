"""Recurrent layers, whose weights become MXNet's one vector."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from ....symbol import Symbol
from ..node_reader import NodeReader
from ..readings import reading
from ..sizes import is_free, sizes_of
from ..values import Weight

__all__ = ["recurrent"]

_MODES = {"lstm": "lstm", "gru": "gru", "rnn_tanh": "rnn_tanh", "rnn_relu": "rnn_relu"}


@reading(*_MODES)
def recurrent(reader: NodeReader) -> list[Symbol]:
    """Layers in one direction or both; the gates of both are in one order."""
    mode = _MODES[str(reader.node.target).split(".")[1]]
    if not reader.has("params"):
        raise reader.refuse("a sequence must be a tensor; got a packed one")
    layers, directions = reader.argument("num_layers"), 2 if reader.argument("bidirectional") else 1
    cells = _cells(reader, layers * directions)
    first = reader.sources("hx") if mode == "lstm" else [reader.source("hx")]
    hidden, size = (node.meta["val"].shape[-1] for node in (first[0], first[-1]))
    batch_first = bool(reader.argument("batch_first"))
    data = reader.input()
    if batch_first:
        data = reader.op("SwapAxis", data, dim1=0, dim2=1)
    outputs, *last = reader.op(
        "RNN",
        data,
        _vector(reader, cells),
        *[_state(reader, node) for node in first],
        state_size=int(size),
        num_layers=layers,
        mode=mode,
        bidirectional=directions == 2,
        p=float(reader.argument("dropout", 0)) or None,
        projection_size=int(hidden) if hidden != size else None,
        state_outputs=True,
    )
    if batch_first:
        outputs = reader.op("SwapAxis", outputs, dim1=0, dim2=1)
    return [outputs, *last]


def _cells(reader: NodeReader, count: int) -> list[list[Any]]:
    """Return the weights and biases of each layer and direction: i2h, h2h, their biases, and a projection."""
    nodes = reader.sources("params")
    each = len(nodes) // count
    return [nodes[i * each : (i + 1) * each] for i in range(count)]


def _state(reader: NodeReader, node: fx.Node) -> Symbol:
    """Return a first state; one of zeros has the size of the batch, whichever that is."""
    if reader.graph.value(node) is not None:
        return reader.graph.symbol(node)
    shape = sizes_of(node.meta["val"])
    if is_free(shape[1]) and reader.graph.axis_with(shape[1]) is None:
        return reader.op("_zeros", shape=(shape[0], 0, shape[2]), dtype=reader.dtype())
    return reader.filled(0.0, shape, reader.dtype())


def _vector(reader: NodeReader, cells: list[list[fx.Node]]) -> Symbol:
    """Return all weights, then all biases; a layer without biases gets zeros."""
    has_biases = bool(reader.argument("has_biases"))
    weights, biases = [], []
    for cell in cells:
        own = cell[2:4] if has_biases else []
        weights += [*cell[:2], *cell[2 + len(own) :]]
        biases += own
    values = [reader.graph.value(node) for node in [*weights, *biases]]
    rows = cells[0][0].meta["val"].shape[0]
    missing = 0 if has_biases else 2 * len(cells) * rows
    if all(isinstance(value, Weight) for value in values):
        parts = [value.tensor.detach().reshape(-1) for value in values]
        numbers = torch.cat([*parts, torch.zeros(missing, dtype=parts[0].dtype)])
        return reader.graph.parameter(numbers, f"{reader.name}_parameters", trained=True)
    rows_of = [reader.op("Reshape", reader.graph.symbol(node), shape=(-1,)) for node in [*weights, *biases]]
    zeros = [reader.filled(0.0, [missing], reader.dtype())] if missing else []
    return reader.op("Concat", *rows_of, *zeros, dim=0)
