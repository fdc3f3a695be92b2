"""Rules that follow the leader: the weight that would have been best so far."""

from __future__ import annotations

from typing import Annotated

from ..._torch import foreach
from ...params import AtLeast
from .._types import Double
from . import lists
from ._rule import rule
from .lists import Count, Limit, Number, Rate, Tensors

__all__ = ["ftml", "ftrl"]


@rule("ftml_update", names={"clip_gradient": "clip_grad"})
def ftml(
    weights: Tensors, grads: Tensors, d: Tensors, v: Tensors, z: Tensors, *,
    lr: Rate, beta1: float = 0.6, beta2: float = 0.999, epsilon: Double = 1e-8, t: Count, wd: Rate = 0.0,
    rescale_grad: Number = 1.0, clip_gradient: Limit = -1.0,
) -> None:  # fmt: skip
    """Follow the moving leader (Zheng and Kwok, 2017).

    With ``g = clip(rescale_grad * grad + wd * weight)``: ``v = beta2 * v + (1 - beta2) * g ** 2``, ``d' = (1 - beta1 **
    t) / lr * (sqrt(v / (1 - beta2 ** t)) + epsilon)``, ``z = beta1 * z + (1 - beta1) * g - (d' - beta1 * d) * weight``,
    ``d = d'``, ``weight = -z / d``.

    Parameters
    ----------
    d, v, z
        Denominator, running mean of squares, numerator; written in place.
    clip_grad
        Each element of the gradient, with the decay in it, is cut to this size; a negative number cuts nothing.

    Examples
    --------
    >>> import torch
    >>> weight, d, v, z = [torch.ones(1)], [torch.zeros(1)], [torch.zeros(1)], [torch.zeros(1)]
    >>> ftml(weight, [torch.tensor([4.0])], d, v, z, lr=0.5, beta1=0.5, t=1)
    >>> weight, z
    ([tensor([0.5000])], [tensor([-2.])])
    """
    grads = lists.decayed(weights, grads, wd, rescale_grad, clip_gradient)
    share1, share2 = lists.single(beta1), lists.single(beta2)
    lists.ema_of_squares_(v, grads, share2)
    leaders = lists.divided(v, lists.each(lambda t: 1 - lists.single(share2**t), t))
    foreach.sqrt_(leaders)
    foreach.add_(leaders, epsilon)
    # d', from here on.
    lists.mul_(leaders, lists.each(lambda lr, t: (1 - lists.single(share1**t)) / lr, lr, t))
    lists.ema_(z, grads, share1)
    # First d is ``d' - beta1 * d``, the factor of the weight in z; then it is ``d'``.
    lists.mul_(d, -share1)
    foreach.add_(d, leaders)
    foreach.addcmul_(z, d, weights, -1)
    foreach.copy_(d, leaders)
    foreach.copy_(weights, z)
    foreach.div_(weights, leaders)
    foreach.neg_(weights)


@rule("ftrl_update", "_sparse_ftrl_update")
def ftrl(
    weights: Tensors, grads: Tensors, z: Tensors, n: Tensors, *,
    lr: Rate, lamda1: Annotated[float, AtLeast(0)] = 0.01, beta: float = 1.0, wd: Rate = 0.0,
    rescale_grad: Number = 1.0, clip_gradient: Limit = -1.0,
) -> None:  # fmt: skip
    """Follow the regularized leader (McMahan and others, 2013), which makes weights sparse.

    With ``g = clip(rescale_grad * grad)``: ``z += g - (sqrt(n + g ** 2) - sqrt(n)) * weight / lr``, ``n += g ** 2``,
    ``weight = (sign(z) * lamda1 - z) / ((beta + sqrt(n)) / lr + wd)`` where ``|z| > lamda1``, and 0 elsewhere.

    Parameters
    ----------
    z, n
        The sum that decides, and the sum of squares; written in place.
    lamda1
        How strongly weights are drawn to 0; not negative.
    beta
        Makes the learning rate of each element smaller.

    Examples
    --------
    >>> import torch
    >>> weight, z, n = [torch.zeros(2)], [torch.zeros(2)], [torch.zeros(2)]
    >>> ftrl(weight, [torch.tensor([4.0, 0.25])], z, n, lr=1.0, lamda1=0.5)
    >>> weight
    [tensor([-0.7000,  0.0000])]
    """
    grads, _ = lists.prepare(grads, rescale_grad, clip_gradient)
    old = foreach.sqrt(n)
    foreach.addcmul_(n, grads, grads)
    roots = foreach.sqrt(n)
    # ``(sqrt(n) - sqrt(n + g ** 2)) * weight / lr``, which is added to z.
    foreach.sub_(old, roots)
    foreach.mul_(old, weights)
    lists.div_(old, lr)
    foreach.add_(z, grads)
    foreach.add_(z, old)
    # (beta + sqrt(n)) / lr + wd, the strength that pulls towards 0.
    foreach.add_(roots, beta)
    lists.div_(roots, lr)
    if lists.is_some(wd):
        lists.shift_(roots, wd)
    # Cut to lamda1, less z, it is sign(z) * lamda1 - z beyond, and 0 within.
    foreach.copy_(weights, z)
    lists.clip_(weights, lamda1)
    foreach.sub_(weights, z)
    foreach.div_(weights, roots)
