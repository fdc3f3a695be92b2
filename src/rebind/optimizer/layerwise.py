"""Optimizers for large batches, with a rate for each layer from the sizes of its weight and gradient."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import InitVar, dataclass, replace
from typing import Any, ClassVar, cast

import torch
from torch import Tensor

from ..errors import ParameterError, near_names
from ..ndarray import NDArray
from ..ops import update as rules
from ..ops.update import lists
from ..ops.update.layerwise import sums_of_squares
from ..ops.update.lists import Number, Rate, Tensors
from ..ops.update.wrappers import select
from .adam import WithMoments
from .base import Group, optimizers
from .schedule import Names, Variables
from .sgd import WithMomentum
from .step import ArrayTree, Rates, StateTree

__all__ = ["LAMB", "LARS", "LBSGD"]


def _column(rate: Rate, like: Tensor) -> Number:
    """Return a rate for arithmetic with a tensor that has an element for each weight."""
    return torch.stack(list(rate)).to(like.dtype) if isinstance(rate, (list, tuple)) else cast(Number, rate)


def _sgd(group: Group, lr: Rate, momentum: Rate) -> None:
    """Update along the gradients, or their momentum where there are buffers."""
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
        The part of the last step that is added to the next.
    lazy_update
        For sparse gradients: whether only their rows are updated. Dense ones are always updated whole.
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

    def _get_lrs(self, indices: Sequence[Hashable]) -> list[float]:
        if self._rate_seen != self.num_update:  # once for all weights of an update
            rate = self.learning_rate
            self.last_lr = rate if self.cur_lr is None else self.cur_lr
            self.cur_lr = rate
            self._rate_seen = self.num_update
        return super()._get_lrs(indices)

    @property
    def corrected_momentum(self) -> float:
        """The momentum of this update."""
        if not self.momentum_correction or not self.last_lr or self.cur_lr is None:
            return self.momentum
        return self.momentum * self.cur_lr / self.last_lr

    def update_group(self, group: Group) -> None:
        """Update weights and buffers in place; the rates are computed where the weights are."""
        plain = [
            k
            for k, i in enumerate(group.index)
            if str(self.idx2name.get(i, "")).endswith(("bias", "gamma", "beta"))
        ]
        if plain:
            part = group.part(plain)
            _sgd(part, part.lr, part.more["momentum"])
        scaled = [k for k in range(len(group.index)) if k not in set(plain)]
        if scaled:
            part = group.part(scaled)
            squares = sums_of_squares(part.weights)
            rates = rules.lars_rates(
                _column(part.lr, squares),
                squares,
                sums_of_squares(part.grads),
                _column(part.wd, squares),
                eta=self.eta,
                eps=self.eps,
                rescale_grad=part.rescale_grad,
            )
            _sgd(part, list(rates.to(part.weights[0].dtype)), part.more["momentum"])

    def more_rates(self, index: Hashable, t: int) -> dict[str, float]:
        """Return the momentum of this update."""
        return {"momentum": self.corrected_momentum}


@optimizers.register("lamb")
@dataclass(kw_only=True, eq=False, repr=False)
class LAMB(WithMoments):
    """Adam with a rate for each layer (You and others, 2020).

    With the moments of `Adam`, from the gradient without decay, ``d = m / (sqrt(v) + epsilon) + wd * weight`` and
    ``weight -= lr * |weight| / |d| * d``; the ratio is 1 where a norm is 0. PyTorch has no such optimizer. MXNet 1.9.1
    stands still after one step with `multi_precision`.

    Parameters
    ----------
    beta1, beta2
        The part of the running means that remains at an update.
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

    def update_group(self, group: Group) -> None:
        """Update weights and moments in place."""
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


#: The share of the rise to the full rate, from the share of the warm-up that is over.
_RISES = {"linear": lambda x: x, "power2": lambda x: x * x, "sqrt": math.sqrt, "lars": None}


@optimizers.register("lbsgd")
@dataclass(kw_only=True, eq=False, repr=False)
class LBSGD(WithMomentum):
    """`SGD` whose batch is as large as several, with a rate that rises to as many times its size in a warm-up.

    The gradients of `batch_scale` calls are collected, and their mean moves the weight with the rate ``lr * m``.
    In the warm-up ``m`` rises from 1 to `batch_scale` along ``x``, ``x ** 2`` or ``sqrt(x)``, where ``x`` is the
    share of it that is over (Goyal and others, 2017). With ``'lars'`` there is no warm-up: ``m = sqrt(|weight| **
    2 / (|grad| ** 2 + wd * |weight| ** 2))``, between 0.01 and 100, for each layer. PyTorch has no such
    optimizer.

    Parameters
    ----------
    momentum
        The part of the last step that is added to the next.
    warmup_strategy
        ``'linear'``, ``'power2'``, ``'sqrt'`` or ``'lars'``.
    warmup_epochs
        How long the warm-up is.
    batch_scale
        How many gradients make a step.
    updates_per_epoch
        How many calls an epoch has.
    begin_epoch
        The epochs that were done before.
    num_epochs
        Without effect, as in MXNet.

    Examples
    --------
    >>> LBSGD(batch_scale=4, updates_per_epoch=100).warmup_strategy
    'linear'
    """

    warmup_strategy: str = "linear"
    warmup_epochs: int = 5
    batch_scale: int = 1
    updates_per_epoch: int = 32
    begin_epoch: InitVar[int] = 0
    num_epochs: int = 60

    def __post_init__(
        self, param_idx2name: Names, learning_rate: float | None, sym: Variables | None, begin_epoch: int
    ) -> None:
        super().__post_init__(param_idx2name, learning_rate, sym)
        if self.warmup_strategy not in _RISES:
            raise ParameterError(
                f"LBSGD: warmup_strategy must be one of {', '.join(map(repr, _RISES))}; got "
                f"{self.warmup_strategy!r}{near_names(str(self.warmup_strategy), _RISES)}"
            )
        if self.batch_scale < 1:
            raise ParameterError(f"LBSGD: batch_scale must be >= 1; got {self.batch_scale!r}")
        self.init_updates = begin_epoch * self.updates_per_epoch
        #: By index, the sum of the gradients since the last step (0 where there is none) and the number of all.
        self.cumgrads: dict[Any, dict[str, Any]] = {}
        # Which MXNet has, and never changes.
        self.lbmult, self.admult, self.adaptive = 1, 1, False

    def _apply(self, index: Any, weights: Any, grads: Any, states: Any) -> None:
        """Collect the gradients, and update the weights that have enough of them."""
        ready = []
        for k, (i, grad) in enumerate(zip(index, grads, strict=True)):
            collected = self._collected(i)
            collected["num_cums"] += 1
            if self.batch_scale > 1:
                if isinstance(collected["cum_grad"], NDArray):
                    grads[k] = collected["cum_grad"].tensor.add_(grad)
                else:
                    grads[k] = grad.clone()
                    collected["cum_grad"] = NDArray(grads[k])
            if collected["num_cums"] % self.batch_scale == 0:
                collected["cum_grad"] = 0
                ready.append(k)
        if not ready:
            return
        index, weights, grads, states = ([part[k] for k in ready] for part in (index, weights, grads, states))
        if self.batch_scale > 1:
            torch._foreach_mul_(grads, 1 / self.batch_scale)
        super()._apply(index, weights, grads, states)

    def rise(self, calls: int) -> float:
        """Return by how much the learning rate is multiplied after so many calls."""
        curve = _RISES[self.warmup_strategy]
        warmup = self.warmup_epochs * self.updates_per_epoch
        if curve is None:
            return 1.0
        if calls >= warmup:
            return self.batch_scale
        return 1.0 + (self.batch_scale - 1) * curve(calls / warmup)

    def _get_lrs(self, indices: Sequence[Hashable]) -> list[float]:
        rates = zip(super()._get_lrs(indices), indices, strict=True)
        return [
            lr * self.rise(self.cumgrads[i]["num_cums"] if i in self.cumgrads else self.init_updates)
            for lr, i in rates
        ]

    def update_group(self, group: Group) -> None:
        """Update weights and buffers in place."""
        rates = group.lr
        if self.warmup_strategy == "lars":
            weights, grads = sums_of_squares(group.weights), sums_of_squares(group.grads)
            ratios = (
                (weights / (grads + _column(group.wd, weights) * weights + 1e-18)).sqrt().clamp(0.01, 100)
            )
            rates = list((_column(group.lr, weights) * ratios).to(group.weights[0].dtype))
        _sgd(group, rates, self.momentum)

    # In an `UpdatePart` the sum of the gradients is a part of the state, and whether there are enough is a rate.

    def rates(self, index: Sequence[Hashable], device: torch.device | str = "cpu") -> Rates:
        """Count a call for each weight, and return what an `UpdatePart` takes."""
        for i in index:
            self._collected(i)["num_cums"] += 1
        return super().rates(index, device)

    def more_rates(self, index: Hashable, t: int) -> dict[str, float]:
        """Return whether there are enough gradients for a step."""
        return {"ready": float(self.cumgrads[index]["num_cums"] % self.batch_scale == 0)}

    def update_traced(self, group: Group) -> None:
        """Add to the sums of gradients and, where there are enough, update weights and buffers."""
        if self.batch_scale == 1:
            self.update_group(group)
            return
        inner = cast("list[tuple[Tensor, ...]]", group.states)
        sums = [state[-1] for state in inner]
        torch._foreach_add_(sums, group.grads)
        ready = [cast(Tensor, lists.of_weight(group.more["ready"], k)) != 0 for k in range(len(sums))]

        def step(weights: Tensors, grads: Tensors, *states: Tensors) -> None:
            *buffers, sums = states
            means = lists.times(sums, 1 / self.batch_scale)
            momentum = list(zip(*buffers, strict=True)) if buffers else [None] * len(weights)
            self.update_group(replace(group, weights=weights, grads=means, states=momentum))
            torch._foreach_zero_(sums)

        buffers = [[state[0] for state in inner]] if self.momentum else []
        select(ready, step, group.weights, group.grads, *buffers, sums)

    def step_state(self, index: Hashable, weight: NDArray, state: ArrayTree) -> StateTree:
        """Return the state with the sum of the gradients since the last step."""
        tree = super().step_state(index, weight, state)
        if self.batch_scale == 1:
            return tree
        if isinstance(tree, tuple):  # with a master copy
            master, inner = tree
            return master, (inner, self._sum(index, cast(Tensor, master)))
        return tree, self._sum(index, weight.tensor)

    def write_step_state(self, index: Hashable, state: ArrayTree, new: StateTree) -> None:
        """Write new tensors into a state, and store the sum of the gradients."""
        if self.batch_scale > 1:
            first, second = cast("tuple[Any, Any]", new)
            new, total = ((first, second[0]), second[1]) if isinstance(state, tuple) else (first, second)
            collected = self.cumgrads[index]
            collected["cum_grad"] = NDArray(total.clone()) if collected["num_cums"] % self.batch_scale else 0
        super().write_step_state(index, state, new)

    def _collected(self, index: Hashable) -> dict[str, Any]:
        return self.cumgrads.setdefault(index, {"cum_grad": 0, "num_cums": self.init_updates})

    def _sum(self, index: Hashable, like: Tensor) -> Tensor:
        total = self._collected(index)["cum_grad"]
        return total.tensor if isinstance(total, NDArray) else torch.zeros_like(like)
