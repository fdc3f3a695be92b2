"""Steps of one size, in the direction of a sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..ops import update as rules
from ..ops.update import lists
from .algorithm import UpdateScope
from .base import Group, ImplOf, optimizers
from .sgd import WithMomentum

__all__ = ["Signum"]


@optimizers.register("signum")
@dataclass(kw_only=True, eq=False, repr=False)
class Signum(WithMomentum):
    """The sign of the momentum, or of the gradient, times the learning rate (Bernstein and others, 2018).

    ``buffer = momentum * buffer - (1 - momentum) * (grad + wd * weight)``, ``weight = (1 - lr * wd_lh) * weight +
    lr * sign(buffer)``. Without momentum ``weight = (1 - lr * (wd + wd_lh)) * weight - lr * sign(grad)``. PyTorch
    has no such optimizer.

    Parameters
    ----------
    momentum
        The fraction of the running mean that remains at an update.
    wd_lh
        Weight decay beside the momentum. MXNet 1.9.1 fails with it where there is no momentum.

    Examples
    --------
    >>> Signum().momentum
    0.9
    """

    update_scope: ClassVar[UpdateScope] = "element"

    momentum: float = 0.9
    wd_lh: float = 0.0

    impl_of: ClassVar[ImplOf] = "update"

    def update_group(self, group: Group) -> None:
        """Update weights and buffers in place.

        >>> import torch
        >>> group = Group(
        ...     [0], [torch.ones(2)], [torch.tensor([0.1, -9.0])], [(torch.zeros(2),)], lr=0.25, wd=0.0, t=1
        ... )
        >>> Signum(momentum=0.5).update_group(group)
        >>> group.weights
        [tensor([0.7500, 1.2500])]
        """
        if self.momentum:
            rules.signum(*group.arrays, **group.settings, momentum=self.momentum, wd_lh=self.wd_lh)
        else:
            # Without a buffer, both decays act on the weight itself.
            decay = lists.each(lambda wd: wd + self.wd_lh, group.wd)
            rules.signsgd(group.weights, group.grads, lr=group.lr, wd=decay)
