"""Stochastic gradient descent and what is near to it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from ..ndarray import NDArray
from ..ops import update as rules
from .algorithm import UpdateScope
from .base import Group, ImplOf, Optimizer, optimizers
from .schedule import Names, Variables

__all__ = ["DCASGD", "NAG", "SGD", "ccSGD"]


class Momentum(NamedTuple):
    """The last step of a weight, learning rate included."""

    buffer: Tensor


@dataclass(kw_only=True, eq=False, repr=False)
class WithMomentum(Optimizer[Momentum]):
    """Base of optimizers with a buffer of momentum, or none where `momentum` is 0."""

    momentum: float = 0.0

    state_type: ClassVar[type[tuple] | None] = Momentum

    def init_state(self, weight: Tensor) -> Momentum | None:
        """Return a buffer of zeros; None without momentum.

        >>> SGD(momentum=0.9).init_state(torch.ones(2)), SGD().init_state(torch.ones(2))
        (Momentum(buffer=tensor([0., 0.])), None)
        """
        return super().init_state(weight) if self.momentum else None


@optimizers.register("sgd")
@dataclass(kw_only=True, eq=False, repr=False)
class SGD(WithMomentum):
    """Stochastic gradient descent, with momentum.

    ``buffer = momentum * buffer - lr * (grad + wd * weight)``, ``weight += buffer``. The learning rate is inside
    of the buffer, so a change of it acts on later gradients only (torch.optim.SGD has it outside).

    Parameters
    ----------
    momentum
        The fraction of the last step that is added to the next.
    lazy_update
        For sparse gradients: whether only their rows are updated. Dense ones are always updated whole.

    Examples
    --------
    >>> SGD(learning_rate=0.1, momentum=0.9, wd=1e-4).learning_rate
    0.1
    """

    update_scope: ClassVar[UpdateScope] = "element"

    lazy_update: bool = True

    aggregate_num: ClassVar[int] = 4
    asked: ClassVar[tuple[str, ...]] = ("_update_count", "_get_lrs", "_get_wds")
    impl_of: ClassVar[ImplOf] = "update_multi_precision"
    master_first: ClassVar[bool] = False

    def update_group(self, group: Group) -> None:
        """Update weights and buffers in place, in one to three passes over them.

        >>> group = Group([0], [torch.ones(1)], [torch.ones(1)], [(torch.zeros(1),)], lr=0.5, wd=0.0, t=1)
        >>> SGD(momentum=0.9).update_group(group)
        >>> group.weights, group.states
        ([tensor([0.5000])], [(tensor([-0.5000]),)])
        """
        if self.momentum:
            rules.sgd_momentum(*group.arrays, **group.settings, momentum=self.momentum)
        else:
            rules.sgd(group.weights, group.grads, **group.settings)


@optimizers.register("ccsgd")
@dataclass(kw_only=True, eq=False, repr=False)
class ccSGD(SGD):
    """`SGD` under an old name."""

    update_scope: ClassVar[UpdateScope] = "element"


@optimizers.register("nag")
@dataclass(kw_only=True, eq=False, repr=False)
class NAG(WithMomentum):
    """Nesterov's accelerated gradient: momentum whose gradient counts once more (Nesterov, 1983).

    With ``g = grad + wd * weight``: ``buffer = momentum * buffer - lr * g``, ``weight += momentum * buffer - lr *
    g``. As in MXNet, the weight decay that goes into the buffer is that of the new weight. The learning rate is
    inside of the buffer (torch.optim.SGD with nesterov has it outside).

    Parameters
    ----------
    momentum
        The fraction of the last step that is added to the next; 0 makes it `SGD`.

    Examples
    --------
    >>> NAG(learning_rate=0.1, momentum=0.9).momentum
    0.9
    """

    update_scope: ClassVar[UpdateScope] = "element"

    impl_of: ClassVar[ImplOf] = "update_multi_precision"
    master_first: ClassVar[bool] = False

    @property
    def is_lazy(self) -> bool:
        """Whether rows that a gradient lacks stay as they are: as those of `SGD`, where there is no momentum."""
        return not self.momentum

    def update_group(self, group: Group) -> None:
        """Update weights and buffers in place.

        >>> group = Group([0], [torch.ones(1)], [torch.ones(1)], [(torch.zeros(1),)], lr=0.5, wd=0.0, t=1)
        >>> NAG(momentum=0.5).update_group(group)
        >>> group.weights, group.states
        ([tensor([0.2500])], [(tensor([-0.5000]),)])
        """
        if self.momentum:
            rules.nag(*group.arrays, **group.settings, momentum=self.momentum)
        else:
            rules.sgd(group.weights, group.grads, **group.settings)


class Drift(NamedTuple):
    """The last step, if there is momentum, and the weight before it."""

    buffer: Tensor | None
    previous: Tensor


@optimizers.register("dcasgd")
@dataclass(kw_only=True, eq=False, repr=False)
class DCASGD(Optimizer[Drift]):
    """Stochastic gradient descent that makes up for the age of a gradient (Zheng and others, 2017).

    For asynchronous training, where a weight has changed since its gradient was computed: the change is estimated
    from the square of the gradient. ``buffer = momentum * buffer - lr * (grad + wd * weight + lamda * grad ** 2 *
    (weight - previous))``, ``previous = weight``, ``weight += buffer``. PyTorch has no such optimizer.

    Parameters
    ----------
    momentum
        The fraction of the last step that is added to the next. MXNet 1.9.1 fails with any.
    lamda
        How much of the estimate counts.

    Examples
    --------
    >>> DCASGD(learning_rate=0.1).lamda
    0.04
    """

    update_scope: ClassVar[UpdateScope] = "element"

    momentum: float = 0.0
    lamda: float = 0.04

    state_type: ClassVar[type[tuple] | None] = Drift

    def __post_init__(
        self, param_idx2name: Names, learning_rate: float | None, sym: Variables | None
    ) -> None:
        super().__post_init__(param_idx2name, learning_rate, sym)
        self.weight_previous: dict[Hashable, NDArray] = {}  # which MXNet has, and leaves empty

    def init_state(self, weight: Tensor) -> Drift:
        """Return a buffer of zeros, or None without momentum, and a copy of the weight.

        >>> DCASGD().init_state(torch.ones(2))
        Drift(buffer=None, previous=tensor([1., 1.]))
        """
        # A copy, as the weight itself is updated in place.
        return Drift(torch.zeros_like(weight) if self.momentum else None, weight.clone())

    def update_group(self, group: Group) -> None:
        """Update weights and states in place.

        >>> states = [(None, torch.tensor([1.0]))]
        >>> group = Group([0], [torch.tensor([2.0])], [torch.ones(1)], states, lr=0.5, wd=0.0, t=1)
        >>> DCASGD(lamda=1.0).update_group(group)
        >>> group.weights
        [tensor([1.])]
        """
        rules.dcasgd(*group.arrays, **group.settings, momentum=self.momentum, lamda=self.lamda)
