"""Stochastic gradient descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from .base import Optimizer, optimizers

__all__ = ["SGD"]


class Momentum(NamedTuple):
    """The last move of a weight, learning rate included."""

    buffer: Tensor


@optimizers.register("sgd")
@dataclass(kw_only=True, eq=False, repr=False)
class SGD(Optimizer[Momentum]):
    """Stochastic gradient descent, with momentum.

    ``buffer = momentum * buffer - lr * (grad + wd * weight)``, ``weight += buffer``. The learning rate is inside
    of the buffer, so a change of it acts on later gradients only (torch.optim.SGD has it outside).

    Parameters
    ----------
    momentum
        The part of the last move that goes on.
    lazy_update
        For sparse gradients: whether only their rows are updated. Dense ones are always updated whole.

    Examples
    --------
    >>> SGD(learning_rate=0.1, momentum=0.9, wd=1e-4).learning_rate
    0.1
    """

    momentum: float = 0.0
    lazy_update: bool = True

    aggregate_num: ClassVar[int] = 4
    state_type: ClassVar[type[tuple] | None] = Momentum
    master_first: ClassVar[bool] = False

    def init_state(self, weight: Tensor) -> Momentum | None:
        """Return a buffer of zeros; None without momentum."""
        return super().init_state(weight) if self.momentum else None

    def step(
        self, weight: Tensor, grad: Tensor, state: Momentum | None, *, lr: float, wd: float, t: int
    ) -> tuple[Tensor, Momentum | None]:
        """Return the weight and the buffer after an update."""
        move = -lr * (grad + wd * weight)
        if state is None:
            return weight + move, None
        move = self.momentum * state.buffer + move
        return weight + move, Momentum(move)

    def update_group(
        self,
        weights: list[Tensor],
        grads: list[Tensor],
        states: list[tuple[Tensor, ...] | None],
        *,
        lr: float,
        wd: float,
        t: int,
    ) -> None:
        """Update weights and buffers in place, in one to three passes over them."""
        scale = self.rescale_grad
        if self.clip_limit is not None:
            grads, wd = self.prepare_group(weights, grads, wd)
            scale = 1.0
        if states[0] is None:
            if wd:
                torch._foreach_mul_(weights, 1 - lr * wd)
            torch._foreach_add_(weights, grads, alpha=-lr * scale)
            return
        buffers = [state[0] for state in states if state is not None]
        if scale and can_fuse(weights, grads, buffers):
            # torch's kernel computes ``buffer = momentum * buffer + (1 - dampening) * (grad + decay * weight)`` and
            # ``weight -= rate * buffer`` in one pass; with a rate of -1 that is MXNet's form.
            torch._fused_sgd_(
                weights,
                grads,
                buffers,
                weight_decay=wd / scale,
                momentum=self.momentum,
                lr=-1.0,
                dampening=1 + lr * scale,
                nesterov=False,
                maximize=False,
                is_first_step=False,
            )
            return
        torch._foreach_mul_(buffers, self.momentum)
        torch._foreach_add_(buffers, grads, alpha=-lr * scale)
        if wd:
            torch._foreach_add_(buffers, weights, alpha=-lr * wd)
        torch._foreach_add_(weights, buffers)


def can_fuse(weights: list[Tensor], *others: list[Tensor]) -> bool:
    """Tell whether torch's fused kernel is there and safe; weights are of one type and device.

    On the CPU it checks nothing: it walks over each memory as over the weight's, whatever size, type or order the
    others have. On a GPU the foreach form is used, whose kernels join many arrays too.
    """
    if not hasattr(torch, "_fused_sgd_"):
        return False
    dtype = weights[0].dtype
    sizes = [each.numel() for each in weights]
    for group in (weights, *others):
        for each, size in zip(group, sizes, strict=True):
            if each.numel() != size or each.dtype is not dtype or not (each.is_cpu and each.is_contiguous()):
                return False
    return True
