"""Loops and branches over graphs: the functions that run them, on tensors.

A body is a function from tensors to its outputs and the new values of its auxiliary states; the parameters ``..._locs``
map inputs of the operator to inputs of the body, as in MXNet's files. The front ends are ``contrib.foreach``,
``contrib.while_loop`` and ``contrib.cond`` of `nd` and `sym`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, TypeAlias

import torch
from torch import Tensor

from ..errors import ArgumentError, ShapeError
from ..params import AtLeast, Params
from ._types import Indices
from .declaration import operator

__all__ = ["RUNNERS", "BodyFunction", "run_cond", "run_foreach", "run_while_loop"]

#: From inputs to outputs, and the new values of auxiliary states by the index of their input.
BodyFunction: TypeAlias = Callable[..., tuple[Sequence[Tensor], dict[int, Tensor]]]
Results: TypeAlias = tuple[list[Tensor], dict[int, Tensor]]


def _outputs(p: Params) -> tuple[str, ...]:
    return ("output",) if p.num_outputs == 1 else tuple(f"output{i}" for i in range(p.num_outputs))


@operator("_foreach", count="num_args", outputs=_outputs, listed={"fn": "Symbol"})
def _foreach(
    *data: Tensor,
    num_outputs: Annotated[int, AtLeast(0)],
    num_out_data: Annotated[int, AtLeast(0)],
    in_state_locs: Indices,
    in_data_locs: Indices,
    remain_locs: Indices,
) -> Tensor:
    """Run a body on each slice of arrays; made by ``sym.contrib.foreach``."""
    raise _needs_graphs("foreach")


@operator("_while_loop", count="num_args", outputs=_outputs, listed={"cond": "Symbol", "func": "Symbol"})
def _while_loop(
    *data: Tensor,
    num_outputs: Annotated[int, AtLeast(0)],
    num_out_data: Annotated[int, AtLeast(0)],
    max_iterations: Annotated[int, AtLeast(1)],
    cond_input_locs: Indices,
    func_input_locs: Indices,
    func_var_locs: Indices,
) -> Tensor:
    """Run a body as long as a condition holds; made by ``sym.contrib.while_loop``."""
    raise _needs_graphs("while_loop")


@operator(
    "_cond",
    count="num_args",
    outputs=_outputs,
    listed={"cond": "Symbol", "then_branch": "Symbol", "else_branch": "Symbol"},
)
def _cond(
    *data: Tensor,
    num_outputs: Annotated[int, AtLeast(0)],
    cond_input_locs: Indices,
    then_input_locs: Indices,
    else_input_locs: Indices,
) -> Tensor:
    """Run one of two bodies; made by ``sym.contrib.cond``."""
    raise _needs_graphs("cond")


def _needs_graphs(name: str) -> Exception:
    return ArgumentError(
        f"cannot be called with arrays only, as it needs the graphs of its functions. "
        f"Call nd.contrib.{name} or sym.contrib.{name}."
    )


def run_foreach(bodies: Sequence[BodyFunction], inputs: Sequence[Tensor], p: Params) -> Results:
    """Run the body on each slice along axis 0; the states of a step are inputs of the next.

    >>> p = Params(in_data_locs=(0,), in_state_locs=(1,), remain_locs=(), num_out_data=1)
    >>> def add(slice, total):
    ...     return [total + slice, total + slice], {}
    >>> (sums, last), _ = run_foreach([add], [torch.tensor([1, 2, 3]), torch.tensor([0])], p)
    >>> sums, last
    (tensor([[1],
            [3],
            [6]]), tensor([6]))
    """
    (body,) = bodies
    counts = {tensor.shape[0] for tensor in inputs[: len(p.in_data_locs)]}
    if len(counts) != 1 or 0 in counts:
        raise ShapeError(f"all data must have the same size along axis 0, at least 1; got {sorted(counts)}")
    count = len(p.in_data_locs)
    indices = (*p.in_data_locs, *p.in_state_locs, *p.remain_locs)
    # In the order of the body's inputs, of which `indices` is a permutation.
    values = [tensor for _, tensor in sorted(zip(indices, inputs, strict=True), key=lambda pair: pair[0])]
    outputs: list[list[Tensor]] = [[] for _ in range(p.num_out_data)]
    states: dict[int, Tensor] = {}
    for slices in zip(*map(_slices, inputs[:count]), strict=True):
        for index, tensor in zip(p.in_data_locs, slices, strict=True):
            values[index] = tensor
        found, new_aux = body(*values)
        # A body returns its outputs, then the new states: `zip` stops before these.
        for steps, value in zip(outputs, found, strict=False):
            steps.append(value)
        for index, value in zip(p.in_state_locs, found[p.num_out_data :], strict=True):
            values[index] = value
        for index, value in new_aux.items():
            values[index] = value
            # In a body, indices are those of its inputs; the caller knows the inputs of the operator.
            states[indices.index(index)] = value
    # The states after the last step are outputs too.
    last = [values[index] for index in p.in_state_locs]
    return [*(torch.stack(steps) for steps in outputs), *last], states


def _slices(tensor: Tensor) -> Sequence[Tensor]:
    # One number is an array of one axis, as it is between brackets.
    return tensor.unbind(0) if tensor.ndim > 1 else tensor.split(1)


def run_while_loop(bodies: Sequence[BodyFunction], inputs: Sequence[Tensor], p: Params) -> Results:
    """Run the second body while the first gives a number other than 0, at most ``max_iterations`` times.

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
    variables = [p.func_input_locs[index] for index in p.func_var_locs]
    outputs: list[list[Tensor]] = [[] for _ in range(p.num_out_data)]
    states: dict[int, Tensor] = {}
    count = 0
    while count < p.max_iterations:
        (holds,), _ = condition(*(values[index] for index in p.cond_input_locs))
        # Reading the condition waits for the device; a loop of unknown length has no other way.
        if not _truth(holds):
            break
        found, new_aux = step(*(values[index] for index in p.func_input_locs))
        for steps, value in zip(outputs, found, strict=False):
            steps.append(value)
        for index, value in zip(variables, found[p.num_out_data :], strict=True):
            values[index] = value
        for index, value in new_aux.items():
            values[p.func_input_locs[index]] = states[p.func_input_locs[index]] = value
        count += 1
    last = [values[index] for index in variables]
    if not count and outputs:  # the outputs' shapes are those of a step that does not count
        with torch.no_grad():
            found, _ = step(*(values[index] for index in p.func_input_locs))
        return [*(v.new_zeros((p.max_iterations, *v.shape)) for v in found[: p.num_out_data]), *last], states
    # As many steps as were taken; MXNet's output always has `max_iterations`.
    stacked = [torch.stack(steps) for steps in outputs]
    if count < p.max_iterations:
        stacked = [torch.cat([v, v.new_zeros((p.max_iterations - count, *v.shape[1:]))]) for v in stacked]
    return [*stacked, *last], states


def run_cond(bodies: Sequence[BodyFunction], inputs: Sequence[Tensor], p: Params) -> Results:
    """Run the second body when the first gives a number other than 0, else the third.

    >>> p = Params(cond_input_locs=(0,), then_input_locs=(0,), else_input_locs=(0,))
    >>> positive, same, negated = (lambda x: ([x > 0], {})), (lambda x: ([x], {})), (lambda x: ([-x], {}))
    >>> run_cond([positive, same, negated], [torch.tensor(-2)], p)
    ([tensor(2)], {})
    """
    condition, then, otherwise = bodies
    (holds,), _ = condition(*(inputs[index] for index in p.cond_input_locs))
    # Only the branch that is taken runs, so only it gets a gradient.
    branch, indices = (then, p.then_input_locs) if _truth(holds) else (otherwise, p.else_input_locs)
    found, new_aux = branch(*(inputs[index] for index in indices))
    return list(found), {indices[index]: value for index, value in new_aux.items()}


def _truth(value: Tensor) -> bool:
    if value.numel() != 1:
        raise ShapeError(f"the condition must have exactly one element; got shape {tuple(value.shape)}")
    return bool(value)


RUNNERS: dict[str, Callable[[Sequence[BodyFunction], Sequence[Tensor], Params], Results]] = {
    "_foreach": run_foreach,
    "_while_loop": run_while_loop,
    "_cond": run_cond,
}
