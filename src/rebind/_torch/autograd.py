"""Switches of autograd, and its engine."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor

from .private import private

__all__ = ["inference_mode", "run_engine", "set_grad_enabled"]


def _switches(switch: Any) -> bool:
    before = torch.is_grad_enabled()
    switch(not before)
    after = torch.is_grad_enabled()
    switch(before)
    return after is not before


@private(
    "torch._C._set_grad_enabled",
    "torch.set_grad_enabled is a class whose construction costs more than the switch",
    _switches,
)
def set_grad_enabled(enabled: bool) -> None:
    """Record gradients in this thread, or do not."""
    torch.set_grad_enabled(enabled)


def _enters(mode: Any) -> bool:
    with mode(True):
        inside = torch.is_inference_mode_enabled()
    return inside and not torch.is_inference_mode_enabled()


@private("torch._C._InferenceMode", "torch.inference_mode is written in Python", _enters)
def inference_mode(enabled: bool = True) -> AbstractContextManager[object]:
    """Return what puts a ``with`` block into inference mode, or out of it."""
    return torch.inference_mode(enabled)


@private(
    "torch.autograd.Variable._execution_engine.run_backward",
    "the checks of torch.autograd.backward are 10 us a step, a tenth of a small backward",
    take=lambda run: (
        lambda roots, gradients: run(
            tuple(roots), tuple(gradients), False, False, (), allow_unreachable=True, accumulate_grad=True
        )
    ),
)
def run_engine(roots: Sequence[Tensor], gradients: Sequence[Tensor]) -> None:
    """Add gradients to those of the leaves, as `torch.autograd.backward` does, for roots on the CPU."""
    torch.autograd.backward(roots, gradients)
