"""What unrolled recurrent cells become when a graph is lowered: one layer over all steps, and what feeds it."""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from ...errors import ShapeError
from ...params import AtLeast, Params
from ...shapes import Shape
from ..declaration import Shapes, operator
from .linear import as_rows
from .recurrent_layers import GATES, Mode, States, run_layers, unpack

__all__ = ["joint_cells", "stack_rows"]


def _skipped(name: str, p: Params) -> bool:
    return (
        (name == "i2h_bias" and p.no_i2h_bias)
        or (name == "h2h_bias" and p.no_h2h_bias)
        or (name == "state" and p.from_zero)
        or (name == "state_cell" and (p.from_zero or p.mode != "lstm"))
    )


def _outputs(p: Params) -> tuple[str, ...]:
    return ("output", "state_output", *(("statecell_output",) if p.mode == "lstm" else ()))


@operator("_joint_cells", skip=_skipped, outputs=_outputs)
def joint_cells(
    data: Tensor,
    i2h_weight: Tensor,
    i2h_bias: Tensor | None,
    state: Tensor | None,
    h2h_weight: Tensor,
    h2h_bias: Tensor | None = None,
    state_cell: Tensor | None = None,
    *,
    mode: Mode,
    state_size: Annotated[int, AtLeast(1)],
    gates: tuple[int, ...] = (),
    no_i2h_bias: bool = False,
    no_h2h_bias: bool = False,
    from_zero: bool = False,
) -> tuple[Tensor, ...]:
    """Cells with the same weights in a chain: all steps of a recurrent layer in one call.

    Not MXNet's: graphs get it when they are lowered, in place of cells that were unrolled step by step. It is the layer
    of `RNN`, with the arrays that a cell has, in the order in which a cell has them.

    Parameters
    ----------
    mode
        ``'rnn_relu'``, ``'rnn_tanh'``, ``'lstm'`` or ``'gru'``.
    state_size
        Number of hidden units H.
    gates
        Which block of rows each gate has in the weights: input, forget, cell, output for ``'lstm'``, reset, update, new
        for ``'gru'``. Empty: in this order.
    no_i2h_bias, no_h2h_bias
        Leave a bias out.
    from_zero
        Start from zeros; there are no states then.

    Shapes
    ------
    data : (T, N, ...)
    i2h_weight : (gates * H, C)    C = product of the trailing axes of data
    h2h_weight : (gates * H, H)
    i2h_bias, h2h_bias : (gates * H,)
    state, state_cell : (N, H)     absent with ``from_zero``; `state_cell` for ``'lstm'`` only
    output : (T, N, H)
    state_output, statecell_output : (N, H)

    Examples
    --------
    >>> one, p = torch.ones(1, 1), {"mode": "rnn_relu", "state_size": 1, "from_zero": True}
    >>> joint_cells(torch.ones(2, 1, 1), one, None, None, one, no_i2h_bias=True, no_h2h_bias=True, **p)
    (tensor([[[1.]],
            [[2.]]]), tensor([[2.]]))
    """
    rows = len(GATES[mode]) * state_size
    for name, weight in (("i2h_weight", i2h_weight), ("h2h_weight", h2h_weight)):
        if weight.shape[0] != rows:
            raise ShapeError(f"{name} must have {rows} rows for mode {mode!r}; got {tuple(weight.shape)}")
    data = _steps_of_rows(data)
    shape = (data.shape[1], state_size)
    count = 2 if mode == "lstm" else 1
    if data.is_meta:  # the kernels step through time
        return (data.new_empty((len(data), *shape)), *(data.new_empty(shape) for _ in range(count)))
    zero = data.new_zeros(shape)
    begin = (zero if state is None else as_rows(state), zero if state_cell is None else state_cell)
    states: States = tuple(each.unsqueeze(0) for each in begin[:count])
    weights = (i2h_weight, h2h_weight, *(_given(bias, i2h_weight) for bias in (i2h_bias, h2h_bias)))
    if gates != tuple(range(len(gates))):
        weights = tuple(_in_order(weight, gates) for weight in weights)
    if data.device.type != "cpu":
        weights = _packed(weights)
    out, after = run_layers(
        data, states, [weights], mode=mode, directions=1, lengths=None, clip=None, drop=0.0, generator=None
    )
    return (out, *(each.squeeze(0) for each in after))


def _given(bias: Tensor | None, weight: Tensor) -> Tensor:
    return weight.new_zeros(weight.shape[0]) if bias is None else bias


def _steps_of_rows(data: Tensor) -> Tensor:
    """Return the rows of each step, as `FullyConnected` takes them from the array of one step."""
    if data.dim() == 1:  # steps of one number each: a batch of 1
        return data.reshape(-1, 1, 1)
    return data.unsqueeze(-1) if data.dim() == 2 else data.flatten(2)


def _in_order(weight: Tensor, gates: tuple[int, ...]) -> Tensor:
    blocks = weight.chunk(len(gates))
    return torch.cat([blocks[gate] for gate in gates])


def _packed(weights: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return the weights as parts of one vector: cuDNN's kernels would make it themselves, and warn at every call.

    >>> parts = _packed((torch.ones(2, 3), torch.ones(2, 2), torch.zeros(2), torch.zeros(2)))
    >>> parts[1].shape, parts[1].data_ptr() - parts[0].data_ptr()  # 6 numbers of 4 bytes come before
    (torch.Size([2, 2]), 24)
    """
    vector = torch.cat([weight.flatten() for weight in weights])
    return unpack(vector, [tuple(weight.shape) for weight in weights], count=1)[0]


@joint_cells.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    rows, data = len(GATES[p.mode]) * p.state_size, shapes["data"]
    found: dict[str, Shape] = {
        "h2h_weight": (rows, p.state_size),
        "i2h_bias": (rows,),
        "h2h_bias": (rows,),
    }
    if data is not None:
        like = _steps_of_rows(torch.empty(data, device="meta")).shape
        found["i2h_weight"] = (rows, like[2])
        found["state"] = found["state_cell"] = (like[1], p.state_size)
    return {name: shape for name, shape in found.items() if name in shapes}


@operator("_stack_rows", count="num_args")
def stack_rows(*data: Tensor) -> Tensor:
    """The arrays of all steps as one: the rows that `FullyConnected` takes from each, along a new first axis.

    Not MXNet's: what feeds a `joint_cells` whose steps are arrays of their own.

    Shapes
    ------
    data : (N, ...), (N, ...), ...
    out : (T, N, C)    C = product of the trailing axes

    >>> stack_rows(torch.zeros(2, 3, 4), torch.zeros(2, 12)).shape
    torch.Size([2, 2, 12])
    """
    return torch.stack([as_rows(each) for each in data])
