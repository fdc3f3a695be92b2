"""Adam."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from .base import Optimizer, optimizers
from .sgd import can_fuse

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

    @property
    def single_betas(self) -> tuple[float, float]:
        """The betas in single precision.

        MXNet's kernel holds them so. ``1 - 0.999`` then differs by one part in 100,000, and so would the moments.
        """
        return float(np.float32(self.beta1)), float(np.float32(self.beta2))

    def step(
        self, weight: Tensor, grad: Tensor, state: Moments | None, *, lr: float, wd: float, t: int
    ) -> tuple[Tensor, Moments]:
        """Return the weight and the moments after an update."""
        assert state is not None
        beta1, beta2 = self.single_betas
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
        grads, wd = self.prepare_group(weights, grads, wd)
        means, variances = ([state[k] for state in states if state is not None] for k in (0, 1))
        rate = self.corrected_rate(lr, t)
        beta1, beta2 = self.single_betas
        if beta1 < 1 and beta2 < 1 and can_fuse(weights, grads, means, variances):
            # At an infinite number of steps torch's own correction is none, and ours is in the rate.
            steps = [torch.tensor(math.inf)] * len(weights)
            torch._fused_adam_(
                weights,
                grads,
                means,
                variances,
                [],
                steps,
                lr=rate,
                beta1=beta1,
                beta2=beta2,
                weight_decay=wd,
                eps=self.epsilon,
                amsgrad=False,
                maximize=False,
            )
            return
        if wd:
            grads = list(torch._foreach_add(grads, weights, alpha=wd))
        torch._foreach_mul_(means, beta1)
        torch._foreach_add_(means, grads, alpha=1 - beta1)
        torch._foreach_mul_(variances, beta2)
        torch._foreach_addcmul_(variances, grads, grads, 1 - beta2)
        roots = torch._foreach_sqrt(variances)
        torch._foreach_add_(roots, self.epsilon)
        torch._foreach_addcdiv_(weights, means, roots, -rate)
