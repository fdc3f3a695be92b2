"""Recurrent networks: plain, LSTM and GRU layers, stacked and in both directions, as one operator."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Annotated

import torch
from torch import Tensor

from ...draws import Source
from ...errors import ParameterError, ShapeError
from ...params import AtLeast, Params
from ...shapes import Shape
from .._types import Count, Double
from ..declaration import Shapes, operator
from .recurrent_layers import Clip, Mode, States, parameter_shapes, run_layers, unpack

__all__ = ["rnn"]


def _skipped(name: str, p: Params) -> bool:
    return (name == "state_cell" and p.mode != "lstm") or (
        name == "sequence_length" and not p.use_sequence_length
    )


def _names(p: Params) -> tuple[str, ...]:
    if not p.state_outputs:
        return ("output",)
    return ("output", "state_output", *(("statecell_output",) if p.mode == "lstm" else ()))


@operator(
    "RNN",
    skip=_skipped,
    outputs=_names,
    types={"sequence_length": "any"},
    draws=lambda p, training: training and p.p > 0,
)
def rnn(
    data: Tensor,
    parameters: Tensor,
    state: Tensor,
    state_cell: Tensor | None = None,
    sequence_length: Tensor | None = None,
    *,
    state_size: Count,
    num_layers: Count,
    bidirectional: bool = False,
    mode: Mode,
    p: float = 0.0,
    state_outputs: bool = False,
    projection_size: Annotated[int, AtLeast(1)] | None = None,
    lstm_state_clip_min: Double | None = None,
    lstm_state_clip_max: Double | None = None,
    lstm_state_clip_nan: bool = False,
    use_sequence_length: bool = False,
    training: bool = False,
    generator: Source | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """Recurrent layers over a sequence, with the parameters of all of them in one vector.

    The vector holds the weights of every layer and, within it, direction: input to hidden, hidden to hidden and,
    with `projection_size`, hidden to projection; after all weights the biases in the same order, input to hidden
    and hidden to hidden. The rows of a weight are those of its gates: input, forget, cell, output for ``'lstm'``,
    reset, update, new for ``'gru'``, where the reset gate acts on ``h2h_weight @ state + h2h_bias``.

    MXNet has sequence lengths, clipping and the training of projections on GPUs only; here they work everywhere.

    Parameters
    ----------
    state_size
        Number of hidden units H of a layer and direction.
    num_layers
        Number of layers, each on the outputs of the one before.
    bidirectional
        Let each layer have a second direction, from the end; the outputs of both are concatenated.
    mode
        ``'rnn_relu'``, ``'rnn_tanh'``, ``'lstm'`` or ``'gru'``.
    p
        The fraction that dropout takes from the outputs of each layer but the last in training, in [0, 1).
    state_outputs
        Return the states after the last step too.
    projection_size
        Size P of a linear map of an LSTM's outputs, which replaces H wherever they are used.
    lstm_state_clip_min, lstm_state_clip_max
        Bounds that the cell state of an LSTM is held within, at each step. One needs the other.
    lstm_state_clip_nan
        Replace NaN in the cell state by ``lstm_state_clip_min``; no effect without the bounds.
    use_sequence_length
        Take `sequence_length`: outputs beyond the end of a sequence are 0, its states are those at its end, and
        the second direction starts there.

    Shapes
    ------
    data : (T, N, C)
    parameters : (size,)           follows from the data and the parameters
    state : (L, N, P or H)         ``L = num_layers``, doubled with ``bidirectional``
    state_cell : (L, N, H)         for ``'lstm'`` only
    sequence_length : (N,)         absent without ``use_sequence_length``; each in [1, T]
    out : (T, N, P or H)           the last size doubled with ``bidirectional``
    state_output, statecell_output : those of state and state_cell

    References
    ----------
    Hochreiter and Schmidhuber, Long Short-Term Memory. Cho et al., Learning Phrase Representations using RNN
    Encoder-Decoder. Sak et al., Long Short-Term Memory Based Recurrent Neural Network Architectures.

    Examples
    --------
    >>> data, state = torch.ones(2, 1, 1), torch.zeros(1, 1, 1)
    >>> rnn(data, torch.ones(4), state, state_size=1, num_layers=1, mode="rnn_relu").flatten()
    tensor([3., 6.])
    """
    _check_lengths_given(sequence_length, use_sequence_length)
    directions = 2 if bidirectional else 1
    states: States = (state,) if state_cell is None else (state, state_cell)
    _check_shapes(data, states, num_layers * directions, mode, state_size, projection_size)
    packing = parameter_shapes(mode, data.shape[2], state_size, num_layers, directions, projection_size or 0)
    wanted = sum(map(prod, packing))
    if parameters.shape != (wanted,):
        raise ShapeError(
            f"parameters must have shape ({wanted},) for mode {mode!r}, {num_layers} layer(s) of "
            f"{state_size} in {directions} direction(s) and data {tuple(data.shape)}; "
            f"got {tuple(parameters.shape)}"
        )
    # Shapes are checked before: inference stops here.
    if data.is_meta:  # the kernels step through time, and lengths cannot be read
        hidden = directions * (projection_size or state_size)
        out, states = data.new_empty((*data.shape[:2], hidden)), tuple(map(torch.empty_like, states))
        return (out, *states) if state_outputs else out
    if not data.shape[0]:
        raise ShapeError(f"data must have 1 time step at least; got shape {tuple(data.shape)}")

    clip = None
    if lstm_state_clip_min is not None and lstm_state_clip_max is not None:
        clip = Clip(lstm_state_clip_min, lstm_state_clip_max, lstm_state_clip_nan)
    out, states = run_layers(
        data,
        states,
        unpack(parameters, packing, num_layers * directions),
        mode=mode,
        directions=directions,
        lengths=None if sequence_length is None else _lengths(sequence_length, data),
        clip=clip,
        drop=p if training else 0.0,
        generator=generator,
    )
    return (out, *states) if state_outputs else out


def _check_lengths_given(sequence_length: Tensor | None, use_sequence_length: bool) -> None:
    if sequence_length is not None and not use_sequence_length:
        raise ParameterError("sequence_length is taken only with use_sequence_length=True; got it without")
    if sequence_length is None and use_sequence_length:
        raise ParameterError("use_sequence_length=True needs sequence_length")


def _check_shapes(
    data: Tensor, states: States, count: int, mode: Mode, state_size: int, projection_size: int | None
) -> None:
    if data.dim() != 3:
        raise ShapeError(f"data must have 3 axes (time, batch, features); got shape {tuple(data.shape)}")
    if len(states) != (2 if mode == "lstm" else 1):
        raise ParameterError(
            "mode 'lstm' needs state_cell"
            if mode == "lstm"
            else f"state_cell is for mode 'lstm' only; got it with {mode!r}"
        )
    # A projection makes the hidden state smaller, not the cell's (Sak, Senior, Beaufays, 2014).
    sizes = (projection_size or state_size, state_size)
    for name, state, size in zip(("state", "state_cell"), states, sizes, strict=False):
        wanted = (count, data.shape[1], size)
        if state.shape != wanted:
            raise ShapeError(
                f"{name} must have shape {wanted} for data {tuple(data.shape)}; got {tuple(state.shape)}"
            )


def _lengths(given: Tensor, data: Tensor) -> Tensor:
    """Return the lengths as integers on the CPU, where torch's packing wants them."""
    steps, batch = data.shape[:2]
    if given.shape != (batch,):
        raise ShapeError(
            f"sequence_length must have shape ({batch},) for data {tuple(data.shape)}; "
            f"got {tuple(given.shape)}"
        )
    lengths = given.detach().to("cpu", torch.int64)
    if batch and not (int(lengths.min()) >= 1 and int(lengths.max()) <= steps):
        raise ParameterError(f"sequence_length must be in [1, {steps}]; got {lengths.tolist()}")
    return lengths


@rnn.check
def _(p: Params) -> str | None:
    if not 0.0 <= p["p"] < 1.0:
        return f"p must be in [0, 1); got {p['p']}"
    low, high = p.lstm_state_clip_min, p.lstm_state_clip_max
    if (low is None) != (high is None):
        return f"lstm_state_clip_min and lstm_state_clip_max must be given together; got {low} and {high}"
    if low is not None and low > high:
        return f"lstm_state_clip_min must be at most lstm_state_clip_max; got {low} and {high}"
    if p.mode != "lstm":
        # The upper bound of a clip is there only with the lower one, as checked above.
        for name in ("projection_size", "lstm_state_clip_min"):
            if p[name] is not None:
                return f"{name} is for mode 'lstm' only; got {p[name]} with {p.mode!r}"
    return None


@rnn.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data = shapes["data"]
    if data is not None and len(data) != 3:
        raise ShapeError(f"data must have 3 axes (time, batch, features); got shape {data}")
    _, batch, features = data or (0, 0, 0)
    directions = 2 if p.bidirectional else 1
    count, projection = p.num_layers * directions, p.projection_size or 0
    found: dict[str, Shape] = {
        "state": (count, batch, projection or p.state_size),
        "state_cell": (count, batch, p.state_size),
        "sequence_length": (batch,),
    }
    # The length of the vector depends on the features, but neither on the batch nor on the time steps.
    if features:
        packing = parameter_shapes(p.mode, features, p.state_size, p.num_layers, directions, projection)
        found["parameters"] = (sum(map(prod, packing)),)
    # Only inputs that this mode takes: the cell state is the LSTM's alone.
    return {name: shape for name, shape in found.items() if name in shapes}


@rnn.output_shapes
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    data, directions = shapes["data"], 2 if p.bidirectional else 1
    if data is None or p.use_sequence_length or (p.mode == "lstm") != ("state_cell" in shapes):
        return []
    out = (*data[:2], directions * (p.projection_size or p.state_size))
    return [out, shapes["state"], shapes.get("state_cell")][: len(_names(p))]


@rnn.products
def _(shapes: Shapes, p: Params) -> int:
    return prod((shapes["data"] or ())[:2]) * prod(shapes["parameters"] or ())


@rnn.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    # Time and batch are those of the result; how many features data has does not show there.
    out = outputs[0]
    return {} if out is None or len(out) != 3 else {"data": (*out[:2], 0)}
