"""An LSTM on quantized data."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Annotated, Any

import torch
from torch import Tensor

from ...errors import ShapeError
from ...params import AtLeast, Params
from ...shapes import Shape
from .._signatures import with_interface_of
from .._types import Count
from ..declaration import Shapes, operator
from ..nn import recurrent, recurrent_layers
from ._levels import LEVELS, per_level, require
from ._ranges import scalars

__all__ = ["on_levels", "quantized_rnn"]

_FLOATS = ("parameters", "state", "state_cell", "min_data", "max_data")


@operator(
    "_contrib_quantized_rnn",
    # The last name is misspelt in MXNet as well.
    outputs=lambda p: ("output", "state_output", "statecell_ouput") if p.state_outputs else ("output",),
    types={
        "data": torch.uint8,
        **dict.fromkeys((*_FLOATS, "output", "state_output", "statecell_ouput"), torch.float32),
    },
    head_gradient=False,
)
@with_interface_of(recurrent.rnn.kernels.function, without=("sequence_length", "training", "generator"))
def quantized_rnn(
    data: Tensor,
    parameters: Tensor,
    state: Tensor,
    state_cell: Tensor,
    min_data: Tensor,
    max_data: Tensor,
    *,
    state_size: Count,
    num_layers: Count,
    bidirectional: bool = False,
    mode: recurrent_layers.Mode,
    projection_size: Annotated[int, AtLeast(1)] | None = None,
    quantized: bool = True,
    **settings: Any,
) -> Tensor | tuple[Tensor, ...]:
    """LSTM layers on the uint8 data of `_contrib_quantize_asym`, with weights held to the levels of int8.

    Each row of a weight, that of one unit of a gate, has levels of its own: 127 on each side of 0. Data count as
    ``(data - max_data) / min_data``; the products, biases and states are float32. MXNet's CPU build has this
    operator on some processors only.

    Parameters
    ----------
    min_data, max_data
        Scale and shift of the data, as `_contrib_quantize_asym` returns them; the names are MXNet's.
    mode
        ``'lstm'``, the only one that is quantized.
    state_size, num_layers, bidirectional, state_outputs, projection_size
        As in `RNN`.
    lstm_state_clip_min, lstm_state_clip_max, lstm_state_clip_nan
        As in `RNN`.
    p
        No effect here: a quantized network is not trained.
    use_sequence_length
        Must be False: there is no input for lengths.
    quantized
        No effect; MXNet writes it into its files.

    Shapes
    ------
    data : (T, N, C)     uint8
    parameters, state, state_cell, output, state_output, statecell_ouput
        As in `RNN`.
    min_data, max_data : (1,)

    Examples
    --------
    >>> data = torch.full((1, 1, 1), 85, dtype=torch.uint8)
    >>> state, scale, shift = torch.zeros(1, 1, 1), torch.tensor([85.0]), torch.tensor([85.0])
    >>> quantized_rnn(
    ...     data, torch.ones(16), state, state, scale, shift, state_size=1, num_layers=1, mode="lstm"
    ... )
    tensor([[[0.6083]]])
    """
    data = require("data", data, torch.uint8)
    for name, array in (("min_data", min_data), ("max_data", max_data)):
        if array.numel() != 1:
            raise ShapeError(f"{name} must have one element, shape (1,); got {tuple(array.shape)}")
    if data.dim() != 3:
        raise ShapeError(f"data must have 3 axes (time, batch, features); got shape {tuple(data.shape)}")
    packing = recurrent_layers.parameter_shapes(
        mode, data.shape[2], state_size, num_layers, 2 if bidirectional else 1, projection_size or 0
    )
    # The ends' names are those of a range; what `quantize_asym` gives there is its scale and its shift.
    scale = min_data.reshape(1)
    return recurrent.rnn.kernels.function(
        (data - max_data.reshape(1)) * per_level(torch.ones_like(scale), scale),
        on_levels(parameters.detach(), packing),
        state.detach(),
        state_cell.detach(),
        state_size=state_size,
        num_layers=num_layers,
        bidirectional=bidirectional,
        mode=mode,
        projection_size=projection_size,
        **settings,
    )


def on_levels(parameters: Tensor, packing: Sequence[Shape]) -> Tensor:
    """Return the vector of parameters with its weights on levels; of another size as it is, which `RNN` reports.

    >>> on_levels(torch.tensor([127.0, 0.6, 0.6]), [(1, 2), (1,)])
    tensor([127.0000,   1.0000,   0.6000])
    """
    # Weights come first in the vector; biases, which have one axis, are not quantized.
    weights = [shape for shape in packing if len(shape) == 2]
    if parameters.shape != (sum(map(prod, packing)),):
        return parameters
    *matrices, biases = parameters.split([*map(prod, weights), sum(map(prod, packing[len(weights) :]))])
    held = [_held(matrix.view(shape)).flatten() for matrix, shape in zip(matrices, weights, strict=True)]
    return torch.cat([*held, biases])


def _held(weight: Tensor) -> Tensor:
    """Return a matrix with each row on the levels of int8 that its largest element sets."""
    # To levels and back at once: the values are those of int8, the product is in float32.
    level = weight.abs().amax(1, keepdim=True) / LEVELS[torch.int8]
    return (weight * per_level(torch.ones_like(level), level)).round_() * level


@quantized_rnn.check
def _(p: Params) -> str | None:
    if p.mode != "lstm":
        return f"mode must be 'lstm'; got {p.mode!r}"
    if p.use_sequence_length:
        return "use_sequence_length must be False, as there is no input for lengths; got True"
    # What `RNN` asks of its parameters holds here too.
    rule = recurrent.rnn.signature.check
    return rule(p) if rule else None


@quantized_rnn.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    found = recurrent.rnn.inference.filled_shapes(shapes, p)
    return {
        **{name: shape for name, shape in found.items() if name in shapes},
        **scalars("min_data", "max_data"),
    }
