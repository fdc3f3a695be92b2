"""How weights are updated: one function for each rule, in place, on lists of tensors.

Both the update operators (`sgd_mom_update` and its relatives) and the optimizers call these. Each takes weights,
gradients and states as lists of one length, writes weights and states in place, and leaves gradients as they are. The
weights are of one type and on one device, and nothing here is recorded: callers switch recording off.

Settings that all have:

``lr``, ``wd``
    Learning rate and weight decay: a number, or a list with one for each weight; a member may be a tensor without axes,
    so that rates which are computed on a device need not leave it.
``rescale_grad``
    Gradients are multiplied by it.
``clip_gradient``
    Each element of a rescaled gradient is cut to this size. None, or a negative number, cuts nothing.

In the formulas ``g`` is the gradient, rescaled and clipped; ``decayed g`` is ``clip(rescale_grad * grad + wd *
weight)``. MXNet keeps the settings in single precision, and so do the rules where it is seen: in ``1 - beta`` and ``1 -
beta ** t``.

Examples
--------
>>> weight, momentum = torch.ones(2), torch.zeros(2)
>>> sgd_momentum([weight], [torch.ones(2)], [momentum], lr=0.1, momentum=0.9)
>>> weight, momentum
(tensor([0.9000, 0.9000]), tensor([-0.1000, -0.1000]))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

__all__ = [
    "Rate", "adadelta", "adagrad", "adam", "adamax", "adamw", "adamw_masters", "can_fuse", "dcasgd", "ftml", "ftrl",
    "group_adagrad", "lamb", "lamb_direction", "lamb_move", "lars_rates", "nadam", "nag", "prepare", "rmsprop",
    "rmsprop_centered", "sgd", "sgd_momentum", "sgld", "signsgd", "signum", "single", "through_masters",
]  # fmt: skip

Rate: TypeAlias = "float | Sequence[float | Tensor]"
Tensors: TypeAlias = "Sequence[Tensor]"


# ---- what rules are made of ------------------------------------------------------------------------------------


def single(number: float) -> float:
    """Return a number in single precision.

    MXNet's kernels hold settings so. ``1 - 0.999`` then differs by one part in 100,000, and so would the moments.
    """
    return float(np.float32(number))


def _each(function: Callable[..., Any], *rates: Any) -> Any:
    """Apply `function` to numbers, or for each weight where one of the rates is a list."""
    length = next((len(rate) for rate in rates if isinstance(rate, (list, tuple))), None)
    if length is None:
        return function(*rates)
    columns = [rate if isinstance(rate, (list, tuple)) else [rate] * length for rate in rates]
    return [function(*row) for row in zip(*columns, strict=True)]


def _is_some(rate: Rate) -> bool:
    """Tell whether a rate is other than 0, for a weight at least; of a tensor nothing is known, so it is."""
    members = rate if isinstance(rate, (list, tuple)) else (rate,)
    return any(isinstance(member, Tensor) or member != 0 for member in members)


def _scale_(targets: Any, rate: Any) -> None:
    torch._foreach_mul_(targets, rate)


def _add_(targets: Any, sources: Any, rate: Any) -> None:
    """``targets += rate * sources``."""
    if isinstance(rate, (list, tuple)):
        torch._foreach_add_(targets, torch._foreach_mul(sources, list(rate)))
    else:
        torch._foreach_add_(targets, sources, alpha=rate)


def _clip_(targets: Any, limit: float | None) -> None:
    if limit is not None and limit >= 0:
        torch._foreach_clamp_min_(targets, -limit)
        torch._foreach_clamp_max_(targets, limit)


def prepare(
    grads: Any,
    rescale_grad: float,
    clip_gradient: float | None,
    weights: Any = None,
    wd: Rate = 0.0,
) -> tuple[Any, Rate]:
    """Return gradients rescaled and clipped, and the weight decay left to add.

    With `weights` the decay is clipped too: where something is cut it is then in the gradients, and nothing is left.
    What needs no change is returned as it is.
    """
    cuts = clip_gradient is not None and clip_gradient >= 0
    if rescale_grad == 1 and not cuts:
        return grads, wd
    ready = list(torch._foreach_mul(grads, rescale_grad))
    if cuts:
        if weights is not None and _is_some(wd):
            _add_(ready, weights, wd)
            wd = 0.0
        _clip_(ready, clip_gradient)
    return ready, wd


def _decayed(weights: Any, grads: Any, wd: Any, rescale_grad: float, clip_gradient: float | None) -> Any:
    """Return ``clip(rescale_grad * grad + wd * weight)``."""
    grads, wd = prepare(grads, rescale_grad, clip_gradient, weights, wd)
    if not _is_some(wd):
        return grads
    if isinstance(wd, (list, tuple)):
        return torch._foreach_add(grads, torch._foreach_mul(weights, list(wd)))
    return torch._foreach_add(grads, weights, alpha=wd)


def _average_(means: Any, values: Any, share: float) -> None:
    """``means = share * means + (1 - share) * values``."""
    _scale_(means, share)
    _add_(means, values, 1 - share)


def _average_squares_(means: Any, values: Any, share: float) -> None:
    """``means = share * means + (1 - share) * values ** 2``."""
    _scale_(means, share)
    torch._foreach_addcmul_(means, values, values, 1 - share)


def _move_(weights: Any, numerators: Any, denominators: Any, rate: Any) -> None:
    """``weights += rate * numerators / denominators``."""
    if isinstance(rate, (list, tuple)):
        _add_(weights, torch._foreach_div(numerators, denominators), rate)
    else:
        torch._foreach_addcdiv_(weights, numerators, denominators, rate)


def can_fuse(weights: Tensors, *others: Tensors) -> bool:
    """Tell whether torch's fused kernel is there and safe; weights are of one type and device.

    On the CPU it checks nothing: it walks over each memory as over the weight's, whatever size, type or order the
    others have. On a GPU the foreach form is used, whose kernels join many arrays too.
    """
    if not hasattr(torch, "_fused_sgd_"):
        return False
    dtype = weights[0].dtype
    sizes = [each.numel() for each in weights]
    for group in (weights, *others):
        for each, size in zip(group, sizes, strict=True):
            if each.numel() != size or each.dtype is not dtype or not (each.is_cpu and each.is_contiguous()):
                return False
    return True


def through_masters(
    rule: Callable[..., None],
    weights: Any,
    grads: Any,
    masters: Any,
    *states: Any,
    **settings: Any,
) -> None:
    """Apply a rule to copies of the weights in float32, and round the weights from them."""
    rule(masters, [grad.float() for grad in grads], *states, **settings)
    torch._foreach_copy_(weights, masters)


# ---- the rules -------------------------------------------------------------------------------------------------


def sgd(
    weights: Any,
    grads: Any,
    *,
    lr: Rate,
    wd: Rate = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float | None = None,
) -> None:
    """``weight = (1 - lr * wd) * weight - lr * g``."""
    scale = rescale_grad
    if clip_gradient is not None and clip_gradient >= 0:
        grads, _ = prepare(grads, rescale_grad, clip_gradient)
        scale = 1.0
    if _is_some(wd):
        _scale_(weights, _each(lambda lr, wd: 1 - lr * wd, lr, wd))
    _add_(weights, grads, _each(lambda lr: -lr * scale, lr))


def sgd_momentum(
    weights: Any,
    grads: Any,
    buffers: Any,
    *,
    lr: Rate,
    momentum: float,
    wd: Rate = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float | None = None,
) -> None:
    """``buffer = momentum * buffer - lr * (g + wd * weight)``, ``weight += buffer``; in one to three passes."""
    scale = rescale_grad
    if clip_gradient is not None and clip_gradient >= 0:
        grads, _ = prepare(grads, rescale_grad, clip_gradient)
        scale = 1.0
    if (
        scale
        and momentum  # without one it leaves the buffers alone
        and isinstance(lr, (float, int))
        and isinstance(wd, (float, int))
        and can_fuse(weights, grads, buffers)
    ):
        # torch's kernel computes ``buffer = momentum * buffer + (1 - dampening) * (grad + decay * weight)`` and
        # ``weight -= rate * buffer`` in one pass; with a rate of -1 that is MXNet's form.
        torch._fused_sgd_(
            weights,
            grads,
            buffers,
            weight_decay=wd / scale,
            momentum=momentum,
            lr=-1.0,
            dampening=1 + lr * scale,
            nesterov=False,
            maximize=False,
            is_first_step=False,
        )
        return
    _scale_(buffers, momentum)
    _add_(buffers, grads, _each(lambda lr: -lr * scale, lr))
    if _is_some(wd):
        _add_(buffers, weights, _each(lambda lr, wd: -lr * wd, lr, wd))
    torch._foreach_add_(weights, buffers)


def nag(
    weights: Any,
    grads: Any,
    buffers: Any,
    *,
    lr: Rate,
    momentum: float,
    wd: Rate = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float | None = None,
) -> None:
    """Nesterov's accelerated gradient.

    ``weight += momentum * (momentum * buffer - lr * (g + wd * weight)) - lr * (g + wd * weight)``, then
    ``buffer = momentum * buffer - lr * (g + wd * weight)`` with the new weight: MXNet's kernel has written it by then.
    """
    grads, _ = prepare(grads, rescale_grad, clip_gradient)
    rate = _each(lambda lr: -lr, lr)
    _scale_(buffers, momentum)
    _add_(buffers, grads, rate)
    if _is_some(wd):
        _scale_(weights, _each(lambda lr, wd: 1 - lr * wd * (1 + momentum), lr, wd))
    _add_(weights, buffers, momentum)
    _add_(weights, grads, rate)
    if _is_some(wd):
        _add_(buffers, weights, _each(lambda lr, wd: -lr * wd, lr, wd))


def dcasgd(
    weights: Any,
    grads: Any,
    buffers: Any,
    previous: Any,
    *,
    lr: float,
    lamda: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float | None = None,
) -> None:
    """Stochastic gradient descent that makes up for the age of a gradient (Zheng and others, 2017).

    ``buffer = momentum * buffer - lr * (g + wd * weight + lamda * g ** 2 * (weight - previous))``, ``previous =
    weight``, ``weight += buffer``. Without momentum `buffers` holds None.
    """
    grads, _ = prepare(grads, rescale_grad, clip_gradient)
    drift = torch._foreach_sub(weights, previous)
    torch._foreach_mul_(drift, grads)
    torch._foreach_mul_(drift, grads)
    moves = torch._foreach_add(grads, drift, alpha=lamda)
    if wd:
        _add_(moves, weights, wd)
    _scale_(moves, -lr)
    if momentum:
        _scale_(buffers, momentum)
        torch._foreach_add_(buffers, moves)
        moves = buffers
    torch._foreach_copy_(previous, weights)
    torch._foreach_add_(weights, moves)


def sgld(
    weights: Any,
    grads: Any,
    noise: Any,
    *,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float | None = None,
) -> None:
    """Langevin dynamics (Welling and Teh, 2011), with `noise` of variance 1.

    ``weight += sqrt(lr) * noise - lr / 2 * (g + wd * weight)``.
    """
    sgd(weights, grads, lr=lr / 2, wd=wd, rescale_grad=rescale_grad, clip_gradient=clip_gradient)
    _add_(weights, noise, math.sqrt(lr))


def signsgd(weights: Any, grads: Any, *, lr: Rate, wd: Rate = 0.0) -> None:
    """``weight = (1 - lr * wd) * weight - lr * sign(grad)``."""
    if _is_some(wd):
        _scale_(weights, _each(lambda lr, wd: 1 - lr * wd, lr, wd))
    _add_(weights, torch._foreach_sign(grads), _each(lambda lr: -lr, lr))


def signum(
    weights: Any,
    grads: Any,
    buffers: Any,
    *,
    lr: Rate,
    momentum: float,
    wd: Rate = 0.0,
    wd_lh: Rate = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float | None = None,
) -> None:
    """``buffer = momentum * buffer - (1 - momentum) * (g + wd * weight)``.

    ``weight = (1 - lr * wd_lh) * weight + lr * sign(buffer)``.
    """
    grads, _ = prepare(grads, rescale_grad, clip_gradient)
    share = 1 - single(momentum)
    _scale_(buffers, single(momentum))
    if _is_some(wd):
        _add_(buffers, weights, _each(lambda wd: -share * wd, wd))
    _add_(buffers, grads, -share)
    if _is_some(wd_lh):
        _scale_(weights, _each(lambda lr, wd_lh: 1 - lr * wd_lh, lr, wd_lh))
    _add_(weights, torch._foreach_sign(buffers), lr)


def adam(
    weights: Any,
    grads: Any,
    means: Any,
    variances: Any,
    *,
    lr: Rate,
    wd: Rate = 0.0,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    rescale_grad: float = 1.0,
    clip_gradient: float | None = None,
) -> None:
    """Adam; on the CPU in one pass, and one more to rescale the gradients.

    ``mean = beta1 * mean + (1 - beta1) * decayed g``, ``variance = beta2 * variance + (1 - beta2) * (decayed g) ** 2``,
    ``weight -= lr * mean / (sqrt(variance) + epsilon)``. A correction of the moments' bias belongs into `lr`.
    """
    grads, wd = prepare(grads, rescale_grad, clip_gradient, weights, wd)
    beta1, beta2 = single(beta1), single(beta2)
    arrays = (weights, grads, means, variances)
    if _can_fuse_adam(arrays, beta1, beta2, lr, wd):
        _fused_adam(torch._fused_adam_, arrays, lr, wd, beta1, beta2, epsilon)
        return
    if _is_some(wd):
        grads = _decayed(weights, grads, wd, 1.0, None)
    _adam_moments_(means, variances, grads, beta1, beta2)
    _move_(weights, means, _roots(variances, epsilon), _each(lambda lr: -lr, lr))


def _can_fuse_adam(arrays: Any, beta1: float, beta2: float, *rates: Any) -> bool:
    """Tell whether torch's kernel takes these settings: numbers as rates, averages that forget."""
    numbers = all(isinstance(rate, (float, int)) for rate in rates)
    return numbers and 0 <= beta1 < 1 and 0 <= beta2 < 1 and can_fuse(*arrays)


def _fused_adam(
    kernel: Any, arrays: Any, lr: Any, wd: Any, beta1: float, beta2: float, epsilon: float
) -> None:
    """Run torch's kernel of Adam or AdamW, in one pass."""
    # At an infinite number of steps torch's own correction is none, and ours is in the rate.
    steps = [torch.tensor(math.inf)] * len(arrays[0])
    kernel(
        *arrays, [], steps, lr=lr, beta1=beta1, beta2=beta2, weight_decay=wd, eps=epsilon,
        amsgrad=False, maximize=False,
    )  # fmt: skip


def _adam_moments_(means: Any, variances: Any, grads: Any, beta1: float, beta2: float) -> None:
    _average_(means, grads, beta1)
    _average_squares_(variances, grads, beta2)


def _roots(variances: Any, epsilon: float) -> Any:
    roots = torch._foreach_sqrt(variances)
    torch._foreach_add_(roots, epsilon)
    return roots


def adamax(
    weights: Any,
    grads: Any,
    means: Any,
    largest: Any,
    *,
    lr: float,
    wd: float = 0.0,
    beta1: float = 0.9,
    beta2: float = 0.999,
    rescale_grad: float = 1.0,
    clip_gradient: float | None = None,
) -> None:
    """Adam with the infinity norm in place of the second moment (Kingma and Ba, 2015, section 7).

    ``mean = beta1 * mean + (1 - beta1) * decayed g``, ``u = max(beta2 * u, |decayed g|)``, ``weight -= lr * mean / u``;
    where ``u`` is 0, so that no gradient came yet, the weight stays.
    """
    grads = _decayed(weights, grads, wd, rescale_grad, clip_gradient)
    _average_(means, grads, beta1)
    _scale_(largest, beta2)
    torch._foreach_maximum_(largest, torch._foreach_abs(grads))
    tiny = torch.finfo(largest[0].dtype).tiny
    _move_(weights, means, torch._foreach_clamp_min(largest, tiny), -lr)


def nadam(
    weights: Any,
    grads: Any,
    means: Any,
    variances: Any,
    *,
    lr: float,
    share: float,
    next_share: float,
    product: float,
    t: int,
    wd: float = 0.0,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    rescale_grad: float = 1.0,
    clip_gradient: float | None = None,
) -> None:
    """Adam with Nesterov's look ahead (Dozat, 2016); ``mu`` and ``mu'`` are this and the next share of the mean.

    Moments as in `adam`, from ``decayed g``; ``weight -= lr * ((1 - mu) / (1 - product) * decayed g + mu' / (1 -
    product * mu') * mean) / (sqrt(variance / (1 - beta2 ** t)) + epsilon)``, where the product is that of all
    shares up to ``mu``.
    """
    grads = _decayed(weights, grads, wd, rescale_grad, clip_gradient)
    _average_(means, grads, beta1)
    _average_squares_(variances, grads, beta2)
    scale = math.sqrt(1 - beta2**t)  # taken out of the root, it saves a pass
    roots = _roots(variances, epsilon * scale)
    _move_(weights, grads, roots, -lr * scale * (1 - share) / (1 - product))
    _move_(weights, means, roots, -lr * scale * next_share / (1 - product * next_share))


def adamw(
    weights: Any,
    grads: Any,
    means: Any,
    variances: Any,
    *,
    lr: Rate,
    eta: Rate = 1.0,
    wd: Rate = 0.0,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    rescale_grad: float = 1.0,
    clip_gradient: float | None = None,
) -> None:
    """Adam whose weight decay is no part of the gradient (Loshchilov and Hutter, 2019).

    Moments as in `adam`, from ``g``; ``weight -= eta * (lr * mean / (sqrt(variance) + epsilon) + wd * weight)``.
    """
    grads, _ = prepare(grads, rescale_grad, clip_gradient)
    beta1, beta2 = single(beta1), single(beta2)
    arrays = (weights, grads, means, variances)
    if _can_fuse_adam(arrays, beta1, beta2, lr, eta, wd) and lr:
        # torch's kernel multiplies the decay by the rate.
        _fused_adam(torch._fused_adamw_, arrays, eta * lr, wd / lr, beta1, beta2, epsilon)  # type: ignore
        return
    _adam_moments_(means, variances, grads, beta1, beta2)
    if _is_some(wd):
        _scale_(weights, _each(lambda eta, wd: 1 - eta * wd, eta, wd))
    _move_(weights, means, _roots(variances, epsilon), _each(lambda eta, lr: -eta * lr, eta, lr))


def adamw_masters(
    weights: Any, grads: Any, masters: Any, means: Any, variances: Any, **settings: Any
) -> None:
    """`adamw` on copies of the weights in float32."""
    through_masters(adamw, weights, grads, masters, means, variances, **settings)


def ftml(
    weights: Any,
    grads: Any,
    denominators: Any,
    variances: Any,
    numerators: Any,
    *,
    lr: Rate,
    t: int,
    wd: Rate = 0.0,
    beta1: float = 0.6,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    rescale_grad: float = 1.0,
    clip_gradient: float | None = None,
) -> None:
    """Follow the moving leader (Zheng and Kwok, 2017); ``v`` variance, ``d`` denominator, ``z`` numerator.

    ``v = beta2 * v + (1 - beta2) * (decayed g) ** 2``, ``d' = (1 - beta1 ** t) / lr * (sqrt(v / (1 - beta2 ** t)) +
    epsilon)``, ``z = beta1 * z + (1 - beta1) * decayed g - (d' - beta1 * d) * weight``, ``weight = -z / d'``.
    """
    grads = _decayed(weights, grads, wd, rescale_grad, clip_gradient)
    beta1, beta2 = single(beta1), single(beta2)
    _average_squares_(variances, grads, beta2)
    leaders = torch._foreach_div(variances, 1 - single(beta2**t))
    torch._foreach_sqrt_(leaders)
    torch._foreach_add_(leaders, epsilon)
    _scale_(leaders, _each(lambda lr: (1 - single(beta1**t)) / lr, lr))
    _average_(numerators, grads, beta1)
    _scale_(denominators, -beta1)
    torch._foreach_add_(denominators, leaders)
    torch._foreach_addcmul_(numerators, denominators, weights, -1)
    torch._foreach_copy_(denominators, leaders)
    torch._foreach_copy_(weights, numerators)
    torch._foreach_div_(weights, leaders)
    torch._foreach_neg_(weights)


def ftrl(
    weights: Any,
    grads: Any,
    sums: Any,
    squares: Any,
    *,
    lr: Any,
    lamda1: float = 0.01,
    beta: float = 1.0,
    wd: Any = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float | None = None,
) -> None:
    """Follow the regularized leader (McMahan and others, 2013); ``z`` sum, ``n`` sum of squares.

    ``z += g - (sqrt(n + g ** 2) - sqrt(n)) * weight / lr``, ``n += g ** 2``, ``weight = (sign(z) * lamda1 - z) / ((beta
    + sqrt(n)) / lr + wd)`` where ``|z| > lamda1``, 0 elsewhere.
    """
    grads, _ = prepare(grads, rescale_grad, clip_gradient)
    old = torch._foreach_sqrt(squares)
    torch._foreach_addcmul_(squares, grads, grads)
    roots = torch._foreach_sqrt(squares)
    torch._foreach_sub_(old, roots)
    torch._foreach_mul_(old, weights)
    torch._foreach_div_(old, lr)
    torch._foreach_add_(sums, grads)
    torch._foreach_add_(sums, old)
    torch._foreach_add_(roots, beta)
    torch._foreach_div_(roots, lr)
    if _is_some(wd):
        torch._foreach_add_(roots, wd)
    # Cut to lamda1, less z, it is sign(z) * lamda1 - z beyond, and 0 within.
    torch._foreach_copy_(weights, sums)
    _clip_(weights, lamda1)
    torch._foreach_sub_(weights, sums)
    torch._foreach_div_(weights, roots)


def rmsprop(
    weights: Any,
    grads: Any,
    squares: Any,
    *,
    lr: Rate,
    gamma1: float = 0.95,
    epsilon: float = 1e-8,
    wd: Rate = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float | None = None,
    clip_weights: float | None = None,
) -> None:
    """``n = gamma1 * n + (1 - gamma1) * (decayed g) ** 2``, ``weight -= lr * decayed g / sqrt(n + epsilon)``.

    A `clip_weights` that is not negative cuts the new weights to its size (Tieleman and Hinton, 2012).
    """
    grads = _decayed(weights, grads, wd, rescale_grad, clip_gradient)
    _average_squares_(squares, grads, single(gamma1))
    roots = torch._foreach_add(squares, epsilon)
    torch._foreach_sqrt_(roots)
    _move_(weights, grads, roots, _each(lambda lr: -lr, lr))
    _clip_(weights, clip_weights)


def rmsprop_centered(
    weights: Any,
    grads: Any,
    squares: Any,
    means: Any,
    moves: Any,
    *,
    lr: Rate,
    gamma1: float = 0.95,
    gamma2: float = 0.9,
    epsilon: float = 1e-8,
    wd: Rate = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float | None = None,
    clip_weights: float | None = None,
) -> None:
    """RMSProp around the mean gradient, with momentum (Graves, 2013); ``n`` square, ``m`` mean, ``delta`` move.

    ``n`` as in `rmsprop`, ``m = gamma1 * m + (1 - gamma1) * decayed g``, ``delta = gamma2 * delta - lr * decayed g /
    sqrt(n - m ** 2 + epsilon)``, ``weight += delta``.
    """
    grads = _decayed(weights, grads, wd, rescale_grad, clip_gradient)
    _average_squares_(squares, grads, single(gamma1))
    _average_(means, grads, single(gamma1))
    roots = torch._foreach_addcmul(squares, means, means, -1)
    torch._foreach_add_(roots, epsilon)
    torch._foreach_sqrt_(roots)
    _scale_(moves, gamma2)
    _move_(moves, grads, roots, _each(lambda lr: -lr, lr))
    torch._foreach_add_(weights, moves)
    _clip_(weights, clip_weights)


def adadelta(
    weights: Any,
    grads: Any,
    squares: Any,
    moves: Any,
    *,
    rho: float = 0.9,
    epsilon: float = 1e-5,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float | None = None,
) -> None:
    """AdaDelta (Zeiler, 2012), which has no learning rate; ``n`` mean square of gradients, ``d`` of moves.

    ``n = rho * n + (1 - rho) * g ** 2``, ``delta = sqrt(d + epsilon) / sqrt(n + epsilon) * g``, ``d = rho * d +
    (1 - rho) * delta ** 2``, ``weight -= delta + wd * weight``.
    """
    grads, _ = prepare(grads, rescale_grad, clip_gradient)
    _average_squares_(squares, grads, rho)
    delta = torch._foreach_add(moves, epsilon)
    torch._foreach_sqrt_(delta)
    roots = torch._foreach_add(squares, epsilon)
    torch._foreach_sqrt_(roots)
    torch._foreach_div_(delta, roots)
    torch._foreach_mul_(delta, grads)
    _average_squares_(moves, delta, rho)
    if wd:
        _scale_(weights, 1 - wd)
    torch._foreach_sub_(weights, delta)


def adagrad(
    weights: Any,
    grads: Any,
    histories: Any,
    *,
    lr: Rate,
    epsilon: float = 1e-7,
    wd: Rate = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float | None = None,
) -> None:
    """AdaGrad (Duchi and others, 2011).

    ``history += g ** 2``, ``weight -= lr * (g / sqrt(history + epsilon) + wd * weight)``.
    """
    grads, _ = prepare(grads, rescale_grad, clip_gradient)
    torch._foreach_addcmul_(histories, grads, grads)
    _adagrad_move_(weights, grads, histories, lr, epsilon, wd)


def group_adagrad(
    weights: Any,
    grads: Any,
    histories: Any,
    *,
    lr: Rate,
    epsilon: float = 1e-5,
    rescale_grad: float = 1.0,
    clip_gradient: float | None = None,
) -> None:
    """AdaGrad with one rate for each row.

    ``history += mean(g ** 2)`` over the row, ``weight -= lr * g / sqrt(history + epsilon)``. A history holds one number
    for each row, in any shape.
    """
    grads, _ = prepare(grads, rescale_grad, clip_gradient)
    rows = [history.view(-1) for history in histories]
    means = [g.square().flatten(1).mean(1) if g.ndim > 1 else g.square() for g in grads]
    torch._foreach_add_(rows, means)
    wide = [row.view(-1, *[1] * (g.ndim - 1)) for row, g in zip(rows, grads, strict=True)]
    _adagrad_move_(weights, grads, wide, lr, epsilon, 0.0)


def _adagrad_move_(weights: Any, grads: Any, histories: Any, lr: Rate, epsilon: float, wd: Rate) -> None:
    roots = torch._foreach_add(histories, epsilon)
    torch._foreach_sqrt_(roots)
    if _is_some(wd):
        _scale_(weights, _each(lambda lr, wd: 1 - lr * wd, lr, wd))
    _move_(weights, grads, roots, _each(lambda lr: -lr, lr))


def lamb_direction(
    weights: Any,
    grads: Any,
    means: Any,
    variances: Any,
    *,
    t: int | Sequence[int],
    wd: Rate = 0.0,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    bias_correction: bool = True,
    rescale_grad: float = 1.0,
    clip_gradient: float | None = None,
) -> Any:
    """Return LAMB's directions (You and others, 2020), new tensors; the moments are written, the weights are not.

    Moments as in `adam`, from ``g``, with the correction of their bias; ``mean / (sqrt(variance) + epsilon) + wd *
    weight``.
    """
    grads, _ = prepare(grads, rescale_grad, clip_gradient)
    beta1, beta2 = single(beta1), single(beta2)
    _adam_moments_(means, variances, grads, beta1, beta2)
    if bias_correction:
        roots = torch._foreach_div(variances, _each(lambda t: 1 - single(beta2**t), t))
        torch._foreach_sqrt_(roots)
        torch._foreach_add_(roots, epsilon)
        _scale_(roots, _each(lambda t: 1 - single(beta1**t), t))
    else:
        roots = _roots(variances, epsilon)
    directions = torch._foreach_div(means, roots)
    if _is_some(wd):
        _add_(directions, weights, wd)
    return directions


def lamb_move(
    weights: Any,
    directions: Any,
    weight_norms: Sequence[Tensor],
    direction_norms: Sequence[Tensor],
    *,
    lr: Rate,
    lower_bound: float | None = None,
    upper_bound: float | None = None,
) -> None:
    """``weight -= lr * r1 / r2 * direction``, with the norms ``r1`` of the weight and ``r2`` of its direction.

    ``r1`` is brought within the bounds that are not negative. Where a norm is 0, ``r1 / r2`` counts as 1.
    """
    ratios = []
    for r1, r2 in zip(weight_norms, direction_norms, strict=True):
        if lower_bound is not None and lower_bound >= 0:
            r1 = r1.clamp(min=lower_bound)
        if upper_bound is not None and upper_bound >= 0:
            r1 = r1.clamp(max=upper_bound)
        ratios.append(torch.where((r1 == 0) | (r2 == 0), 1.0, r1 / r2))
    _add_(weights, torch._foreach_mul(directions, ratios), _each(lambda lr: -lr, lr))


def lamb(
    weights: Any,
    grads: Any,
    means: Any,
    variances: Any,
    *,
    lr: Rate,
    lower_bound: float | None = None,
    upper_bound: float | None = None,
    **settings: Any,
) -> None:
    """LAMB: `lamb_move` along `lamb_direction`, with the norms of both."""
    directions = lamb_direction(weights, grads, means, variances, **settings)
    # The square of a half precision number overflows soon.
    wide = torch.float32 if weights[0].dtype in (torch.float16, torch.bfloat16) else None
    norms = [torch._foreach_norm(group, 2, wide) for group in (weights, directions)]
    lamb_move(weights, directions, *norms, lr=lr, lower_bound=lower_bound, upper_bound=upper_bound)


def lars_rates(
    lrs: Tensor | float,
    weight_squares: Tensor,
    grad_squares: Tensor,
    wds: Tensor | float,
    *,
    eta: float,
    eps: float,
    rescale_grad: float = 1.0,
) -> Tensor:
    """Return LARS's learning rates (You and others, 2017) from the sums of squares of weights and gradients.

    ``lr * eta * |w| / (rescale_grad * |g| + wd * |w| + eps)``; ``lr`` where a norm is 0.
    """
    weight_norms, grad_norms = weight_squares.sqrt(), grad_squares.sqrt()
    scaled = lrs * eta * weight_norms / (grad_norms * rescale_grad + wds * weight_norms + eps)
    return torch.where((weight_squares > 0) & (grad_squares > 0), scaled, lrs)
