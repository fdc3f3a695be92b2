"""Recurrent layers: MXNet's RNN where it computes the same, else a loop over the steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....symbol import Symbol, contrib
from ..node_reader import NodeReader
from ..readings import reading

__all__ = ["recurrent"]

#: By ONNX's name: gates, their order in MXNet by ONNX's numbers, and the activations of a layer that says none.
_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_ORDER = {"RNN": (0,), "GRU": (1, 0, 2), "LSTM": (0, 2, 3, 1)}
_ACTIVATIONS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
_FUNCTIONS = {"Tanh": "tanh", "Sigmoid": "sigmoid", "Relu": "relu", "Softsign": "softsign"}


@dataclass
class _Layer:
    """What a node says of its layer; the data has the axes time, batch, features."""

    kind: str
    hidden: int
    directions: int
    data: Symbol
    states: list[Symbol | None]
    lengths: Symbol | None


@reading("RNN", "GRU", "LSTM")
def recurrent(reader: NodeReader) -> list[Symbol]:
    """A recurrent layer in one direction or both."""
    kind = reader.node.op_type
    direction = reader.attribute("direction", "forward")
    rows = reader.attribute("hidden_size", None) or (reader.shape(2) or [None])[-1]
    if not isinstance(rows, int):
        raise reader.refuse("hidden_size must be known")
    batch_first = bool(reader.attribute("layout", 0))
    data = reader.op("SwapAxis", reader.input(0), dim1=0, dim2=1) if batch_first else reader.input(0)
    states = [reader.optional(5), reader.optional(6) if kind == "LSTM" else None]
    if batch_first:
        states = [s if s is None else reader.op("SwapAxis", s, dim1=0, dim2=1) for s in states]
    layer = _Layer(kind, rows, 2 if direction == "bidirectional" else 1, data, states, _lengths(reader))
    run = _fused if _is_fused(reader, kind) else _in_steps
    outputs, *last = run(reader, layer, direction == "reverse")
    if batch_first:
        outputs = reader.op("transpose", outputs, axes=(2, 0, 1, 3))
        last = [reader.op("SwapAxis", state, dim1=0, dim2=1) for state in last]
    return [outputs, *last]


def _lengths(reader: NodeReader) -> Symbol | None:
    if not reader.has(4):
        return None
    known, shape = reader.constant(4), reader.shape()
    time = shape[1 if reader.attribute("layout", 0) else 0] if shape else None
    if known is not None and isinstance(time, int) and (known == time).all():
        return None  # all sequences are whole
    return reader.input(4)


def _is_fused(reader: NodeReader, kind: str) -> bool:
    """Say whether MXNet's RNN computes what a node says."""
    functions = reader.attribute("activations", _ACTIVATIONS[kind])
    count = len(_ACTIVATIONS[kind])
    usual = all(functions[i : i + count] == functions[:count] for i in range(0, len(functions), count))
    if kind == "RNN":
        usual = usual and functions[0] in ("Tanh", "Relu")
    else:
        usual = usual and functions[:count] == _ACTIVATIONS[kind]
    special = reader.attribute("clip", 0.0) or reader.attribute("input_forget", 0) or reader.has(7)
    return usual and not special and (kind != "GRU" or bool(reader.attribute("linear_before_reset", 0)))


def _fused(reader: NodeReader, layer: _Layer, is_reverse: bool) -> list[Symbol]:
    """Return the outputs of MXNet's RNN, in ONNX's axes."""
    data = _turned(reader, layer.data, layer.lengths) if is_reverse else layer.data
    mode = {"GRU": "gru", "LSTM": "lstm"}.get(layer.kind)
    if mode is None:
        mode = f"rnn_{reader.attribute('activations', ['Tanh'])[0].lower()}"
    given: list[Symbol | None] = [data, _packed(reader, layer)]
    for state in layer.states[: 2 if layer.kind == "LSTM" else 1]:
        given.append(_zeros(reader, layer) if state is None else state)
    if layer.lengths is not None:
        given.append(layer.lengths)
    outputs, *last = reader.op(
        "RNN",
        *given,
        state_size=layer.hidden,
        num_layers=1,
        mode=mode,
        bidirectional=layer.directions == 2,
        state_outputs=True,
        use_sequence_length=layer.lengths is not None or None,
    )
    if is_reverse:
        outputs = _turned(reader, outputs, layer.lengths)
    # (time, batch, directions * hidden) to (time, directions, batch, hidden)
    if layer.directions == 1:
        return [reader.op("expand_dims", outputs, axis=1), *last]
    apart = reader.op("Reshape", outputs, shape=(0, 0, 2, layer.hidden))
    return [reader.op("transpose", apart, axes=(0, 2, 1, 3)), *last]


def _turned(reader: NodeReader, data: Symbol, lengths: Symbol | None) -> Symbol:
    if lengths is None:
        return reader.op("reverse", data, axis=0)
    return reader.op("SequenceReverse", data, reader.cast(lengths, "float32"), use_sequence_length=True)


def _zeros(reader: NodeReader, layer: _Layer) -> Symbol:
    """Return a first state of zeros; the size of the batch follows from the data."""
    return reader.op("_zeros", shape=(layer.directions, 0, layer.hidden), dtype=reader.dtype())


def _packed(reader: NodeReader, layer: _Layer) -> Symbol:
    """Return weights and biases as MXNet packs them: all weights of each direction, then all biases."""
    order, hidden = _ORDER[layer.kind], layer.hidden
    weight, recurrent_weight, bias = (reader.constant(i) for i in (1, 2, 3))
    gates = _GATES[layer.kind]
    if weight is not None and recurrent_weight is not None and (bias is not None or not reader.has(3)):
        if bias is None:
            bias = np.zeros((layer.directions, 2 * gates * hidden), weight.dtype)
        parts = [
            _ordered(array[d], order, hidden).reshape(-1)
            for d in range(layer.directions)
            for array in (weight, recurrent_weight)
        ]
        parts += [
            _ordered(half, order, hidden) for d in range(layer.directions) for half in np.split(bias[d], 2)
        ]
        return reader.parameter(np.concatenate(parts), "parameters")
    return _packed_in_network(reader, layer)


def _ordered(array: np.ndarray, order: tuple[int, ...], hidden: int) -> np.ndarray:
    blocks = array.reshape(len(order), hidden, *array.shape[1:])
    return blocks[list(order)].reshape(array.shape)


def _packed_in_network(reader: NodeReader, layer: _Layer) -> Symbol:
    """Pack weights that are computed, or given as inputs."""
    order, hidden, gates = _ORDER[layer.kind], layer.hidden, len(_ORDER[layer.kind])
    weights, biases = [], []

    def rows(array: Symbol, direction: int, first: int) -> list[Symbol]:
        one = reader.op("slice_axis", array, axis=0, begin=direction, end=direction + 1)
        return [
            reader.op(
                "Reshape",
                reader.op("slice_axis", one, axis=1, begin=first + g * hidden, end=first + (g + 1) * hidden),
                shape=(-1,),
            )
            for g in order
        ]

    for d in range(layer.directions):
        weights += rows(reader.input(1), d, 0) + rows(reader.input(2), d, 0)
        if reader.has(3):
            biases += rows(reader.input(3), d, 0) + rows(reader.input(3), d, gates * hidden)
    if not biases:
        count = layer.directions * 2 * gates * hidden
        biases = [reader.op("_zeros", shape=(count,), dtype=reader.dtype())]
    return reader.op("Concat", *weights, *biases, dim=0)


# What MXNet's RNN has not: peepholes, other activations, limits, a GRU whose reset comes first


def _in_steps(reader: NodeReader, layer: _Layer, is_reverse: bool) -> list[Symbol]:
    """Return the outputs of a loop over the steps, each direction by itself."""
    runs = [_one_direction(reader, layer, d, is_reverse or d == 1) for d in range(layer.directions)]
    outputs = [reader.op("expand_dims", run[0], axis=1) for run in runs]
    if len(runs) == 1:
        return [outputs[0], *[reader.op("expand_dims", state, axis=0) for state in runs[0][1:]]]
    last = [reader.op("stack", *states, axis=0) for states in zip(*[run[1:] for run in runs])]
    return [reader.op("Concat", *outputs, dim=1), *last]


def _one(reader: NodeReader, data: Symbol, direction: int) -> Symbol:
    part = reader.op("slice_axis", data, axis=0, begin=direction, end=direction + 1)
    return reader.op("Reshape", part, shape=(-3, -2))


def _one_direction(reader: NodeReader, layer: _Layer, direction: int, backwards: bool) -> list[Symbol]:
    gates, hidden = _GATES[layer.kind], layer.hidden

    def part(index: int) -> Symbol:
        return _one(reader, reader.input(index), direction)

    weight, recurrent_weight = part(1), part(2)
    halves: list[Symbol | None] = [None, None]
    if reader.has(3):
        halves = list(reader.op("SliceChannel", part(3), num_outputs=2, axis=0))
    data = _turned(reader, layer.data, layer.lengths) if backwards else layer.data
    projected = _affine(reader, data, weight, halves[0], gates * hidden)
    states = []
    for state in layer.states[: 2 if layer.kind == "LSTM" else 1]:
        if state is None:
            first = reader.op("slice_axis", data, axis=0, begin=0, end=1)
            blank = reader.op("zeros_like", reader.op("slice_axis", first, axis=2, begin=0, end=1))
            blank = reader.op("Reshape", blank, shape=(-3, 1))
            states.append(reader.op("broadcast_axis", blank, axis=1, size=hidden))
        else:
            states.append(_one(reader, state, direction))
    peepholes = None
    if layer.kind == "LSTM" and reader.has(7):
        peepholes = list(reader.op("SliceChannel", part(7), num_outputs=3, axis=0))
    cell = _Cell(reader, layer, direction, recurrent_weight, halves[1], peepholes)
    slices = [projected] if layer.lengths is None else [projected, _is_inside(reader, layer)]
    outputs, last = contrib.foreach(cell.step, slices, states, name=f"{reader.name}_{direction}")
    if backwards:
        outputs = _turned(reader, outputs, layer.lengths)
    return [outputs, *last]


def _is_inside(reader: NodeReader, layer: _Layer) -> Symbol:
    """Return for each step 1 where sequences have one, and 0 behind their ends."""
    numbers = reader.op("_contrib_arange_like", layer.data, axis=0)
    numbers = reader.cast(reader.op("Reshape", numbers, shape=(-1, 1, 1)), reader.dtype())
    assert layer.lengths is not None
    lengths = reader.op("Reshape", reader.cast(layer.lengths, reader.dtype()), shape=(1, -1, 1))
    return reader.op("broadcast_lesser", numbers, lengths)


def _affine(reader: NodeReader, data: Symbol, weight: Symbol, bias: Symbol | None, units: int) -> Symbol:
    return reader.op(
        "FullyConnected", data, weight, bias, num_hidden=units, no_bias=bias is None, flatten=False
    )


class _Cell:
    """One step of a recurrent layer, as ONNX defines it."""

    def __init__(
        self,
        reader: NodeReader,
        layer: _Layer,
        direction: int,
        weight: Symbol,
        bias: Symbol | None,
        peepholes: list[Symbol] | None,
    ) -> None:
        self._reader, self._layer = reader, layer
        self._weight, self._bias, self._peepholes = weight, bias, peepholes
        count = len(_ACTIVATIONS[layer.kind])
        functions = reader.attribute("activations", _ACTIVATIONS[layer.kind] * layer.directions)
        self._functions = functions[direction * count :][:count]
        self._clip = reader.attribute("clip", 0.0)

    def step(self, slices: list[Symbol], before: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Return the output and the new states; behind the end of a sequence the states stay."""
        step = {"RNN": self._plain, "GRU": self._gru, "LSTM": self._lstm}[self._layer.kind]
        data, *inside = slices
        after = step(data, before)
        if not inside:
            return after[0], after
        output = self._mul(inside[0], after[0])
        outside = self._reader.op("_rminus_scalar", inside[0], scalar=1.0)
        pairs = zip(after, before)
        return output, [self._add(self._mul(inside[0], a), self._mul(outside, b)) for a, b in pairs]

    def _activate(self, number: int, data: Symbol) -> Symbol:
        reader, name = self._reader, self._functions[number]
        if self._clip:
            data = reader.op("clip", data, a_min=-self._clip, a_max=self._clip)
        if name in _FUNCTIONS:
            return reader.op(_FUNCTIONS[name], data)
        if name == "Softplus":
            return reader.op("Activation", data, act_type="softrelu")
        raise reader.refuse(
            f"activations must be of {', '.join(sorted([*_FUNCTIONS, 'Softplus']))}; got {name!r}"
        )

    def _recurrent(self, state: Symbol) -> Symbol:
        units = _GATES[self._layer.kind] * self._layer.hidden
        return _affine(self._reader, state, self._weight, self._bias, units)

    def _split(self, data: Symbol) -> list[Symbol]:
        return list(self._reader.op("SliceChannel", data, num_outputs=_GATES[self._layer.kind], axis=1))

    def _add(self, a: Symbol, b: Symbol) -> Symbol:
        return self._reader.op("broadcast_add", a, b)

    def _mul(self, a: Symbol, b: Symbol) -> Symbol:
        return self._reader.op("broadcast_mul", a, b)

    def _plain(self, data: Symbol, before: list[Symbol]) -> list[Symbol]:
        return [self._activate(0, self._add(data, self._recurrent(before[0])))]

    def _gru(self, data: Symbol, before: list[Symbol]) -> list[Symbol]:
        reader, hidden, (state,) = self._reader, self._layer.hidden, before
        given = self._split(data)
        if reader.attribute("linear_before_reset", 0):
            past = self._split(self._recurrent(state))
            update, reset = (self._activate(0, self._add(given[i], past[i])) for i in (0, 1))
            inner = self._mul(reset, past[2])
        else:
            weights = list(reader.op("SliceChannel", self._weight, num_outputs=3, axis=0))
            biases: list[Any] = [None] * 3
            if self._bias is not None:
                biases = list(reader.op("SliceChannel", self._bias, num_outputs=3, axis=0))
            update, reset = (
                self._activate(0, self._add(given[i], _affine(reader, state, weights[i], biases[i], hidden)))
                for i in (0, 1)
            )
            inner = _affine(reader, self._mul(reset, state), weights[2], biases[2], hidden)
        new = self._activate(1, self._add(given[2], inner))
        rest = reader.op("_rminus_scalar", update, scalar=1.0)
        return [self._add(self._mul(rest, new), self._mul(update, state))]

    def _lstm(self, data: Symbol, before: list[Symbol]) -> list[Symbol]:
        state, memory = before
        enter, leave, forget, cell = self._split(self._add(data, self._recurrent(state)))
        if self._peepholes:
            enter = self._add(enter, self._row(memory, 0))
            forget = self._add(forget, self._row(memory, 2))
        enter = self._activate(0, enter)
        if self._reader.attribute("input_forget", 0):
            forget = self._reader.op("_rminus_scalar", enter, scalar=1.0)
        else:
            forget = self._activate(0, forget)
        new = self._add(self._mul(forget, memory), self._mul(enter, self._activate(1, cell)))
        if self._peepholes:
            leave = self._add(leave, self._row(new, 1))
        return [self._mul(self._activate(0, leave), self._activate(2, new)), new]

    def _row(self, memory: Symbol, gate: int) -> Symbol:
        assert self._peepholes is not None
        return self._mul(memory, self._reader.op("Reshape", self._peepholes[gate], shape=(1, -1)))
