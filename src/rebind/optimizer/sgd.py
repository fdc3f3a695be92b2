"""Stochastic gradient descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from torch import Tensor

from ..ops.update import rules
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
        settings: Any = {
            "lr": lr,
            "wd": wd,
            "rescale_grad": self.rescale_grad,
            "clip_gradient": self.clip_limit,
        }
        if states[0] is None:
            rules.sgd(weights, grads, **settings)
        else:
            buffers = [state[0] for state in states if state is not None]
            rules.sgd_momentum(weights, grads, buffers, momentum=self.momentum, **settings)
