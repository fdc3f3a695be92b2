"""Loops and branches over parts of a graph: what runs them, on tensors.

A part is a function from tensors to its outputs and the new values of its auxiliary states; which inputs of the whole
go where is said by the parameters ``..._locs``, as in MXNet's files. The front ends are ``contrib.foreach``,
``contrib.while_loop`` and ``contrib.cond`` of `nd` and `sym`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias

import torch
from torch import Tensor

from ..errors import ArgumentError, ShapeError
from ..params import AtLeast, Params
from .spec import operator

__all__ = ["RUNNERS", "Body", "run_cond", "run_foreach", "run_while_loop"]

#: From the inputs of a part to its outputs, and the new values of auxiliary states by the number of their input.
Body: TypeAlias = Callable[..., tuple[Sequence[Tensor], dict[int, Tensor]]]
Results: TypeAlias = tuple[list[Tensor], dict[int, Tensor]]


def _outputs(p: Params) -> tuple[str, ...]:
    return ("output",) if p.num_outputs == 1 else tuple(f"output{i}" for i in range(p.num_outputs))


_Places: TypeAlias = tuple[Annotated[int, AtLeast(0)], ...]


@operator("_foreach", count="num_args", outputs=_outputs)
def _foreach(
    *data: Tensor,
    num_outputs: Annotated[int, AtLeast(0)],
    num_out_data: Annotated[int, AtLeast(0)],
    in_state_locs: _Places,
    in_data_locs: _Places,
    remain_locs: _Places,
) -> Tensor:
    """Run a part of a graph on each slice of arrays; made by ``sym.contrib.foreach``."""
    raise _needs_parts("foreach")


@operator("_while_loop", count="num_args", outputs=_outputs)
def _while_loop(
    *data: Tensor,
    num_outputs: Annotated[int, AtLeast(0)],
    num_out_data: Annotated[int, AtLeast(0)],
    max_iterations: Annotated[int, AtLeast(1)],
    cond_input_locs: _Places,
    func_input_locs: _Places,
    func_var_locs: _Places,
) -> Tensor:
    """Run a part of a graph as long as a condition holds; made by ``sym.contrib.while_loop``."""
    raise _needs_parts("while_loop")


@operator("_cond", count="num_args", outputs=_outputs)
def _cond(
    *data: Tensor,
    num_outputs: Annotated[int, AtLeast(0)],
    cond_input_locs: _Places,
    then_input_locs: _Places,
    else_input_locs: _Places,
) -> Tensor:
    """Run one of two parts of a graph; made by ``sym.contrib.cond``."""
    raise _needs_parts("cond")


def _needs_parts(name: str) -> Exception:
    return ArgumentError(
        f"_{name}: takes parts of a graph, not arrays alone; call nd.contrib.{name} or sym.contrib.{name}"
    )


def run_foreach(bodies: Sequence[Body], inputs: Sequence[Tensor], p: Params) -> Results:
    """Run the part on each slice along axis 0; states go from one step to the next.

    >>> p = Params(in_data_locs=(0,), in_state_locs=(1,), remain_locs=(), num_out_data=1)
    >>> def add(slice, total):
    ...     return [total + slice, total + slice], {}
    >>> (sums, last), _ = run_foreach([add], [torch.tensor([1, 2, 3]), torch.tensor(0)], p)
    >>> sums, last
    (tensor([1, 3, 6]), tensor(6))
    """
    (body,) = bodies
    counts = {tensor.shape[0] for tensor in inputs[: len(p.in_data_locs)]}
    if len(counts) != 1 or 0 in counts:
        raise ShapeError(f"all data must have one number of slices, at least 1, along axis 0; got {counts}")
    count = len(p.in_data_locs)
    values: list[Any] = [None] * (count + len(p.in_state_locs) + len(p.remain_locs))
    places = (*p.in_data_locs, *p.in_state_locs, *p.remain_locs)
    for place, tensor in zip(places, inputs, strict=True):
        values[place] = tensor
    outputs: list[list[Tensor]] = [[] for _ in range(p.num_out_data)]
    states: dict[int, Tensor] = {}
    for slices in zip(*(tensor.unbind(0) for tensor in inputs[:count]), strict=True):
        for place, tensor in zip(p.in_data_locs, slices, strict=True):
            values[place] = tensor
        found, moved = body(*values)
        for steps, value in zip(outputs, found, strict=False):
            steps.append(value)
        for place, value in zip(p.in_state_locs, found[p.num_out_data :], strict=True):
            values[place] = value
        for place, value in moved.items():
            values[place] = value
            states[places.index(place)] = value
    last = [values[place] for place in p.in_state_locs]
    return [*(torch.stack(steps) for steps in outputs), *last], states


def run_while_loop(bodies: Sequence[Body], inputs: Sequence[Tensor], p: Params) -> Results:
    """Run the second part while the first gives a number other than 0, at most ``max_iterations`` times.

    The outputs of all steps are stacked and filled up with zeros to ``max_iterations``.

    >>> p = Params(
    ...     cond_input_locs=(0,), func_input_locs=(0,), func_var_locs=(0,), num_out_data=1, max_iterations=4
    ... )
    >>> below_3 = lambda count: ([count < 3], {})
    >>> step = lambda count: ([count, count + 1], {})
    >>> (counts, last), _ = run_while_loop([below_3, step], [torch.tensor(0)], p)
    >>> counts, last
    (tensor([0, 1, 2, 0]), tensor(3))
    """
    condition, step = bodies
    values = list(inputs)
    variables = [p.func_input_locs[place] for place in p.func_var_locs]
    outputs: list[list[Tensor]] = [[] for _ in range(p.num_out_data)]
    states: dict[int, Tensor] = {}
    count = 0
    while count < p.max_iterations:
        (holds,), _ = condition(*(values[place] for place in p.cond_input_locs))
        if not _truth(holds):
            break
        found, moved = step(*(values[place] for place in p.func_input_locs))
        for steps, value in zip(outputs, found, strict=False):
            steps.append(value)
        for place, value in zip(variables, found[p.num_out_data :], strict=True):
            values[place] = value
        for place, value in moved.items():
            values[p.func_input_locs[place]] = states[p.func_input_locs[place]] = value
        count += 1
    last = [values[place] for place in variables]
    if not count and outputs:  # the outputs' shapes are those of a step that does not count
        with torch.no_grad():
            found, _ = step(*(values[place] for place in p.func_input_locs))
        return [*(v.new_zeros((p.max_iterations, *v.shape)) for v in found[: p.num_out_data]), *last], states
    stacked = [torch.stack(steps) for steps in outputs]
    if count < p.max_iterations:
        stacked = [torch.cat([v, v.new_zeros((p.max_iterations - count, *v.shape[1:]))]) for v in stacked]
    return [*stacked, *last], states


def run_cond(bodies: Sequence[Body], inputs: Sequence[Tensor], p: Params) -> Results:
    """Run the second part when the first gives a number other than 0, else the third.

    >>> p = Params(cond_input_locs=(0,), then_input_locs=(0,), else_input_locs=(0,))
    >>> positive, same, negated = (lambda x: ([x > 0], {})), (lambda x: ([x], {})), (lambda x: ([-x], {}))
    >>> run_cond([positive, same, negated], [torch.tensor(-2)], p)
    ([tensor(2)], {})
    """
    condition, then, otherwise = bodies
    (holds,), _ = condition(*(inputs[place] for place in p.cond_input_locs))
    branch, places = (then, p.then_input_locs) if _truth(holds) else (otherwise, p.else_input_locs)
    found, moved = branch(*(inputs[place] for place in places))
    return list(found), {places[place]: value for place, value in moved.items()}


def _truth(value: Tensor) -> bool:
    if value.numel() != 1:
        raise ShapeError(f"the condition must be one number; got shape {tuple(value.shape)}")
    return bool(value)


RUNNERS: dict[str, Callable[[Sequence[Body], Sequence[Tensor], Params], Results]] = {
    "_foreach": run_foreach,
    "_while_loop": run_while_loop,
    "_cond": run_cond,
}
