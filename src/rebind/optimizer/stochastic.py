"""Optimizers that draw samples of the weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..draws import normal
from ..ops import update as rules
from .algorithm import UpdateScope
from .base import Group, Optimizer, optimizers

__all__ = ["SGLD"]


@optimizers.register("sgld")
@dataclass(kw_only=True, eq=False, repr=False)
class SGLD(Optimizer):
    """Langevin dynamics with stochastic gradients: it draws weights from their posterior (Welling and Teh, 2011).

    ``weight += sqrt(lr) * noise - lr / 2 * (grad + wd * weight)``, with normal noise of variance 1 from the generators
    that `random.seed` seeds. PyTorch has no such optimizer.

    Examples
    --------
    >>> SGLD(learning_rate=0.01).learning_rate
    0.01
    """

    update_scope: ClassVar[UpdateScope] = "element"

    draws: ClassVar[bool] = True

    def update_group(self, group: Group) -> None:
        """Update weights in place."""
        noise = [
            normal(weight.shape, source, dtype=weight.dtype, device=weight.device)
            for weight, source in zip(group.weights, group.sources, strict=True)
        ]
        rules.sgld(group.weights, group.grads, noise, **group.settings)
