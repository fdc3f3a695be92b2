"""The simplest optimizer, for tests of what is around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from .._torch import foreach
from ..ops.update import lists
from .algorithm import UpdateScope
from .base import Group, Optimizer, optimizers

__all__ = ["Test"]


class Copy(NamedTuple):
    """The weight."""

    weight: Tensor


@optimizers.register("test")
@dataclass(kw_only=True, eq=False, repr=False)
class Test(Optimizer[Copy]):
    """``weight += rescale_grad * grad``, and the state is a copy of the weight: for tests of stores and updaters.

    Examples
    --------
    >>> Test(rescale_grad=0.5).rescale_grad
    0.5
    """

    update_scope: ClassVar[UpdateScope] = "element"
    asked: ClassVar[tuple[str, ...]] = ()

    __test__: ClassVar[bool] = False  # pytest need not look for tests in here

    state_type: ClassVar[type[tuple] | None] = Copy

    def init_state(self, weight: Tensor) -> Copy:
        """Return zeros in float32, as MXNet does for every type.

        >>> Test().init_state(torch.ones(2))
        Copy(weight=tensor([0., 0.]))
        """
        return Copy(torch.zeros_like(weight, dtype=torch.float32))

    def update_group(self, group: Group) -> None:
        """Update weights and states in place.

        >>> group = Group(
        ...     [0], [torch.ones(1)], [torch.ones(1)], [(torch.zeros(1),)], 0.0, 0.0, 1, rescale_grad=0.5
        ... )
        >>> Test().update_group(group)
        >>> group.weights, group.states
        ([tensor([1.5000])], [(tensor([1.5000]),)])
        """
        weights, grads, copies = group.arrays
        # Up, not down: tests of stores want plain sums.
        lists.add_(weights, grads, group.rescale_grad)
        foreach.copy_(copies, weights)
