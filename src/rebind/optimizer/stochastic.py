"""Optimizers that draw samples of the weights."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ..device import Device
from ..generators import generator
from ..ops.update import rules
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

    def update_group(self, group: Group) -> None:
        """Update weights in place."""
        place = group.weights[0].device
        source = generator(Device("gpu", place.index) if place.type == "cuda" else Device("cpu"))
        noise = [torch.empty_like(each).normal_(generator=source) for each in group.weights]
        rules.sgld(group.weights, group.grads, noise, lr=group.lr, wd=group.wd, **self.scaling)
