"""Loops and branches over methods of the network."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["cond", "foreach", "while_loop"]


def foreach(
    body: Callable[..., tuple[Tensor, ...]],
    inputs: tuple[Tensor, ...],
    slices: int,
    states: int,
) -> tuple[Tensor, ...]:
    """Call a body with each slice of the first inputs; the next ones are its states."""
    data, state = inputs[:slices], inputs[slices : slices + states]
    steps = []
    for i in range(data[0].shape[0]):
        here = [x[i] if x.ndim > 1 else x[i : i + 1] for x in data]
        results = body(*here, *state, *inputs[slices + states :])
        steps.append(results[: len(results) - states])
        state = results[len(results) - states :]
    return *(torch.stack(step) for step in zip(*steps, strict=True)), *state


def while_loop(
    condition: Callable[..., tuple[Tensor, ...]],
    body: Callable[..., tuple[Tensor, ...]],
    inputs: tuple[Tensor, ...],
    states: tuple[int, ...],
    max_iterations: int,
) -> tuple[Tensor, ...]:
    """Call a body while a condition holds; what it gives is filled up with zeros.

    How often depends on numbers: `torch.export` and `torch.jit.trace` do not take it.
    """
    values = list(inputs)
    steps: list[tuple[Tensor, ...]] = []
    while len(steps) < max_iterations and bool(condition(*values)[0]):
        results = body(*values)
        steps.append(results[: len(results) - len(states)])
        for i, value in zip(states, results[len(results) - len(states) :], strict=True):
            values[i] = value
    if not steps:  # a step that does not count has the shapes
        results = body(*values)
        steps.append(
            tuple(map(torch.zeros_like, results[: len(results) - len(states)]))
        )
    outputs = []
    for step in zip(*steps, strict=True):
        x = torch.stack(step)
        zeros = x.new_zeros(max_iterations - len(step), *x.shape[1:])
        outputs.append(torch.cat([x, zeros]))
    return *outputs, *(values[i] for i in states)


def cond(
    condition: Callable[..., tuple[Tensor, ...]],
    then_branch: Callable[..., tuple[Tensor, ...]],
    else_branch: Callable[..., tuple[Tensor, ...]],
    inputs: tuple[Tensor, ...],
) -> tuple[Tensor, ...]:
    """Call one of two branches."""
    holds = condition(*inputs)[0].reshape(()) != 0
    if torch.compiler.is_compiling():  # results must be arrays of their own there

        def then_copy(*values: Tensor) -> tuple[Tensor, ...]:
            return tuple(x.clone() for x in then_branch(*values))

        def else_copy(*values: Tensor) -> tuple[Tensor, ...]:
            return tuple(x.clone() for x in else_branch(*values))

        return torch.cond(holds, then_copy, else_copy, inputs)
    return then_branch(*inputs) if bool(holds) else else_branch(*inputs)
