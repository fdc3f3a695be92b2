"""Recurrent layers: fused ones, whose one vector of parameters becomes the weights, and those of unrolled cells."""

from __future__ import annotations

from itertools import takewhile
from math import prod

from ...ops.nn.recurrent_layers import GATES, parameter_shapes, unpack
from ..node_writer import NodeWriter, Value
from ..translations import translation

__all__ = ["joint_cells", "rnn", "stack_rows"]

_LAYERS = {"lstm": "nn.LSTM", "gru": "nn.GRU", "rnn_tanh": "nn.RNN", "rnn_relu": "nn.RNN"}


@translation("RNN")
def rnn(writer: NodeWriter, data: Value, parameters: Value, *states: Value | None) -> str | None:
    """Run layers over time; the gates of both are in one order. What PyTorch's layers have not is written out."""
    p = writer.params
    is_special = p.projection_size or p.use_sequence_length or p.lstm_state_clip_min is not None
    vector = writer.numbers("parameters")
    if is_special or vector is None:
        return None
    directions = 2 if p.bidirectional else 1
    without_data = parameter_shapes(p.mode, 0, p.state_size, p.num_layers, directions, 0)
    rows = len(GATES[p.mode]) * p.state_size
    features = (vector.numel() - sum(map(prod, without_data))) // (rows * directions)
    packing = parameter_shapes(p.mode, features, p.state_size, p.num_layers, directions, 0)
    weights = {}
    for i, cell in enumerate(unpack(vector, packing, p.num_layers * directions)):
        suffix = f"l{i // directions}{'_reverse' if i % directions else ''}"
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        weights.update({f"{name}_{suffix}": part for name, part in zip(names, cell, strict=True)})
    settings = f"{features}, {p.state_size}"
    settings += f", num_layers={p.num_layers}" if p.num_layers > 1 else ""
    settings += f", dropout={p.p!r}" if p.p and p.num_layers > 1 else ""
    settings += ", bidirectional=True" if p.bidirectional else ""
    settings += ', nonlinearity="relu"' if p.mode == "rnn_relu" else ""
    layer = writer.split_layer(f"{_LAYERS[p.mode]}({settings})", "parameters", weights)
    is_lstm = p.mode == "lstm"
    writer.parts = ("[0]", "[1][0]", "[1][1]") if is_lstm else ("[0]", "[1]")
    return f"{layer}({data}, {f'({states[0]}, {states[1]})' if is_lstm else states[0]})"


@translation("_joint_cells")
def joint_cells(
    writer: NodeWriter,
    data: Value,
    i2h_weight: Value,
    i2h_bias: Value | None,
    state: Value | None,
    h2h_weight: Value,
    h2h_bias: Value | None,
    state_cell: Value | None,
) -> str | None:
    """Run a layer over time, from zeros where no states are given; its state has an axis of layers in PyTorch."""
    p, weight = writer.params, writer.numbers("i2h_weight")
    if weight is None:
        return None
    settings = f"{weight.shape[1]}, {p.state_size}"
    settings += ", bias=False" if p.no_i2h_bias else ""
    settings += ', nonlinearity="relu"' if p.mode == "rnn_relu" else ""
    parts = {"weight_ih_l0": "i2h_weight", "weight_hh_l0": "h2h_weight"}
    if not p.no_i2h_bias:
        parts |= {"bias_ih_l0": "i2h_bias", "bias_hh_l0": "h2h_bias"}
    layer = writer.layer(f"{_LAYERS[p.mode]}({settings})", parts, name=_common_start(writer) or p.mode)
    is_lstm, rank = p.mode == "lstm", writer.rank()
    writer.parts = ("[0]", "[1][0][0]", "[1][1][0]") if is_lstm else ("[0]", "[1][0]")
    steps = f"{data}" if rank == 3 else f"{data}.unsqueeze(-1)" if rank == 2 else f"torch.flatten({data}, 2)"
    if p.from_zero:
        return f"{layer}({steps})"
    states = f"({state}.unsqueeze(0), {state_cell}.unsqueeze(0))" if is_lstm else f"{state}.unsqueeze(0)"
    return f"{layer}({steps}, {states})"


def _common_start(writer: NodeWriter) -> str:
    """Return the words that the names of both weights begin with, such as ``lstm_l0``."""
    entries = (writer.entry("i2h_weight"), writer.entry("h2h_weight"))
    names = [entry.name.split("_") for entry in entries if entry is not None]
    return "_".join(
        words[0] for words in takewhile(lambda words: len(set(words)) == 1, zip(*names, strict=False))
    )


@translation("_stack_rows")
def stack_rows(writer: NodeWriter, *data: Value) -> str:
    """Join the rows of all steps along a new first axis."""
    rows = [
        f"{each}" if writer.rank(index) == 2 else f"torch.flatten({each}, 1)"
        for index, each in enumerate(data)
    ]
    return f"torch.stack([{', '.join(rows)}])"
