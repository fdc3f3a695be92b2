"""Adam."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from torch import Tensor

from ..ops.update import rules
from .base import Optimizer, optimizers

__all__ = ["Adam"]


class Moments(NamedTuple):
    """Running means of a gradient and of its square."""

    mean: Tensor
    var: Tensor


@optimizers.register("adam")
@dataclass(kw_only=True, eq=False, repr=False)
class Adam(Optimizer[Moments]):
    """Adam (Kingma and Ba, 2015) with weight decay as a part of the gradient.

    The correction of the moments' bias is folded into the learning rate, so `epsilon` is added to the root of the
    uncorrected second moment (the paper's second form; torch.optim.Adam has the first). `clip_gradient` acts on
    the gradient with weight decay in it.

    Parameters
    ----------
    beta1, beta2
        How much of the running means goes on.
    epsilon
        Added to the denominator.
    lazy_update
        For sparse gradients: whether only their rows are updated. Dense ones are always updated whole.

    Examples
    --------
    >>> Adam().learning_rate
    0.001
    """

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    lazy_update: bool = True

    default_learning_rate: ClassVar[float | None] = 0.001
    state_type: ClassVar[type[tuple] | None] = Moments
    clips_decay: ClassVar[bool] = True

    def corrected_rate(self, lr: float, t: int) -> float:
        """Return the learning rate with the correction of the moments' bias in it."""
        return lr * math.sqrt(1 - self.beta2**t) / (1 - self.beta1**t)

    def step(
        self, weight: Tensor, grad: Tensor, state: Moments | None, *, lr: float, wd: float, t: int
    ) -> tuple[Tensor, Moments]:
        """Return the weight and the moments after an update."""
        assert state is not None
        beta1, beta2 = rules.single(self.beta1), rules.single(self.beta2)
        grad = grad + wd * weight
        mean = beta1 * state.mean + (1 - beta1) * grad
        var = beta2 * state.var + (1 - beta2) * grad.square()
        weight = weight - self.corrected_rate(lr, t) * mean / (var.sqrt() + self.epsilon)
        return weight, Moments(mean, var)

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
        """Update weights and moments in place; on the CPU in one pass, and one more to rescale the gradients."""
        means, variances = ([state[k] for state in states if state is not None] for k in (0, 1))
        rules.adam(
            weights,
            grads,
            means,
            variances,
            lr=self.corrected_rate(lr, t),
            wd=wd,
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
            rescale_grad=self.rescale_grad,
            clip_gradient=self.clip_limit,
        )
