"""Rules with a rate for each layer, from the sizes of its weight and gradient: LAMB, LARS."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ..._torch import foreach
from ...errors import ShapeError
from ..declaration import operator
from . import lists
from ._rule import rule
from .adam import moments_
from .lists import Count, Limit, Number, Rate, Tensors

__all__ = ["lamb", "lamb_direction", "lamb_move", "lars_rates", "sums_of_squares"]


def _wide(tensors: Tensors) -> torch.dtype | None:
    """Return the type in which norms are taken: the square of a half precision number overflows soon."""
    return torch.float32 if tensors[0].dtype in (torch.float16, torch.bfloat16) else None


@rule("lamb_update_phase1", forms=("", "mp"), overwrites=False)
def lamb_direction(
    weights: Tensors, grads: Tensors, mean: Tensors, var: Tensors, *,
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-6, t: Count, bias_correction: bool = True,
    wd: Rate, rescale_grad: Number = 1.0, clip_gradient: Limit = -1.0,
) -> Tensors:  # fmt: skip
    """The direction of a step of LAMB (You and others, 2020), for `lamb_update_phase2`.

    With ``g = clip(rescale_grad * grad)``: ``mean = beta1 * mean + (1 - beta1) * g``, ``var = beta2 * var + (1 - beta2)
    * g ** 2``; the result is ``mean' / (sqrt(var') + epsilon) + wd * weight`` with ``mean' = mean / (1 - beta1 ** t)``
    and ``var' = var / (1 - beta2 ** t)``. The weight is left as it is.

    Parameters
    ----------
    bias_correction
        Otherwise ``mean'`` and ``var'`` are the running means as they are.

    Examples
    --------
    >>> weight, mean, var = [torch.ones(1)], [torch.zeros(1)], [torch.zeros(1)]
    >>> lamb_direction(weight, [torch.tensor([4.0])], mean, var, t=1, wd=0.5, epsilon=0.0)
    (tensor([1.5000]),)
    """
    grads, _ = lists.prepare(grads, rescale_grad, clip_gradient)
    moments_(mean, var, grads, beta1, beta2)
    if bias_correction:
        share1, share2 = lists.single(beta1), lists.single(beta2)
        # The correction of the mean is a factor of the denominator: one pass over the means less.
        roots = lists.divided(var, lists.each(lambda t: 1 - lists.single(share2**t), t))
        foreach.sqrt_(roots)
        foreach.add_(roots, epsilon)
        lists.mul_(roots, lists.each(lambda t: 1 - lists.single(share1**t), t))
    else:
        roots = lists.roots(var, epsilon)
    directions = foreach.div(mean, roots)
    if lists.is_some(wd):
        lists.add_(directions, weights, wd)
    return directions


def _one_number(arrays: Mapping[str, Tensor]) -> None:
    """Raise a ShapeError when a norm is not one number."""
    for name in ("r1", "r2"):
        if arrays[name].numel() != 1:
            raise ShapeError(f"{name} must hold one number; got shape {tuple(arrays[name].shape)}")


@rule("lamb_update_phase2", forms=("", "mp"), reads=("r1", "r2"), free=("r1", "r2"), check_arrays=_one_number)
def lamb_move(
    weights: Tensors, g: Tensors, r1: Tensors, r2: Tensors, *,
    lr: Rate, lower_bound: Limit = -1.0, upper_bound: Limit = -1.0,
) -> None:  # fmt: skip
    """A step of LAMB along `g`: ``weight -= lr * r1 / r2 * g``.

    Where a norm is 0, ``r1 / r2`` counts as 1. With `weight32`, MXNet leaves that copy as it was, so that training
    stops after the first step.

    Parameters
    ----------
    g
        What `lamb_update_phase1` returned.
    r1, r2
        The norms of the weight (of `weight32` where it is given) and of `g`; one element each.
    lower_bound, upper_bound
        Between these `r1` is brought; a negative number is no bound.

    Examples
    --------
    >>> weight, g = [torch.tensor([3.0, 4.0])], [torch.tensor([0.0, 1.0])]
    >>> lamb_move(weight, g, [torch.tensor(5.0)], [torch.tensor(1.0)], lr=0.5)
    >>> weight
    [tensor([3.0000, 1.5000])]
    """
    ratios = []
    for size, length in zip(r1, r2, strict=True):
        size, length = size.reshape(()), length.reshape(())
        if lower_bound is not None and lower_bound >= 0:
            size = size.clamp(min=lower_bound)
        if upper_bound is not None and upper_bound >= 0:
            size = size.clamp(max=upper_bound)
        # A weight or a direction of length 0 takes the plain rate.
        ratios.append(torch.where((size == 0) | (length == 0), 1.0, size / length))
    lists.add_(weights, lists.times(g, ratios), lists.each(lambda lr: -lr, lr))


@rule(
    "_lamb_update",
    forms=("multi", "multi_mp"),
    plural={"lr": "learning_rates", "wd": "wds", "t": "step_count"},
    number="num_tensors",
)
def lamb(
    weights: Tensors, grads: Tensors, mean: Tensors, var: Tensors, *,
    lr: Rate, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-6, wd: Rate = 0.0,
    rescale_grad: Number = 1.0, lower_bound: Limit = -1.0, upper_bound: Limit = -1.0, clip_gradient: Limit = -1.0,
    bias_correction: bool = True, t: Count,
) -> None:  # fmt: skip
    """A step of LAMB (You and others, 2020): `lamb_update_phase1` and `lamb_update_phase2`.

    Through master copies, the norm of a weight is that of its copy. MXNet takes the weight's own, with squares in
    float16: it is infinite for elements beyond 255.

    Parameters
    ----------
    lower_bound, upper_bound
        Between these the norm of a weight is brought; a negative number is no bound.
    bias_correction
        Whether the running means are corrected for their start at 0.

    Examples
    --------
    >>> weight, mean, var = [torch.tensor([3.0, 4.0])], [torch.zeros(2)], [torch.zeros(2)]
    >>> lamb(weight, [torch.tensor([0.0, 2.0])], mean, var, lr=0.5, t=1)
    >>> weight
    [tensor([3.0000, 1.5000])]
    """
    directions = lamb_direction(
        weights, grads, mean, var,
        beta1=beta1, beta2=beta2, epsilon=epsilon, t=t, bias_correction=bias_correction, wd=wd,
        rescale_grad=rescale_grad, clip_gradient=clip_gradient,
    )  # fmt: skip
    wide = _wide(weights)
    # Norms in the wider type: squares of half precision overflow early.
    sizes, lengths = (foreach.norm(group, 2, wide) for group in (weights, directions))
    lamb_move(weights, directions, sizes, lengths, lr=lr, lower_bound=lower_bound, upper_bound=upper_bound)


def sums_of_squares(tensors: Tensors) -> Tensor:
    """Return the sum of squares of each tensor, in float32 at least, as one tensor.

    >>> sums_of_squares([torch.ones(2), torch.full((3,), 2.0)])
    tensor([ 2.0000, 12.0000])
    """
    return torch.stack(list(foreach.norm(tensors, 2, _wide(tensors)))).square()


@operator("multi_lars", same_shape=True)
def multi_lars(
    lrs: Tensor,
    weights_sum_sq: Tensor,
    grads_sum_sq: Tensor,
    wds: Tensor,
    *,
    eta: float,
    eps: float,
    rescale_grad: float = 1.0,
) -> Tensor:
    """Learning rates of LARS (You and others, 2017) for several weights.

    With the norms ``|w|`` and ``|g|``, the roots of the sums: ``lr * eta * |w| / (rescale_grad * |g| + wd * |w| +
    eps)``, and ``lr`` where a norm is 0.

    Parameters
    ----------
    lrs
        Learning rates, one for each weight.
    weights_sum_sq, grads_sum_sq
        Sums of squares of weights and of gradients, as `multi_sum_sq` returns them.
    wds
        Weight decays.
    eta
        The length of a step, as a fraction of the weight's norm.
    eps
        Added to the denominator.
    rescale_grad
        The gradients' norms are multiplied by it.

    Examples
    --------
    >>> import torch
    >>> one = torch.ones(1)
    >>> multi_lars(one, 4 * one, one, 0 * one, eta=0.5, eps=0.0)
    tensor([1.])
    """
    return lars_rates(lrs, weights_sum_sq, grads_sum_sq, wds, eta=eta, eps=eps, rescale_grad=rescale_grad)


def lars_rates(
    lrs: Number,
    weight_squares: Tensor,
    grad_squares: Tensor,
    wds: Number,
    *,
    eta: float,
    eps: float,
    rescale_grad: Number = 1.0,
) -> Tensor:
    """Return LARS's learning rates from the sums of squares of weights and gradients; see ``multi_lars``.

    Examples
    --------
    >>> lars_rates(0.5, torch.tensor([4.0, 0.0]), torch.tensor([1.0, 1.0]), 0.0, eta=0.25, eps=0.0)
    tensor([0.2500, 0.5000])
    """
    weight_norms, grad_norms = weight_squares.sqrt(), grad_squares.sqrt()
    # ``eta * |w| / (|g| + wd * |w|)``, the trust ratio; 1 where either norm is 0.
    scaled = lrs * eta * weight_norms / (grad_norms * rescale_grad + wds * weight_norms + eps)
    return torch.where((weight_squares > 0) & (grad_squares > 0), scaled, lrs)
