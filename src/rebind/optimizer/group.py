"""What an optimizer is given to update: weights, gradients, states, rates. Gradients clipped together."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypedDict

import torch
from torch import Tensor

from .._torch import foreach
from ..draws import Source
from ..ops.update.lists import Count, Limit, Number, Rate, Tensors

__all__ = ["LOW_PRECISION", "Group", "InnerState", "RuleSettings", "clip_together"]

LOW_PRECISION = (torch.float16, torch.bfloat16)

#: The tensors of the state of one weight.
InnerState: TypeAlias = "tuple[Tensor | None, ...]"


class RuleSettings(TypedDict):
    """What all rules take."""

    lr: Rate
    wd: Rate
    rescale_grad: Number
    clip_gradient: Limit


@dataclass
class Group:
    """Weights that are updated together: they have one type and device.

    An update in place has numbers in `lr`, `wd`, `t` and `more`, the same for all weights; a pure one (`UpdatePart`)
    has a list with a tensor without axes for each weight.

    Parameters
    ----------
    index
        Their indices.
    weights, grads
        The tensors; gradients as they come.
    states
        For each weight None, or the tensors of its state; a member may be None.
    lr, wd
        Learning rate and weight decay, multipliers included.
    t
        The number of this update, from 1.
    rescale_grad
        What gradients are to be multiplied by.
    clip_gradient
        The size that elements of rescaled gradients are to be cut to; None cuts nothing.
    more
        What else changes from one update to the next; see `Optimizer.more_rates`.
    sources
        For each weight where random numbers come from, of an optimizer that draws.
    """

    index: Sequence[Hashable]
    weights: Tensors
    grads: Tensors
    states: Sequence[InnerState | None]
    lr: Rate
    wd: Rate
    t: Count
    rescale_grad: Number = 1.0
    clip_gradient: Limit = None
    more: Mapping[str, Rate] = field(default_factory=dict)
    sources: Sequence[Source | None] = ()

    @property
    def arrays(self) -> list[Tensors]:
        """What the rules take: weights, gradients, and a list for each tensor of the state.

        >>> Group(
        ...     [0], [torch.ones(1)], [torch.zeros(1)], [(torch.full((1,), 2.0),)], lr=0.5, wd=0.0, t=1
        ... ).arrays
        [[tensor([1.])], [tensor([0.])], [tensor([2.])]]
        """
        states = [state for state in self.states if state is not None]
        return [self.weights, self.grads, *map(list, zip(*states, strict=True))]

    @property
    def settings(self) -> RuleSettings:
        """What all rules take besides.

        >>> Group(
        ...     [0], [torch.ones(1)], [torch.zeros(1)], [None], lr=0.5, wd=0.0, t=1, clip_gradient=2.0
        ... ).settings
        {'lr': 0.5, 'wd': 0.0, 'rescale_grad': 1.0, 'clip_gradient': 2.0}
        """
        return {
            "lr": self.lr,
            "wd": self.wd,
            "rescale_grad": self.rescale_grad,
            "clip_gradient": self.clip_gradient,
        }

    def subset(self, members: Sequence[int]) -> Group:
        """Return some of the weights.

        >>> whole = Group(
        ...     [0, 1], [torch.ones(1), torch.zeros(1)], [torch.ones(1)] * 2, [None] * 2, lr=0.5, wd=0.0, t=1
        ... )
        >>> some = whole.subset([1])
        >>> some.index, some.weights
        ([1], [tensor([0.])])
        """
        if len(members) == len(self.weights):
            return self

        def some(values):  # type: ignore[no-untyped-def]  # a rate, or any list with a member for each weight
            return [values[k] for k in members] if isinstance(values, (list, tuple)) and values else values

        return Group(
            some(self.index), some(self.weights), some(self.grads), some(self.states),
            some(self.lr), some(self.wd), some(self.t), self.rescale_grad, self.clip_gradient,
            {name: some(rate) for name, rate in self.more.items()}, some(self.sources),
        )  # fmt: skip


def clip_together(grads: Sequence[Tensor], limit: Limit, rescale_grad: Number) -> list[Tensor]:
    """Return gradients scaled down so that their norm over all, rescaled, is `limit` at most.

    The norm is taken in float32 at least, and stays on the device: nothing waits for it.

    >>> clip_together([torch.tensor([3.0]), torch.tensor([4.0])], 1.0, 1.0)
    [tensor([0.6000]), tensor([0.8000])]
    """
    scaled = list(grads)
    if limit is None or not scaled:
        return scaled
    kinds: dict[tuple[torch.device, torch.dtype], list[int]] = {}
    for k, grad in enumerate(grads):
        kinds.setdefault((grad.device, grad.dtype), []).append(k)
    norms: list[Tensor] = []
    for (_, dtype), members in kinds.items():
        # The squares of half precision overflow: their norms are in float32.
        wide = torch.float32 if dtype in LOW_PRECISION else None
        norms += foreach.norm([grads[k] for k in members], 2, wide)
    wide_type = torch.float64 if any(norm.dtype is torch.float64 for norm in norms) else torch.float32
    joint = torch.stack([norm.to(norms[0].device, wide_type) for norm in norms])
    # Of the rescaled gradients, whose norm is that of the gradients times the factor.
    total = torch.linalg.vector_norm(joint) * abs(rescale_grad)
    # 1 where the norm is within the limit: no branch, so that nothing waits for the device.
    share = limit / total.clamp(min=limit)
    for (device, dtype), members in kinds.items():
        factor = share.to(device) if dtype in LOW_PRECISION else share.to(device, dtype)
        # Tensors of half precision are multiplied by a number of float32 as by one of their own type.
        for k, value in zip(members, foreach.mul([grads[k] for k in members], factor), strict=True):
            scaled[k] = value
    return scaled
