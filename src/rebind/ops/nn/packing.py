"""The pieces of the vector of a recurrent layer's parameters, gate by gate, with the names that they have unpacked."""

from __future__ import annotations

from math import prod

from ...shapes import Shape
from .recurrent_layers import GATES, Mode, parameter_shapes

__all__ = ["gate_pieces", "input_size"]


def gate_pieces(
    mode: Mode, features: int, state_size: int, num_layers: int, bidirectional: bool
) -> list[tuple[str, Shape]]:
    """Return name and shape of each gate's weights, then of each gate's biases, in the order of the vector.

    A name says direction (``l``, ``r``) and layer, input to hidden or hidden to hidden, and the gate.

    >>> gate_pieces("gru", features=3, state_size=2, num_layers=1, bidirectional=False)[:4]
    [('l0_i2h_r_weight', (2, 3)), ('l0_i2h_z_weight', (2, 3)), ('l0_i2h_o_weight', (2, 3)), ('l0_h2h_r_weight', (2, 2))]
    """
    sides = "lr" if bidirectional else "l"
    shapes = parameter_shapes(mode, features, state_size, num_layers, len(sides), 0)
    maps = [f"{side}{layer}_{way}" for layer in range(num_layers) for side in sides for way in ("i2h", "h2h")]
    named = zip(
        [(name, kind) for kind in ("weight", "bias") for name in maps],
        shapes,
        strict=True,
    )
    return [
        (f"{name}{gate}_{kind}", (state_size, *shape[1:]))
        for (name, kind), shape in named
        for gate in GATES[mode]
    ]


def input_size(size: int, mode: Mode, state_size: int, num_layers: int, bidirectional: bool) -> int | None:
    """Return how many inputs the first layer has when the vector has `size` elements; None if no number gives that.

    >>> input_size(56, "lstm", state_size=2, num_layers=1, bidirectional=False)
    3
    >>> input_size(57, "lstm", state_size=2, num_layers=1, bidirectional=False)
    """
    directions = 2 if bidirectional else 1
    # The size grows by so many elements for each input: a weight of each row of the first layer.
    rows = len(GATES[mode]) * state_size * directions
    without = sum(map(prod, parameter_shapes(mode, 0, state_size, num_layers, directions, 0)))
    inputs, rest = divmod(size - without, rows)
    return inputs if inputs >= 1 and not rest else None
