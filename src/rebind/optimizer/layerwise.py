"""Optimizers for large batches, with a rate for each layer from the sizes of its weight and gradient."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import torch
from torch import Tensor

from ..ops import update as rules
from ..ops.update.layerwise import sums_of_squares
from ..ops.update.lists import Number, Rate
from .adam import WithMoments
from .base import Group, ImplOf, optimizers
from .schedule import Names, Variables
from .sgd import WithMomentum

__all__ = ["LAMB", "LARS", "column", "update_by_sgd"]


def column(rate: Rate, like: Tensor) -> Number:
    """Return a rate for arithmetic with a tensor that has an element for each weight.

    >>> column([torch.tensor(0.5), torch.tensor(1.0)], torch.ones(2)), column(0.5, torch.ones(2))
    (tensor([0.5000, 1.0000]), 0.5)
    """
    return (
        torch.stack(list(rate)).to(dtype=like.dtype)
        if isinstance(rate, (list, tuple))
        else cast(Number, rate)
    )


def update_by_sgd(group: Group, lr: Rate, momentum: Rate) -> None:
    """Update along the gradients, or their momentum where there are buffers.

    >>> group = Group([0], [torch.ones(1)], [torch.ones(1)], [None], lr=1.0, wd=0.0, t=1)
    >>> update_by_sgd(group, 0.25, 0.0)
    >>> group.weights
    [tensor([0.7500])]
    """
    settings = group.settings | {"lr": lr}
    if group.states[0] is None:
        rules.sgd(group.weights, group.grads, **settings)
    else:
        rules.sgd_momentum(*group.arrays, **settings, momentum=momentum)


@optimizers.register("lars")
@dataclass(kw_only=True, eq=False, repr=False)
class LARS(WithMomentum):
    """Momentum with a rate for each layer (You, Gitman and Ginsburg, 2017).

    The rate of a layer is ``lr * eta * |weight| / (|grad| + wd * |weight| + eps)``, and `lr` itself where a norm
    is 0, or where the name ends in ``bias``, ``gamma`` or ``beta``; with it the update is that of `SGD`. The
    gradient counts as rescaled, not as clipped. Weight decay acts on names that end in ``_weight`` only. PyTorch
    has no such optimizer.

    Parameters
    ----------
    momentum
        The fraction of the last step that is added to the next.
    lazy_update
        Without effect: sparse gradients update all rows too, since the rate goes by the size of the whole weight (MXNet
        updates only their rows).
    eta
        The size of a step, for the size of its weight.
    eps
        Added to the denominator.
    momentum_correction
        Whether the buffers, which hold the learning rate, follow a change of it (Goyal and others, 2017): momentum is
        multiplied by the rate over that of the update before. MXNet 1.9.1 does so for the first four weights only.

    Examples
    --------
    >>> LARS(learning_rate=0.1, momentum=0.9, eta=0.01).momentum_correction
    True
    """

    lazy_update: bool = True
    eta: float = 0.001
    eps: float = 0
    momentum_correction: bool = True

    aggregate_num: ClassVar[int] = 4
    asked: ClassVar[tuple[str, ...]] = ("_update_count", "_get_lrs", "_get_wds")
    impl_of: ClassVar[ImplOf] = "update_multi_precision"
    master_first: ClassVar[bool] = False
    decayed_endings: ClassVar[tuple[str, ...]] = ("_weight",)

    def __post_init__(
        self, param_idx2name: Names, learning_rate: float | None, sym: Variables | None
    ) -> None:
        super().__post_init__(param_idx2name, learning_rate, sym)
        self.skip = 0  # which MXNet has, and never changes
        #: The learning rates of the update before and of this one, without multipliers.
        self.last_lr: float | None = None
        self.cur_lr: float | None = None
        self._rate_seen = -1  # the update that cur_lr is of

    @property
    def is_lazy(self) -> bool:
        """False: rates go by whole weights."""
        return False

    def next_rates(self, index: Sequence[Hashable]) -> tuple[list[float], list[float]]:
        """Return learning rates and weight decays, and take note of the rate before multipliers."""
        found = super().next_rates(index)
        if self._rate_seen != self.num_update:  # once for all weights of an update
            rate = self._current_rate()
            self.last_lr = rate if self.cur_lr is None else self.cur_lr
            self.cur_lr = rate
            self._rate_seen = self.num_update
        return found

    @property
    def corrected_momentum(self) -> float:
        """The momentum of this update.

        >>> made = LARS(learning_rate=0.5, momentum=0.5)
        >>> _ = made.rates([0])
        >>> made.set_learning_rate(1.0)
        >>> _ = made.rates([0])
        >>> made.corrected_momentum
        1.0
        """
        if not self.momentum_correction or not self.last_lr or self.cur_lr is None:
            return self.momentum
        # The buffer has the last rate in it; this takes it to the present one (Goyal et al., 2017).
        return self.momentum * self.cur_lr / self.last_lr

    def update_group(self, group: Group) -> None:
        """Update weights and buffers in place; the rates are computed where the weights are.

        >>> group = Group([0], [torch.ones(1)], [torch.ones(1)], [None], 1.0, 0.0, 1, more={"momentum": 0.0})
        >>> LARS(eta=0.5).update_group(group)
        >>> group.weights
        [tensor([0.5000])]
        """
        # MXNet leaves biases and the parameters of normalizations out.
        plain = [
            k
            for k, i in enumerate(group.index)
            if str(self.idx2name.get(i, i)).endswith(("bias", "gamma", "beta"))
        ]
        if plain:
            subset = group.subset(plain)
            update_by_sgd(subset, subset.lr, subset.more["momentum"])
        scaled = [k for k in range(len(group.index)) if k not in set(plain)]
        if scaled:
            subset = group.subset(scaled)
            squares = sums_of_squares(subset.weights)
            rates = rules.lars_rates(
                column(subset.lr, squares),
                squares,
                sums_of_squares(subset.grads),
                column(subset.wd, squares),
                eta=self.eta,
                eps=self.eps,
                rescale_grad=subset.rescale_grad,
            )
            update_by_sgd(subset, list(rates.to(dtype=subset.weights[0].dtype)), subset.more["momentum"])

    def more_rates(self, index: Hashable, t: int) -> dict[str, float]:
        """Return the momentum of this update."""
        return {"momentum": self.corrected_momentum}


@optimizers.register("lamb")
@dataclass(kw_only=True, eq=False, repr=False)
class LAMB(WithMoments):
    """Adam with a rate for each layer (You and others, 2020).

    With the moments of `Adam`, from the gradient without decay, ``d = m / (sqrt(v) + epsilon) + wd * weight`` and
    ``weight -= lr * |weight| / |d| * d``; the ratio is 1 where a norm is 0. PyTorch has no such optimizer. MXNet 1.9.1
    stops after one step with `multi_precision`.

    Parameters
    ----------
    beta1, beta2
        The fraction of the running means that remains at an update.
    epsilon
        Added to the denominator.
    lower_bound, upper_bound
        The norm of the weight is brought within them; None is no bound.
    bias_correction
        Whether the running means are corrected for their start at 0.

    Examples
    --------
    >>> LAMB().learning_rate
    0.001
    """

    epsilon: float = 1e-6
    lower_bound: float | None = None
    upper_bound: float | None = None
    bias_correction: bool = True

    aggregate_num: ClassVar[int] = 45
    impl_of: ClassVar[ImplOf] = "update_multi_precision"

    def _aggregation(self, size: int) -> int:
        return max(1, min(45, size))

    def update_group(self, group: Group) -> None:
        """Update weights and moments in place.

        >>> states = [(torch.zeros(2), torch.zeros(2))]
        >>> group = Group(
        ...     [0], [torch.tensor([3.0, 4.0])], [torch.tensor([0.0, 2.0])], states, lr=0.5, wd=0.0, t=1
        ... )
        >>> LAMB().update_group(group)
        >>> group.weights  # a step of half the norm of the weight
        [tensor([3.0000, 1.5000])]
        """
        rules.lamb(
            *group.arrays,
            **group.settings,
            t=group.t,
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
            lower_bound=self.lower_bound,
            upper_bound=self.upper_bound,
            bias_correction=self.bias_correction,
        )
