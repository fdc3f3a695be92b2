"""Adam and its family."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from ..._torch import foreach, fused
from . import lists
from ._rule import rule
from .lists import Count, Limit, Number, Rate, Tensors

__all__ = ["adam", "adamax", "adamw", "moments_", "nadam"]


@rule("adam_update", "_sparse_adam_update", ignored={"lazy_update": True})
def adam(
    weights: Tensors, grads: Tensors, mean: Tensors, var: Tensors, *,
    lr: Rate, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, wd: Rate = 0.0,
    rescale_grad: Number = 1.0, clip_gradient: Limit = -1.0,
) -> None:  # fmt: skip
    """Adam (Kingma and Ba, 2015), without the correction of the bias, which the caller puts into `lr`.

    With ``g = clip(rescale_grad * grad + wd * weight)``: ``mean = beta1 * mean + (1 - beta1) * g``, ``var = beta2 * var
    + (1 - beta2) * g ** 2``, ``weight -= lr * mean / (sqrt(var) + epsilon)``. On the CPU it is one pass, and one more
    to rescale the gradients.

    Parameters
    ----------
    wd
        Weight decay, in the gradient.
    clip_gradient
        Each element of the gradient, with the decay in it, is cut to this size; a negative number cuts nothing.

    Examples
    --------
    >>> import rebind as mx
    >>> weight, mean, var = mx.nd.ones((2,)), mx.nd.zeros((2,)), mx.nd.zeros((2,))
    >>> _ = mx.nd.adam_update(weight, mx.nd.ones((2,)), mean, var, lr=0.5, out=weight)
    >>> mean.asnumpy().round(3).tolist(), var.asnumpy().round(3).tolist()
    ([0.1..., 0.1...], [0.001..., 0.001...])
    """
    grads, wd = lists.prepare(grads, rescale_grad, clip_gradient, weights, wd)
    if _fused(fused.adam_, (weights, grads, mean, var), lr, wd, beta1, beta2, epsilon):
        return
    # The kernel takes the decay itself; here it goes into the gradient.
    if lists.is_some(wd):
        grads = lists.decayed(weights, grads, wd, 1.0, None)
    moments_(mean, var, grads, beta1, beta2)
    lists.move_(weights, mean, lists.roots(var, epsilon), lists.each(lambda lr: -lr, lr))


def _fused(
    kernel: Callable[..., object],
    arrays: tuple[Tensors, Tensors, Tensors, Tensors],
    lr: Rate,
    wd: Rate,
    beta1: float,
    beta2: float,
    epsilon: Rate,
) -> bool:
    """Run torch's kernel of Adam or AdamW, in one pass, if it takes these settings: return whether it did.

    It wants numbers as rates, and averages that forget.
    """
    share1, share2 = lists.single(beta1), lists.single(beta2)
    if not (
        lists.is_number(lr, wd, epsilon) and 0 <= share1 < 1 and 0 <= share2 < 1 and lists.can_fuse(*arrays)
    ):
        return False
    # At an infinite number of steps torch's own correction is none, and ours is in the rate.
    steps = [torch.full((), math.inf, device=arrays[0][0].device)] * len(arrays[0])
    kernel(
        *arrays, [], steps, lr=lr, beta1=share1, beta2=share2, weight_decay=wd, eps=epsilon,
        amsgrad=False, maximize=False,
    )  # fmt: skip
    return True


def moments_(mean: Tensors, var: Tensors, grads: Tensors, beta1: float, beta2: float) -> None:
    """Update the running means of gradients and of their squares, with shares in single precision.

    Examples
    --------
    >>> mean, var = [torch.zeros(1)], [torch.zeros(1)]
    >>> moments_(mean, var, [torch.tensor([2.0])], 0.5, 0.75)
    >>> mean, var
    ([tensor([1.])], [tensor([1.])])
    """
    lists.ema_(mean, grads, lists.single(beta1))
    lists.ema_of_squares_(var, grads, lists.single(beta2))


def adamax(
    weights: Tensors, grads: Tensors, mean: Tensors, largest: Tensors, *,
    lr: Rate, beta1: float = 0.9, beta2: float = 0.999, wd: Rate = 0.0, rescale_grad: Number = 1.0,
    clip_gradient: Limit = -1.0,
) -> None:  # fmt: skip
    """Adam with the infinity norm in place of the second moment (Kingma and Ba, 2015, section 7).

    With ``g = clip(rescale_grad * grad + wd * weight)``: ``mean = beta1 * mean + (1 - beta1) * g``, ``u =
    max(beta2 * u, |g|)``, ``weight -= lr * mean / u``; where ``u`` is 0, so that no gradient came yet, the weight
    does not change.

    Examples
    --------
    >>> weight, mean, largest = [torch.ones(1)], [torch.zeros(1)], [torch.zeros(1)]
    >>> adamax(weight, [torch.tensor([4.0])], mean, largest, lr=1.0, beta1=0.5)
    >>> weight, mean, largest
    ([tensor([0.5000])], [tensor([2.])], [tensor([4.])])
    """
    grads = lists.decayed(weights, grads, wd, rescale_grad, clip_gradient)
    lists.ema_(mean, grads, beta1)
    lists.mul_(largest, beta2)
    foreach.maximum_(largest, foreach.abs(grads))
    # At 0, before any gradient, the mean is 0 too, and 0 / tiny leaves the weight.
    tiny = torch.finfo(largest[0].dtype).tiny
    lists.move_(weights, mean, foreach.clamp_min(largest, tiny), lists.each(lambda lr: -lr, lr))


def nadam(
    weights: Tensors, grads: Tensors, mean: Tensors, var: Tensors, *,
    lr: Rate, share: Rate, next_share: Rate, product: Rate, t: Count, beta1: float = 0.9, beta2: float = 0.999,
    epsilon: float = 1e-8, wd: Rate = 0.0, rescale_grad: Number = 1.0, clip_gradient: Limit = -1.0,
) -> None:  # fmt: skip
    """Adam with Nesterov's look ahead (Dozat, 2016); ``mu`` and ``mu'`` are this and the next share of the mean.

    Moments as in `adam`, from ``g = clip(rescale_grad * grad + wd * weight)``; ``weight -= lr * ((1 - mu) / (1 -
    product) * g + mu' / (1 - product * mu') * mean) / (sqrt(var / (1 - beta2 ** t)) + epsilon)``, where the product is
    that of all shares up to ``mu``.

    Examples
    --------
    >>> weight, mean, var = [torch.ones(1)], [torch.zeros(1)], [torch.zeros(1)]
    >>> nadam(weight, [torch.ones(1)], mean, var, lr=0.5, share=0.5, next_share=0.5, product=0.5, t=1)
    >>> weight
    [tensor([0.4667])]
    """
    grads = lists.decayed(weights, grads, wd, rescale_grad, clip_gradient)
    lists.ema_(mean, grads, beta1)
    lists.ema_of_squares_(var, grads, beta2)
    scale = lists.each(lambda t: lists.root(1 - beta2**t), t)  # taken out of the root, it saves a pass
    roots = lists.roots(var, lists.each(lambda scale: epsilon * scale, scale))
    # Rates of the gradient's and of the mean's part, which are corrected by different products of shares.
    now = lists.each(
        lambda lr, scale, share, product: -lr * scale * (1 - share) / (1 - product),
        lr, scale, share, product,
    )  # fmt: skip
    ahead = lists.each(
        lambda lr, scale, share, product: -lr * scale * share / (1 - product * share),
        lr, scale, next_share, product,
    )  # fmt: skip
    lists.move_(weights, grads, roots, now)
    lists.move_(weights, mean, roots, ahead)


@rule("_adamw_update", forms=("", "mp", "multi", "multi_mp"), factor="rescale_grad")
def adamw(
    weights: Tensors, grads: Tensors, mean: Tensors, var: Tensors, *,
    lr: Rate, beta1: float = 0.9, beta2: float = 0.999, epsilon: Rate = 1e-8, wd: Rate = 0.0, eta: Rate,
    clip_gradient: Limit = -1.0, rescale_grad: Number = 1.0,
) -> None:  # fmt: skip
    """AdamW (Loshchilov and Hutter, 2019): Adam whose weight decay is not in the gradient.

    With ``g = clip(rescale_grad * grad)``: ``mean`` and ``var`` as in `adam_update`, ``weight -= eta * (lr * mean /
    (sqrt(var) + epsilon) + wd * weight)``. Where `rescale_grad` is 0, infinite or nan, nothing changes.

    Parameters
    ----------
    rescale_grad
        The factor of the gradient, in an array of float32; of several elements the first counts.
    eta
        Multiplies the whole step, decay too: what a schedule gives.

    Examples
    --------
    >>> weight, mean, var = [torch.ones(1)], [torch.zeros(1)], [torch.zeros(1)]
    >>> adamw(weight, [torch.ones(1)], mean, var, lr=0.0, eta=0.5, wd=0.5)
    >>> weight
    [tensor([0.7500])]
    """
    grads, _ = lists.prepare(grads, rescale_grad, clip_gradient)
    rate = lists.each(lambda eta, lr: eta * lr, eta, lr)
    if isinstance(rate, (float, int)) and isinstance(wd, (float, int)) and rate:
        # torch's kernel multiplies the decay by the rate.
        decay = lists.each(lambda eta, wd: eta * wd / rate, eta, wd)
        if _fused(fused.adamw_, (weights, grads, mean, var), rate, decay, beta1, beta2, epsilon):
            return
    moments_(mean, var, grads, beta1, beta2)
    if lists.is_some(wd):
        lists.mul_(weights, lists.each(lambda eta, wd: 1 - eta * wd, eta, wd))
    lists.move_(weights, mean, lists.roots(var, epsilon), lists.each(lambda rate: -rate, rate))
