"""Operators on sequences of different lengths in one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import torch
from torch import Tensor

from ..dtypes import number_in
from ..errors import ShapeError
from ..params import Between, Params
from ..shapes import Shape
from ._reading import can_read
from .declaration import Operator, Shapes, operator

__all__ = ["sequence_last", "sequence_mask", "sequence_reverse"]

TimeAxis = Annotated[int, Between(0, 1)]


def _no_lengths(name: str, p: Params) -> bool:
    return name == "sequence_length" and not p.use_sequence_length


def _steps(data: Tensor, lengths: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Return the numbers of the steps and the lengths, both shaped to be spread over the first two axes of data."""
    steps, lengths = torch.arange(data.shape[axis], device=data.device), lengths.long()
    return (steps, lengths.unsqueeze(1)) if axis else (steps.unsqueeze(1), lengths)


@operator("SequenceMask", skip=_no_lengths, types={"sequence_length": "any"})
def sequence_mask(
    data: Tensor,
    sequence_length: Tensor | None = None,
    *,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: TimeAxis = 0,
) -> Tensor:
    """Replace what lies beyond the end of each sequence by `value`.

    Parameters
    ----------
    use_sequence_length
        Take `sequence_length` as an input; without it nothing is replaced.
    value
        What replaces the padding.
    axis
        The axis of time, 0 or 1; the batch is on the other one.

    Shapes
    ------
    data, out : (T, N, ...)      with ``axis=1``: (N, T, ...)
    sequence_length : (N,)       absent without ``use_sequence_length``

    >>> steps = torch.tensor([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]])  # 3 steps of 2 sequences
    >>> sequence_mask(steps, torch.tensor([1, 3]), use_sequence_length=True)
    tensor([[1., 4.],
            [0., 5.],
            [0., 6.]])
    """
    if sequence_length is None or not use_sequence_length:
        return data
    steps, lengths = _steps(data, sequence_length, axis)
    # (T, N) or (N, T), as data has them.
    beyond = steps >= lengths
    fill = number_in(data.dtype, value)
    if data.dim() == 2:
        return data.masked_fill(beyond, fill)
    if can_read(data):
        # Whole rows at once, where it can be read which: several times as quick as a mask of all elements.
        rows = beyond.flatten().nonzero().squeeze(1)
        return data.flatten(0, 1).index_fill(0, rows, fill).reshape(data.shape)
    return data.masked_fill(beyond.view(*beyond.shape, *(1,) * (data.dim() - 2)), fill)


@operator("SequenceLast", skip=_no_lengths, types={"sequence_length": "any"})
def sequence_last(
    data: Tensor,
    sequence_length: Tensor | None = None,
    *,
    use_sequence_length: bool = False,
    axis: TimeAxis = 0,
) -> Tensor:
    """Take the last step of each sequence.

    Parameters
    ----------
    use_sequence_length
        Take `sequence_length` as an input; without it all sequences are of full length.
    axis
        The axis of time, 0 or 1; the batch is on the other one.

    Shapes
    ------
    data : (T, N, ...)           with ``axis=1``: (N, T, ...)
    sequence_length : (N,)       absent without ``use_sequence_length``; each 1 at least
    out : (N, ...)

    >>> steps = torch.tensor([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]])
    >>> sequence_last(steps, torch.tensor([1, 3]), use_sequence_length=True)
    tensor([1., 6.])
    """
    if sequence_length is None or not use_sequence_length:
        return data.select(axis, -1)
    # Lengths may be of any type; indices may not.
    last = sequence_length.long() - 1
    batch = torch.arange(data.shape[1 - axis], device=data.device)
    # One step for each sequence: (N, ...), whichever axis is that of time.
    # Advanced indices on both axes: pairs, not all combinations.
    return data[last, batch] if axis == 0 else data[batch, last]


@operator("SequenceReverse", skip=_no_lengths, types={"sequence_length": "any"})
def sequence_reverse(
    data: Tensor,
    sequence_length: Tensor | None = None,
    *,
    use_sequence_length: bool = False,
    axis: Annotated[int, Between(0, 0)] = 0,
) -> Tensor:
    """Turn the steps of each sequence around, leaving the padding where it is.

    Parameters
    ----------
    use_sequence_length
        Take `sequence_length` as an input; without it all sequences are of full length.
    axis
        The axis of time: 0.

    Shapes
    ------
    data, out : (T, N, ...)
    sequence_length : (N,)       absent without ``use_sequence_length``

    >>> steps = torch.tensor([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]])
    >>> sequence_reverse(steps, torch.tensor([2, 3]), use_sequence_length=True)
    tensor([[2., 6.],
            [1., 5.],
            [3., 4.]])
    """
    if sequence_length is None or not use_sequence_length:
        return data.flip(0)
    steps, lengths = _steps(data, sequence_length, 0)
    # Step s of a sequence of length n comes from n - 1 - s; padding from itself.
    source = torch.where(steps < lengths, lengths - 1 - steps, steps)
    return data[source, torch.arange(data.shape[1], device=data.device)]


def _declare_shapes(op: Operator, keeps_shape: bool) -> None:
    @op.fill_shapes
    def _(shapes: Shapes, p: Params) -> Shapes:
        data = shapes["data"]
        if data is None:
            return {}
        if len(data) < 2:
            raise ShapeError(f"data must have 2 axes or more, time and batch first; got shape {data}")
        return {"sequence_length": (data[1 - p.axis],)} if p.use_sequence_length else {}

    @op.shapes_from_outputs
    def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
        if keeps_shape:
            return {"data": outputs[0]}
        data, out = shapes["data"], outputs[0]
        if data is None or out is None:
            return {}
        # How many steps there were does not follow from the last ones.
        return {"data": (*out[: p.axis], data[p.axis], *out[p.axis :])}


_declare_shapes(sequence_mask, True)
_declare_shapes(sequence_reverse, True)
_declare_shapes(sequence_last, False)
