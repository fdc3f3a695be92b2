"""Loops whose length depends on numbers."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["repeat_while"]


def repeat_while(
    go_on: Callable[..., Tensor],
    step: Callable[..., tuple[Tensor, ...]],
    state: tuple[Tensor, ...],
    most: int | None = None,
) -> tuple[Tensor, ...]:
    """Repeat a step while a condition holds, `most` times at most; return the last state.

    Steps after that change nothing: `torch.jit.trace`, which has no loops that depend on
    numbers, runs them all.
    """
    if torch.compiler.is_compiling():
        return torch.while_loop(go_on, step, state)
    if torch.jit.is_tracing():
        if most is None:
            raise RuntimeError(
                "torch.jit.trace cannot record a loop without a maximum number of steps"
            )
        for _ in range(most):
            state = step(*state)
    else:
        while go_on(*state):
            state = step(*state)
    return state
