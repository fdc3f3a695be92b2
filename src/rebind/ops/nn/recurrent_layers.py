"""What recurrent layers are made of: the vector of their parameters, and how layers run over a sequence."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import prod
from typing import Literal, NamedTuple, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from ... import draws
from ...draws import Source, derive
from ...grad_mode import is_recorded
from ...shapes import Shape
from .._clamp import clamp
from .recurrent_gradients import can_run, run_layer

__all__ = ["GATES", "Clip", "Mode", "States", "parameter_shapes", "run_layers", "unpack"]

Mode = Literal["rnn_relu", "rnn_tanh", "lstm", "gru"]
#: Of one layer and direction: i2h and h2h weight, i2h and h2h bias, projection if any.
Cell: TypeAlias = tuple[Tensor, ...]
States: TypeAlias = tuple[Tensor, ...]  # (state,) or (state, state_cell)
# (data, states, cells of some layers) -> (outputs of the last of them, new states)
Run: TypeAlias = "Callable[[Tensor, States, list[Cell]], tuple[Tensor, States]]"
# (data, states, cell, whether from the last step to the first) -> (outputs, *new states), of one layer and direction
RunLayer: TypeAlias = Callable[[Tensor, Sequence[Tensor], Cell, bool], Sequence[Tensor]]

#: The gates of a cell as they are in names, in the order of their rows: that of torch's kernels (LSTM: i, f, g, o;
#: GRU: r, z, n) is MXNet's too.
GATES: dict[Mode, tuple[str, ...]] = {
    "rnn_relu": ("",),
    "rnn_tanh": ("",),
    "lstm": ("_i", "_f", "_c", "_o"),
    "gru": ("_r", "_z", "_o"),
}


class Clip(NamedTuple):
    """The bounds of an LSTM's cell state."""

    low: float
    high: float
    replace_nan: bool


@functools.lru_cache(1024)
def parameter_shapes(
    mode: Mode, features: int, state_size: int, num_layers: int, directions: int, projection: int
) -> tuple[Shape, ...]:
    """Return the shapes of all weights, then of all biases, in the order of the vector; `projection` 0 is none.

    >>> parameter_shapes("lstm", features=3, state_size=4, num_layers=1, directions=1, projection=0)
    ((16, 3), (16, 4), (16,), (16,))
    """
    rows, hidden = len(GATES[mode]) * state_size, projection or state_size
    weights: list[Shape] = []
    for layer in range(num_layers):
        # From the second layer on a cell reads the outputs of all directions of the layer below.
        inputs = directions * hidden if layer else features
        # i2h, h2h and perhaps the projection.
        cell = [(rows, inputs), (rows, hidden), *([(projection, state_size)] if projection else [])]
        weights += cell * directions
    return (*weights, *((rows,),) * (2 * num_layers * directions))


def unpack(parameters: Tensor, packing: Sequence[Shape], count: int) -> list[Cell]:
    """Return the weights and biases of each of `count` cells, as views of the vector.

    >>> packing = parameter_shapes("rnn_tanh", 3, 2, num_layers=1, directions=1, projection=0)
    >>> [tuple(weight.shape) for weight in unpack(torch.zeros(14), packing, 1)[0]]
    [(2, 3), (2, 2), (2,), (2,)]
    """
    pieces = parameters.split([prod(shape) for shape in packing])
    views = [piece.view(*shape) for piece, shape in zip(pieces, packing, strict=True)]
    # All weights come first, then all biases, two for each cell; with a projection a cell has three weights.
    weights, biases = views[: -2 * count], views[-2 * count :]
    each = len(weights) // count
    return [
        (
            *weights[each * k : each * k + 2],
            *biases[2 * k : 2 * k + 2],
            *weights[each * k + 2 : each * (k + 1)],
        )
        for k in range(count)
    ]


def run_layers(
    data: Tensor,
    states: States,
    cells: list[Cell],
    *,
    mode: Mode,
    directions: int,
    lengths: Tensor | None,
    clip: Clip | None,
    drop: float,
    generator: Source | None,
) -> tuple[Tensor, States]:
    """Return the outputs of the last layer and the new states.

    Parameters
    ----------
    cells
        The weights of each layer and direction, as `unpack` returns them.
    lengths
        The lengths of the sequences, on the CPU; None if all have the length of the data.
    drop
        The fraction that dropout takes between the layers.
    """
    # torch's kernels cannot clip: layer by layer, in a loop over time.
    if clip is not None:
        # (T, N, 1): true where a sequence has not ended.
        valid = None
        if lengths is not None:
            valid = (torch.arange(data.shape[0])[:, None] < lengths).to(data.device).unsqueeze(-1)
        clipped: Run = functools.partial(_clipped_lstm, clip=clip, valid=valid)
        return _stack(clipped, data, states, cells, directions, 1, drop, generator)
    # Without dropout nothing happens between layers: one call of the kernel runs them all.
    at_once = 1 if drop else len(cells) // directions
    if lengths is None:
        run = functools.partial(_fused, mode=mode, directions=directions, batch_sizes=None)
        return _stack(run, data, states, cells, directions, at_once, drop, generator)
    # A packed sequence is sorted by length, longest first; states are put in that order and back.
    # `batch_sizes`: how many sequences still run at each step.
    packed = pack_padded_sequence(data, lengths, enforce_sorted=False)
    sizes, order, back = packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices
    assert order is not None and back is not None  # it sorts, so they are there
    run = functools.partial(_fused, mode=mode, directions=directions, batch_sizes=sizes)
    states = tuple(state.index_select(1, order) for state in states)  # axis 1: batch
    out, states = _stack(run, packed.data, states, cells, directions, at_once, drop, generator)
    states = tuple(state.index_select(1, back) for state in states)
    out, _ = pad_packed_sequence(PackedSequence(out, sizes, order, back), total_length=data.shape[0])
    return out, states


def _stack(
    run: Run,
    data: Tensor,
    states: States,
    cells: list[Cell],
    directions: int,
    at_once: int,
    drop: float,
    generator: Source | None,
) -> tuple[Tensor, States]:
    """Run `at_once` layers in each call, with dropout between the calls."""
    # Cells lie layer by layer, the directions of a layer beside each other; so do the states.
    step = at_once * directions
    if step == len(cells):
        return run(data, states, cells)
    after: list[States] = []
    for first in range(0, len(cells), step):
        if first and drop:
            # Not left to torch's kernels: they draw from the global generator. Each layer has a mask of its own.
            mask = draws.bernoulli(
                data.shape, derive(generator, first), 1.0 - drop, dtype=data.dtype, device=data.device
            )
            data = data * mask.div_(1.0 - drop)
        layers = slice(first, first + step)
        data, new = run(data, tuple(state[layers] for state in states), cells[layers])
        after.append(new)
    return data, tuple(torch.cat(each) for each in zip(*after, strict=True))


def _fused(
    data: Tensor,
    states: States,
    cells: list[Cell],
    *,
    mode: Mode,
    directions: int,
    batch_sizes: Tensor | None,
) -> tuple[Tensor, States]:
    """Run layers by torch's kernel, on steps that are all of one size or, with `batch_sizes`, packed."""
    flat = [weight for cell in cells for weight in cell]
    hidden = states if mode == "lstm" else states[0]
    # "Training" makes a kernel save what the gradient needs; dropout, its other effect, is done by `_stack`.
    recorded = is_recorded(data, *states, *flat)
    if recorded and batch_sizes is None and (run := _layer_in_training(mode, data, cells[0])) is not None:
        return _layer_by_layer(run, data, states, cells, directions)
    rest = (flat, True, len(cells) // directions, 0.0, recorded, directions == 2)
    # What torch.nn.LSTM and its kin call; the modules themselves insist on owning their weights.
    kernel = getattr(torch, mode)
    if batch_sizes is None:
        out, *after = kernel(data, hidden, *rest, False)
    else:
        out, *after = kernel(data, batch_sizes, hidden, *rest)
    if (
        torch.compiler.is_compiling()
    ):  # in PyTorch 2.11 the states of a decomposed layer have an axis too many
        return out, tuple(each.reshape(state.shape) for each, state in zip(after, states, strict=True))
    return out, tuple(after)


def _layer_in_training(mode: Mode, data: Tensor, cell: Cell) -> RunLayer | None:
    """Return what runs a layer in training quicker than torch's kernels do under autograd, if there is something."""
    if not torch.compiler.is_compiling():
        return functools.partial(run_layer, mode) if can_run(mode, data) else None
    if mode != "lstm":
        return None
    from .opaque import lstm

    return lstm.run_layer if lstm.can_run(data, cell) else None


def _layer_by_layer(
    run: RunLayer, data: Tensor, states: States, cells: list[Cell], directions: int
) -> tuple[Tensor, States]:
    """Run layers, of which `run` runs one in one direction."""
    after: list[States] = []
    for first in range(0, len(cells), directions):
        outs = []
        for k in range(first, first + directions):
            out, *new = run(data, [state[k] for state in states], cells[k], k > first)
            outs.append(out)
            after.append(tuple(new))
        data = torch.cat(outs, -1) if directions > 1 else outs[0]
    return data, tuple(map(torch.stack, zip(*after, strict=True)))


def _clipped_lstm(
    data: Tensor,
    states: States,
    cells: list[Cell],
    *,
    clip: Clip,
    valid: Tensor | None,
) -> tuple[Tensor, States]:
    """Run one layer of an LSTM whose cell state is clipped.

    No kernel of torch clips between steps, so this goes step by step in Python; the inputs of all steps are
    multiplied at once. `valid`, (T, N, 1), is true for the steps within a sequence; elsewhere states do not change.
    """
    outs, hiddens, memories = [], [], []
    for direction, (i2h, h2h, i2h_bias, h2h_bias, *projection) in enumerate(cells):
        hidden, memory = states[0][direction], states[1][direction]
        # Both biases are only ever added, so that they are one here.
        from_data = F.linear(data, i2h, i2h_bias + h2h_bias).unbind()  # T times (N, 4 H)
        out = []
        steps = range(len(from_data))
        for t in reversed(steps) if direction else steps:
            i, f, g, o = torch.addmm(from_data[t], hidden, h2h.t()).chunk(4, 1)
            new_memory = f.sigmoid() * memory + i.sigmoid() * g.tanh()
            if clip.replace_nan:
                new_memory = new_memory.masked_fill(new_memory.isnan(), clip.low)
            new_memory = clamp(new_memory, clip.low, clip.high)
            new_hidden = o.sigmoid() * new_memory.tanh()
            if projection:
                new_hidden = new_hidden @ projection[0].t()
            # After its end a sequence keeps its state; so the second direction begins at each sequence's own end.
            if valid is None:
                hidden, memory = new_hidden, new_memory
            else:
                hidden, memory = (
                    torch.where(valid[t], new, old)
                    for new, old in ((new_hidden, hidden), (new_memory, memory))
                )
            out.append(hidden if valid is None else hidden.masked_fill(~valid[t], 0.0))
        # The second direction ran from the end; its outputs are put in the order of time.
        outs.append(torch.stack(out[::-1] if direction else out))
        hiddens.append(hidden)
        memories.append(memory)
    return torch.cat(outs, -1), (torch.stack(hiddens), torch.stack(memories))
