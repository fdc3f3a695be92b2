"""Rules made of rules: through copies in float32, and only where something holds."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import cast

import torch
from torch import Tensor

from ..._torch import foreach
from ...errors import ShapeError
from .lists import Tensors

__all__ = ["select", "select_good", "skipping", "through_masters"]


def through_masters(
    rule: Callable[..., Tensors | None], overwrites: bool = True
) -> Callable[..., Tensors | None]:
    """Return a rule that acts on copies of the weights in float32, its last state, and rounds the weights from them.

    A rule that does not overwrite weights returns what it makes of the copies.

    >>> def halve(weights, grads):
    ...     foreach.mul_(weights, 0.5)
    >>> weights, masters = [torch.zeros(1).half()], [torch.ones(1)]
    >>> through_masters(halve)(weights, [torch.zeros(1).half()], masters)
    >>> weights
    [tensor([0.5000], dtype=torch.float16)]
    """

    @functools.wraps(rule)
    def through(weights: Tensors, grads: Tensors, *states: Tensors, **settings: object) -> Tensors | None:
        *others, masters = states
        # The states have the type of the masters, and foreach kernels want one type.
        result = rule(masters, [grad.float() for grad in grads], *others, **settings)
        if overwrites:
            foreach.copy_(weights, masters)
        return result

    return through


def skipping(
    rule: Callable[..., object],
    rescale_grad: Tensor,
    weights: Tensors,
    grads: Tensors,
    *states: Tensors,
    **settings: object,
) -> None:
    """Apply a rule with the factor in an array; change nothing where that is not finite, or 0.

    A factor on a GPU stays there, and one that a compiler traces is not looked at.

    Examples
    --------
    >>> def step(weights, grads, rescale_grad):
    ...     foreach.add_(weights, foreach.mul(grads, rescale_grad))
    >>> weights = [torch.ones(1)]
    >>> for factor in (0.5, float("inf")):
    ...     skipping(step, torch.tensor([factor]), weights, [torch.ones(1)])
    >>> weights
    [tensor([1.5000])]
    """
    if rescale_grad.numel() == 0:
        raise ShapeError(f"rescale_grad must hold a number; got shape {tuple(rescale_grad.shape)}")
    # Not read by the host where that would wait for a device, or stop a tracer.
    factor = rescale_grad.reshape(-1)[0]
    if torch.compiler.is_compiling() or not factor.is_cpu:
        select_good(rule, factor, weights, grads, *states, **settings)
        return
    # On the CPU a look is free, and with a number the rule takes its quicker kernels.
    number = float(factor)
    if math.isfinite(number) and number != 0:
        rule(weights, grads, *states, rescale_grad=number, **settings)


def select_good(
    rule: Callable[..., object],
    factor: Tensor,
    weights: Tensors,
    grads: Tensors,
    *states: Tensors,
    **settings: object,
) -> None:
    """Do as `skipping` without a look at the factor: apply the rule, then put back what was if it is not good.

    Examples
    --------
    >>> def step(weights, grads, rescale_grad):
    ...     foreach.add_(weights, foreach.mul(grads, rescale_grad))
    >>> weights = [torch.ones(1)]
    >>> select_good(step, torch.tensor(float("nan")), weights, [torch.ones(1)])
    >>> weights
    [tensor([1.])]
    """
    good = torch.isfinite(factor) & (factor != 0)
    select(good, rule, weights, grads, *states, rescale_grad=factor, **settings)


def select(
    good: Tensor | Sequence[Tensor],
    rule: Callable[..., object],
    weights: Tensors,
    grads: Tensors,
    *states: Tensors,
    **settings: object,
) -> None:
    """Apply a rule, then put back what was where `good`, a truth value (or one for each weight), is false.

    What decides need not leave its device, and a compiler can follow.

    >>> def halve(weights, grads):
    ...     foreach.mul_(weights, 0.5)
    >>> weights = [torch.ones(1), torch.ones(1)]
    >>> select([torch.tensor(True), torch.tensor(False)], halve, weights, weights)
    >>> weights
    [tensor([0.5000]), tensor([1.])]
    """
    columns = [weights, *states]
    # Both outcomes exist for a moment: twice the memory of weights and states, but no branch.
    before = [[tensor.clone() for tensor in column] for column in columns]
    rule(weights, grads, *states, **settings)
    for column, old in zip(columns, before, strict=True):
        conditions = good if isinstance(good, (list, tuple)) else [cast(Tensor, good)] * len(column)
        for target, value, condition in zip(column, old, conditions, strict=True):
            target.copy_(torch.where(condition, target, value))
