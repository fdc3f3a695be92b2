"""Updates of all weights in one pass over memory, as PyTorch's optimizers do them with ``fused=True``."""

from __future__ import annotations

from typing import Any

import torch

from .private import optional

__all__ = ["ARE_THERE", "adam_", "adamw_", "sgd_"]

_REASON = "one pass over weights, gradients and states: several times as fast as a pass for each term"


def _moves(kernel: Any) -> bool:
    """Whether the rule of Adam moves a weight against its gradient."""
    weight, grad, mean, square, count = (torch.full((1,), each) for each in (1.0, 1.0, 0.0, 0.0, 1.0))
    kernel(
        [weight], [grad], [mean], [square], [], [count], amsgrad=False, lr=0.5, beta1=0.5, beta2=0.5,
        weight_decay=0.0, eps=0.0, maximize=False,
    )  # fmt: skip
    return bool((weight - 0.5).abs() < 1e-6)


def _descends(kernel: Any) -> bool:
    weight, grad, momentum = (torch.full((1,), each) for each in (1.0, 1.0, 2.0))
    kernel(
        [weight], [grad], [momentum], weight_decay=0.0, momentum=0.5, lr=0.25, dampening=0.0,
        nesterov=False, maximize=False, is_first_step=False,
    )  # fmt: skip
    return weight.item() == 0.5 and momentum.item() == 2.0


sgd_: Any = optional("torch._fused_sgd_", _REASON, _descends)
adam_: Any = optional("torch._fused_adam_", _REASON, _moves)
adamw_: Any = optional("torch._fused_adamw_", _REASON, _moves)

#: Whether they are there, and on the CPU too.
ARE_THERE = None not in (sgd_, adam_, adamw_)
