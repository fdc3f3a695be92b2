"""Optimizers that follow the leader: the weight that would have been best so far."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, cast

from torch import Tensor

from ..ops import update as rules
from ..ops.update import lists
from ..ops.update.wrappers import select
from .algorithm import UpdateScope
from .base import Group, Optimizer, optimizers

__all__ = ["FTML", "Ftrl"]


def _where_rate(group: Group, rule: Callable[..., None]) -> None:
    """Apply a rule that divides by the learning rate, where that is not 0."""
    if lists.is_number(group.lr):
        if group.lr:
            rule(*group.arrays, **group.settings)
        return
    # A rate that is a tensor is not read here: the rule runs, and is undone where it divided by 0.
    some = [lists.of_weight(group.lr, k) != 0 for k in range(len(group.weights))]
    select(cast("list[Tensor]", some), rule, *group.arrays, **group.settings)


class Sums(NamedTuple):
    """Corrected sum of a gradient, and the sum of its squares."""

    z: Tensor
    n: Tensor


@optimizers.register("ftrl")
@dataclass(kw_only=True, eq=False, repr=False)
class Ftrl(Optimizer[Sums]):
    """Follow the regularized leader, which makes weights sparse (McMahan and others, 2013).

    ``z += grad - (sqrt(n + grad ** 2) - sqrt(n)) * weight / lr``, ``n += grad ** 2``, ``weight = (sign(z) *
    lamda1 - z) / ((beta + sqrt(n)) / lr + wd)`` where ``|z| > lamda1``, and 0 elsewhere. Of a row_sparse gradient only
    its rows are updated (MXNet sets the other rows of a dense weight to 0). PyTorch has no such optimizer.

    Parameters
    ----------
    lamda1
        The size of L1 regularization.
    beta
        The larger, the slower the first steps.

    Examples
    --------
    >>> Ftrl().learning_rate
    0.1
    """

    update_scope: ClassVar[UpdateScope] = "element"
    lazy_update: ClassVar[bool] = True
    weights_follow_states: ClassVar[bool] = True
    asked: ClassVar[tuple[str, ...]] = ("_update_count", "_get_wd", "_get_lr")

    lamda1: float = 0.01
    beta: float = 1

    default_learning_rate: ClassVar[float | None] = 0.1
    state_type: ClassVar[type[tuple] | None] = Sums

    def update_group(self, group: Group) -> None:
        """Update weights and sums in place; nothing changes with a rate of 0.

        >>> import torch
        >>> states = [(torch.zeros(1), torch.zeros(1))]
        >>> group = Group([0], [torch.zeros(1)], [torch.tensor([4.0])], states, lr=1.0, wd=0.0, t=1)
        >>> Ftrl(lamda1=0.5).update_group(group)
        >>> group.weights
        [tensor([-0.7000])]
        """
        _where_rate(group, functools.partial(rules.ftrl, lamda1=self.lamda1, beta=self.beta))


class Leader(NamedTuple):
    """Denominator of the last update, running mean of squares, numerator."""

    d: Tensor
    v: Tensor
    z: Tensor


@optimizers.register("ftml")
@dataclass(kw_only=True, eq=False, repr=False)
class FTML(Optimizer[Leader]):
    """Follow the moving leader (Zheng and Kwok, 2017).

    With ``g = clip(grad + wd * weight)``: ``v = beta2 * v + (1 - beta2) * g ** 2``, ``d' = (1 - beta1 ** t) / lr
    * (sqrt(v / (1 - beta2 ** t)) + epsilon)``, ``z = beta1 * z + (1 - beta1) * g - (d' - beta1 * d) * weight``,
    ``d = d'``, ``weight = -z / d``. With a rate of 0 nothing changes (MXNet
    divides by it). PyTorch has no such optimizer.

    Parameters
    ----------
    beta1, beta2
        The fraction of the running means that remains at an update.
    epsilon
        Added to the denominator.

    Examples
    --------
    >>> FTML(learning_rate=0.0025).beta1
    0.6
    """

    update_scope: ClassVar[UpdateScope] = "element"
    weights_follow_states: ClassVar[bool] = True

    beta1: float = 0.6
    beta2: float = 0.999
    epsilon: float = 1e-8

    state_type: ClassVar[type[tuple] | None] = Leader

    def update_group(self, group: Group) -> None:
        """Update weights and states in place.

        >>> import torch
        >>> states = [(torch.zeros(1), torch.zeros(1), torch.zeros(1))]
        >>> group = Group([0], [torch.ones(1)], [torch.tensor([4.0])], states, lr=0.5, wd=0.0, t=1)
        >>> FTML(beta1=0.5).update_group(group)
        >>> group.weights
        [tensor([0.5000])]
        """
        rule = functools.partial(
            rules.ftml, t=group.t, beta1=self.beta1, beta2=self.beta2, epsilon=self.epsilon
        )
        _where_rate(group, rule)
