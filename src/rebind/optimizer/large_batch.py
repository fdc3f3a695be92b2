"""SGD with large batches: gradients of several calls make one step, with a rate that is warmed up."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import InitVar, dataclass, replace
from typing import ClassVar, Literal, TypedDict, cast

import torch
from torch import Tensor

from .._torch import foreach
from ..errors import ParameterError, near_names
from ..ndarray import NDArray
from ..ndarray.sending import sent
from ..ops.update import lists
from ..ops.update.layerwise import sums_of_squares
from ..ops.update.lists import Tensors
from ..ops.update.wrappers import select
from .arrays import ArrayTree
from .base import Group, optimizers
from .group import InnerState
from .layerwise import column, update_by_sgd
from .schedule import Names, Variables
from .sgd import WithMomentum
from .step import StateTree

__all__ = ["LBSGD"]


class Collected(TypedDict):
    """The gradients of a weight since the last step: their sum, 0 where there is none, and the number of all."""

    cum_grad: NDArray | Literal[0]
    num_cums: int


#: The share of the rise to the full rate, from the share of the warm-up that is over.
_RISES: dict[str, Callable[[float], float] | None] = {
    "linear": lambda x: x,
    "power2": lambda x: x * x,
    "sqrt": math.sqrt,
    "lars": None,
}


@optimizers.register("lbsgd")
@dataclass(kw_only=True, eq=False, repr=False)
class LBSGD(WithMomentum):
    """`SGD` whose batch is as large as several, with a rate that rises to as many times its size in a warm-up.

    The gradients of `batch_scale` calls are collected, and their mean updates the weight with the rate ``lr * m``.
    In the warm-up ``m`` rises from 1 to `batch_scale` along ``x``, ``x ** 2`` or ``sqrt(x)``, where ``x`` is the
    share of it that is over (Goyal and others, 2017). With ``'lars'`` there is no warm-up: ``m = sqrt(|weight| **
    2 / (|grad| ** 2 + wd * |weight| ** 2))``, between 0.01 and 100, for each layer. PyTorch has no such
    optimizer.

    Parameters
    ----------
    momentum
        The fraction of the last step that is added to the next.
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

    asked: ClassVar[tuple[str, ...]] = ("_get_lr", "_get_wd", "_update_count")

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
        #: By index, the gradients since the last step.
        self.cumgrads: dict[Hashable, Collected] = {}
        # Which MXNet has, and never changes.
        self.lbmult, self.admult, self.adaptive = 1, 1, False

    def _apply(
        self,
        index: Sequence[Hashable],
        weights: Sequence[Tensor],
        grads: Sequence[Tensor],
        states: Sequence[InnerState | None],
        lrs: Sequence[float],
        wds: Sequence[float],
    ) -> None:
        """Collect the gradients, and update the weights that have enough of them."""
        ready, sums = [], list(grads)
        for k, (i, grad) in enumerate(zip(index, grads, strict=True)):
            collected = self._collected(i)
            if self.batch_scale > 1:
                total = collected["cum_grad"]
                if isinstance(total, NDArray):  # which was read from a file may be elsewhere
                    sums[k] = sent(total.tensor, grad.device).add_(grad)
                else:  # the first is cloned, as the sum must not be written into the caller's array
                    sums[k] = grad.clone()
                collected["cum_grad"] = NDArray(sums[k])
            if collected["num_cums"] % self.batch_scale == 0:
                collected["cum_grad"] = 0
                ready.append(k)
        if not ready:
            return
        # What is multiplied is the stored sum itself, which starts again after this step.
        enough = [sums[k] for k in ready]
        if self.batch_scale > 1:
            foreach.mul_(enough, 1 / self.batch_scale)
        super()._apply(
            [index[k] for k in ready], [weights[k] for k in ready], enough, [states[k] for k in ready],
            [lrs[k] for k in ready], [wds[k] for k in ready],
        )  # fmt: skip

    @property
    def is_lazy(self) -> bool:
        """Whether rows that a gradient lacks stay as they are: as those of `SGD`, where each gradient makes a step.

        The sum of several is dense, and ``'lars'`` goes by the size of the whole weight (MXNet is lazy there too).
        """
        return self.batch_scale == 1 and self.warmup_strategy != "lars"

    def rise(self, calls: int) -> float:
        """Return by how much the learning rate is multiplied after so many calls.

        >>> made = LBSGD(batch_scale=4, warmup_epochs=1, updates_per_epoch=10)
        >>> made.rise(0), made.rise(5), made.rise(10)
        (1.0, 2.5, 4)
        """
        curve = _RISES[self.warmup_strategy]
        warmup = self.warmup_epochs * self.updates_per_epoch
        if curve is None:
            return 1.0
        if calls >= warmup:
            return self.batch_scale
        return 1.0 + (self.batch_scale - 1) * curve(calls / warmup)

    def next_rates(self, index: Sequence[Hashable]) -> tuple[list[float], list[float]]:
        """Count a call for each weight, and return learning rates, which rise in the warm-up, and weight decays."""
        lrs, wds = super().next_rates(index)
        for k, i in enumerate(index):
            collected = self._collected(i)
            collected["num_cums"] += 1
            lrs[k] *= self.rise(collected["num_cums"])
        return lrs, wds

    def update_group(self, group: Group) -> None:
        """Update weights and buffers in place."""
        rates = group.lr
        if self.warmup_strategy == "lars":
            weights, grads = sums_of_squares(group.weights), sums_of_squares(group.grads)
            # 1e-18 only avoids a division by 0.
            ratios = (weights / (grads + column(group.wd, weights) * weights + 1e-18)).sqrt().clamp(0.01, 100)
            rates = list((column(group.lr, weights) * ratios).to(dtype=group.weights[0].dtype))
        update_by_sgd(group, rates, self.momentum)

    # In an `UpdatePart` the sum of the gradients is in the state, and whether there are enough is a rate.

    def more_rates(self, index: Hashable, t: int) -> dict[str, float]:
        """Return whether there are enough gradients for a step.

        >>> made = LBSGD(batch_scale=2)
        >>> [made.rates([0]).more["ready"].item() for _ in range(4)]
        [0.0, 1.0, 0.0, 1.0]
        """
        return {"ready": float(self.cumgrads[index]["num_cums"] % self.batch_scale == 0)}

    def update_traced(self, group: Group) -> None:
        """Add to the sums of gradients and, where there are enough, update weights and buffers."""
        if self.batch_scale == 1:
            self.update_group(group)
            return
        inner = cast("list[tuple[Tensor, ...]]", group.states)
        sums = [state[-1] for state in inner]
        foreach.add_(sums, group.grads)
        ready = [cast(Tensor, lists.of_weight(group.more["ready"], k)) != 0 for k in range(len(sums))]

        def step(weights: Tensors, grads: Tensors, *states: Tensors) -> None:
            *buffers, sums = states
            means = lists.times(sums, 1 / self.batch_scale)
            momentum = list(zip(*buffers, strict=True)) if buffers else [None] * len(weights)
            self.update_group(replace(group, weights=weights, grads=means, states=momentum))
            # Begins again, but `select` gives a weight that had not enough its sum back.
            foreach.zero_(sums)

        buffers = [[state[0] for state in inner]] if self.momentum else []
        select(ready, step, group.weights, group.grads, *buffers, sums)

    def step_state(self, index: Hashable, weight: NDArray, state: ArrayTree) -> StateTree:
        """Return the state with the sum of the gradients since the last step.

        >>> LBSGD(batch_scale=2, momentum=0.0).step_state(0, NDArray(torch.ones(2)), None)
        (None, tensor([0., 0.]))
        """
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
            first, second = cast("tuple[StateTree, tuple[StateTree, Tensor] | Tensor]", new)
            # With a master copy the sum is beside the state, which is beside the master copy.
            new, total = ((first, second[0]), second[1]) if isinstance(second, tuple) else (first, second)
            collected = self.cumgrads[index]
            collected["cum_grad"] = NDArray(total.clone()) if collected["num_cums"] % self.batch_scale else 0
        super().write_step_state(index, state, new)

    def _collected(self, index: Hashable) -> Collected:
        return self.cumgrads.setdefault(index, {"cum_grad": 0, "num_cums": self.init_updates})

    def _sum(self, index: Hashable, like: Tensor) -> Tensor:
        total = self._collected(index)["cum_grad"]
        return total.tensor if isinstance(total, NDArray) else torch.zeros_like(like)
