"""Adam and its family."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from torch import Tensor

from ..ops.update import rules
from .base import Group, Optimizer, optimizers

__all__ = ["Adam", "AdamW", "Adamax", "Nadam"]


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

    def corrected_rate(self, lr: float, t: int) -> float:
        """Return the learning rate with the correction of the moments' bias in it."""
        return lr * math.sqrt(1 - self.beta2**t) / (1 - self.beta1**t)

    def update_group(self, group: Group) -> None:
        """Update weights and moments in place; on the CPU in one pass, and one more to rescale the gradients."""
        rules.adam(
            *group.arrays,
            lr=self.corrected_rate(group.lr, group.t),
            wd=group.wd,
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
            **self.scaling,
        )


@optimizers.register("adamw")
@dataclass(kw_only=True, eq=False, repr=False)
class AdamW(Optimizer[Moments]):
    """Adam whose weight decay is no part of the gradient (Loshchilov and Hutter, 2019); MXNet 1.9.1 has none.

    ``weight = (1 - lr * wd) * weight - lr * m / (sqrt(v) + epsilon)``, with the running means ``m`` of the gradient and
    ``v`` of its square, both corrected for their start at 0: what torch.optim.AdamW computes. As for all optimizers,
    decay acts on names that end in ``_weight`` or ``_gamma`` unless a multiplier says otherwise.

    Parameters
    ----------
    beta1, beta2
        How much of the running means goes on.
    epsilon
        Added to the denominator.
    correct_bias
        Whether the running means are corrected for their start at 0.

    Examples
    --------
    >>> AdamW(wd=0.01).learning_rate
    0.001
    """

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    correct_bias: bool = True

    default_learning_rate: ClassVar[float | None] = 0.001
    state_type: ClassVar[type[tuple] | None] = Moments

    def update_group(self, group: Group) -> None:
        """Update weights and moments in place."""
        # With the corrections in rate and epsilon, the moments need not be copied for them.
        scale = math.sqrt(1 - self.beta2**group.t) if self.correct_bias else 1.0
        start = 1 - self.beta1**group.t if self.correct_bias else 1.0
        rules.adamw(
            *group.arrays,
            lr=group.lr * scale / start,
            wd=group.lr * group.wd,
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon * scale,
            **self.scaling,
        )


class Largest(NamedTuple):
    """Running mean of a gradient, and the largest of its sizes, which fades."""

    mean: Tensor
    largest: Tensor


@optimizers.register("adamax")
@dataclass(kw_only=True, eq=False, repr=False)
class Adamax(Optimizer[Largest]):
    """Adam with the infinity norm in place of the second moment (Kingma and Ba, 2015, section 7).

    With ``g = clip(grad + wd * weight)``: ``m = beta1 * m + (1 - beta1) * g``, ``u = max(beta2 * u, |g|)``,
    ``weight -= lr / (1 - beta1 ** t) * m / u``. An element that had no gradient yet stays (MXNet divides 0 by 0;
    torch.optim.Adamax adds an epsilon).

    Parameters
    ----------
    beta1, beta2
        How much of the mean and of the largest goes on.

    Examples
    --------
    >>> Adamax().learning_rate
    0.002
    """

    beta1: float = 0.9
    beta2: float = 0.999

    default_learning_rate: ClassVar[float | None] = 0.002
    state_type: ClassVar[type[tuple] | None] = Largest

    def update_group(self, group: Group) -> None:
        """Update weights and states in place."""
        rules.adamax(
            *group.arrays,
            lr=group.lr / (1 - self.beta1**group.t),
            wd=group.wd,
            beta1=self.beta1,
            beta2=self.beta2,
            **self.scaling,
        )


@optimizers.register("nadam")
@dataclass(kw_only=True, eq=False, repr=False)
class Nadam(Optimizer[Moments]):
    """Adam with Nesterov's look ahead, and a share of the mean that grows (Dozat, 2016).

    At update ``i`` the share is ``mu(i) = beta1 * (1 - 0.5 * 0.96 ** (i * schedule_decay))``. With ``g =
    clip(grad + wd * weight)``, running means ``m`` and ``v`` as in `Adam`, and ``p(t)`` the product of ``mu(1)``
    to ``mu(t)``: ``weight -= lr * ((1 - mu(t)) / (1 - p(t)) * g + mu(t + 1) / (1 - p(t + 1)) * m) / (sqrt(v / (1
    - beta2 ** t)) + epsilon)``.

    torch.optim.NAdam is the same with a `momentum_decay` of 0.004. MXNet 1.9.1 multiplies the product anew for each
    weight, so that what one weight does depends on how many others there are.

    Parameters
    ----------
    beta1, beta2
        How much of the running means goes on.
    epsilon
        Added to the denominator.
    schedule_decay
        How quickly the share grows.

    Examples
    --------
    >>> Nadam().schedule_decay
    0.004
    """

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    schedule_decay: float = 0.004

    default_learning_rate: ClassVar[float | None] = 0.001
    state_type: ClassVar[type[tuple] | None] = Moments

    def __post_init__(self, param_idx2name: Any, learning_rate: Any, sym: Any) -> None:
        super().__post_init__(param_idx2name, learning_rate, sym)
        #: The product of the shares up to the last update.
        self.m_schedule = 1.0
        self._progress = (0, 1.0)  # an update, and the product up to it; MXNet's m_schedule alone is no guide

    def share(self, t: int) -> float:
        """Return how much of the mean counts at an update."""
        return self.beta1 * (1 - 0.5 * 0.96 ** (t * self.schedule_decay))

    def product(self, t: int) -> float:
        """Return the product of the shares up to an update."""
        done, product = self._progress if self._progress[0] <= t else (0, 1.0)
        for i in range(done + 1, t + 1):
            product *= self.share(i)
            if product < 1e-30:  # 1 less it is 1, and stays so
                break
        self._progress = (t, product)
        self.m_schedule = product
        return product

    def update_group(self, group: Group) -> None:
        """Update weights and moments in place."""
        rules.nadam(
            *group.arrays,
            lr=group.lr,
            wd=group.wd,
            share=self.share(group.t),
            next_share=self.share(group.t + 1),
            product=self.product(group.t),
            t=group.t,
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
            **self.scaling,
        )
