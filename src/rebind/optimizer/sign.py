"""Steps of one size, in the direction of a sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from ..ops.update import rules
from .base import Group, Optimizer, optimizers
from .sgd import Momentum

__all__ = ["Signum"]


@optimizers.register("signum")
@dataclass(kw_only=True, eq=False, repr=False)
class Signum(Optimizer[Momentum]):
    """The sign of the momentum, or of the gradient, times the learning rate (Bernstein and others, 2018).

    ``buffer = momentum * buffer - (1 - momentum) * (grad + wd * weight)``, ``weight = (1 - lr * wd_lh) * weight +
    lr * sign(buffer)``. Without momentum ``weight = (1 - lr * (wd + wd_lh)) * weight - lr * sign(grad)``. PyTorch
    has no such optimizer.

    Parameters
    ----------
    momentum
        The part of the running mean that goes on.
    wd_lh
        Weight decay beside the momentum. MXNet 1.9.1 fails with it where there is no momentum.

    Examples
    --------
    >>> Signum().momentum
    0.9
    """

    momentum: float = 0.9
    wd_lh: float = 0.0

    state_type: ClassVar[type[tuple] | None] = Momentum

    def init_state(self, weight: Tensor) -> Momentum | None:
        """Return a buffer of zeros; None without momentum."""
        return super().init_state(weight) if self.momentum else None

    def update_group(self, group: Group) -> None:
        """Update weights and buffers in place."""
        if self.momentum:
            rules.signum(
                *group.arrays,
                lr=group.lr,
                wd=group.wd,
                momentum=self.momentum,
                wd_lh=self.wd_lh,
                **self.scaling,
            )
        else:
            rules.signsgd(group.weights, group.grads, lr=group.lr, wd=group.wd + self.wd_lh)
