"""Fused recurrent layers, whose one vector of parameters becomes the weights of PyTorch's layers."""

from __future__ import annotations

from math import prod

from ...ops.nn.recurrent_layers import GATES, parameter_shapes, unpack
from ..node_writer import NodeWriter, Value
from ..translations import translation

__all__ = ["rnn"]

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
    if p.mode == "lstm":
        writer.parts = ("[0]", "[1][0]", "[1][1]")
    start = f"({states[0]}, {states[1]})" if p.mode == "lstm" else f"{states[0]}"
    call = f"{layer}({data}, {start})"
    return call if p.state_outputs else f"{call}[0]"
