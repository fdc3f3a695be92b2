"""Update operators for one weight."""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from ...errors import ShapeError
from ...params import AtLeast, Params
from . import rules
from ._declare import MASTERS, scalar_array, skipping, update

__all__: list[str] = []

Positive = Annotated[int, AtLeast(1)]


@update("sgd_update", "_sparse_sgd_update")
def _(
    weight: Tensor,
    grad: Tensor,
    *,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> None:
    """Stochastic gradient descent: ``weight = (1 - lr * wd) * weight - lr * clip(rescale_grad * grad)``.

    Parameters
    ----------
    weight, grad
        The weight and its gradient, of one shape and floating type.
    lr
        Learning rate.
    wd
        Weight decay.
    rescale_grad
        The gradient is multiplied by it first.
    clip_gradient
        Each element of the rescaled gradient is cut to this size; a negative number cuts nothing, and 0 all (MXNet's
        help says that 0 cuts nothing).
    lazy_update
        For sparse gradients: whether only their rows are updated. Dense ones are always updated whole.

    Examples
    --------
    >>> import rebind as mx
    >>> weight = mx.nd.ones((2,))
    >>> mx.nd.sgd_update(weight, mx.nd.ones((2,)), lr=0.5, out=weight).asnumpy().tolist()
    [0.5, 0.5]
    """
    rules.sgd([weight], [grad], lr=lr, wd=wd, rescale_grad=rescale_grad, clip_gradient=clip_gradient)


@update("sgd_mom_update", "_sparse_sgd_mom_update", states=("mom",))
def _(
    weight: Tensor,
    grad: Tensor,
    mom: Tensor,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> None:
    """Stochastic gradient descent with momentum.

    ``mom = momentum * mom - lr * (clip(rescale_grad * grad) + wd * weight)``, ``weight += mom``. The learning rate is
    inside of the buffer.

    Parameters
    ----------
    weight, grad
        The weight and its gradient, of one shape and floating type.
    mom
        The last move; written in place.
    lr
        Learning rate.
    momentum
        The part of the last move that goes on.
    wd
        Weight decay.
    rescale_grad
        The gradient is multiplied by it first.
    clip_gradient
        Each element of the rescaled gradient is cut to this size; a negative number cuts nothing.
    lazy_update
        For sparse gradients: whether only their rows are updated. Dense ones are always updated whole.

    Examples
    --------
    >>> import rebind as mx
    >>> weight, mom = mx.nd.ones((2,)), mx.nd.zeros((2,))
    >>> for _ in range(2):
    ...     _ = mx.nd.sgd_mom_update(weight, mx.nd.ones((2,)), mom, lr=0.5, momentum=0.5, out=weight)
    >>> weight.asnumpy().tolist(), mom.asnumpy().tolist()
    ([-0.25, -0.25], [-0.75, -0.75])
    """
    rules.sgd_momentum(
        [weight], [grad], [mom],
        lr=lr, momentum=momentum, wd=wd, rescale_grad=rescale_grad, clip_gradient=clip_gradient,
    )  # fmt: skip


@update("mp_sgd_update", states=("weight32",), types=MASTERS)
def _(
    weight: Tensor,
    grad: Tensor,
    weight32: Tensor,
    *,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> None:
    """`sgd_update` of a copy of the weight in float32, `weight32`; the result is that copy, rounded.

    Parameters
    ----------
    weight, grad
        The weight, whose value is not looked at, and its gradient, both of one type (float16, say).
    weight32
        The copy; written in place.
    lr, wd, rescale_grad, clip_gradient, lazy_update
        As of `sgd_update`.
    """
    rules.through_masters(
        rules.sgd, [weight], [grad], [weight32],
        lr=lr, wd=wd, rescale_grad=rescale_grad, clip_gradient=clip_gradient,
    )  # fmt: skip


@update("mp_sgd_mom_update", states=("mom", "weight32"), types=MASTERS)
def _(
    weight: Tensor,
    grad: Tensor,
    mom: Tensor,
    weight32: Tensor,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> None:
    """`sgd_mom_update` of a copy of the weight in float32, `weight32`; the result is that copy, rounded.

    Parameters
    ----------
    weight, grad
        The weight, whose value is not looked at, and its gradient, both of one type (float16, say).
    mom, weight32
        The last move and the copy, of float32; written in place.
    lr, momentum, wd, rescale_grad, clip_gradient, lazy_update
        As of `sgd_mom_update`.
    """
    rules.through_masters(
        rules.sgd_momentum, [weight], [grad], [weight32], [mom],
        lr=lr, momentum=momentum, wd=wd, rescale_grad=rescale_grad, clip_gradient=clip_gradient,
    )  # fmt: skip


@update("nag_mom_update", states=("mom",))
def _(
    weight: Tensor,
    grad: Tensor,
    mom: Tensor,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> None:
    """Nesterov's accelerated gradient.

    With ``g = clip(rescale_grad * grad) + wd * weight``: ``weight += momentum * (momentum * mom - lr * g) - lr * g``,
    and ``mom = momentum * mom - lr * g``, where this ``g`` has the new weight in it. MXNet does so with ``out=weight``,
    as its optimizer calls it, and takes the old weight otherwise; here the rule is one.

    Parameters
    ----------
    weight, grad
        The weight and its gradient, of one shape and floating type.
    mom
        The last move; written in place.
    lr, momentum, wd, rescale_grad, clip_gradient
        As of `sgd_mom_update`.
    """
    rules.nag(
        [weight], [grad], [mom],
        lr=lr, momentum=momentum, wd=wd, rescale_grad=rescale_grad, clip_gradient=clip_gradient,
    )  # fmt: skip


@update("mp_nag_mom_update", states=("mom", "weight32"), types=MASTERS)
def _(
    weight: Tensor,
    grad: Tensor,
    mom: Tensor,
    weight32: Tensor,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> None:
    """`nag_mom_update` of a copy of the weight in float32, `weight32`; the result is that copy, rounded.

    Parameters
    ----------
    weight, grad
        The weight, whose value is not looked at, and its gradient, both of one type (float16, say).
    mom, weight32
        The last move and the copy, of float32; written in place.
    lr, momentum, wd, rescale_grad, clip_gradient
        As of `sgd_mom_update`.
    """
    rules.through_masters(
        rules.nag, [weight], [grad], [weight32], [mom],
        lr=lr, momentum=momentum, wd=wd, rescale_grad=rescale_grad, clip_gradient=clip_gradient,
    )  # fmt: skip


@update("signsgd_update")
def _(
    weight: Tensor,
    grad: Tensor,
    *,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> None:
    """Steps of one size (Bernstein and others, 2018): ``weight = (1 - lr * wd) * weight - lr * sign(grad)``.

    Parameters
    ----------
    weight, grad
        The weight and its gradient, of one shape and floating type.
    lr, wd
        Learning rate and weight decay.
    rescale_grad, clip_gradient
        Without effect, as in MXNet: the sign is that of the gradient as it comes.
    """
    rules.signsgd([weight], [grad], lr=lr, wd=wd)


@update("signum_update", states=("mom",))
def _(
    weight: Tensor,
    grad: Tensor,
    mom: Tensor,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    wd_lh: float = 0.0,
) -> None:
    """Steps of one size along the momentum (Bernstein and others, 2018).

    ``mom = momentum * mom - (1 - momentum) * (clip(rescale_grad * grad) + wd * weight)``,
    ``weight = (1 - lr * wd_lh) * weight + lr * sign(mom)``.

    Parameters
    ----------
    weight, grad
        The weight and its gradient, of one shape and floating type.
    mom
        The running mean, its sign turned; written in place.
    lr, momentum, wd, rescale_grad, clip_gradient
        As of `sgd_mom_update`.
    wd_lh
        Weight decay beside the momentum.
    """
    rules.signum(
        [weight], [grad], [mom],
        lr=lr, momentum=momentum, wd=wd, wd_lh=wd_lh, rescale_grad=rescale_grad, clip_gradient=clip_gradient,
    )  # fmt: skip


@update("adam_update", "_sparse_adam_update", states=("mean", "var"))
def _(
    weight: Tensor,
    grad: Tensor,
    mean: Tensor,
    var: Tensor,
    *,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> None:
    """Adam (Kingma and Ba, 2015), without the correction of the bias, which the caller puts into `lr`.

    With ``g = clip(rescale_grad * grad + wd * weight)``: ``mean = beta1 * mean + (1 - beta1) * g``, ``var = beta2 * var
    + (1 - beta2) * g ** 2``, ``weight -= lr * mean / (sqrt(var) + epsilon)``.

    Parameters
    ----------
    weight, grad
        The weight and its gradient, of one shape and floating type.
    mean, var
        Running means of the gradient and of its square; written in place.
    lr
        Learning rate.
    beta1, beta2
        How much of the running means goes on.
    epsilon
        Added to the denominator.
    wd
        Weight decay, a part of the gradient.
    rescale_grad
        The gradient is multiplied by it first.
    clip_gradient
        Each element of the gradient, with the decay in it, is cut to this size; a negative number cuts nothing.
    lazy_update
        For sparse gradients: whether only their rows are updated. Dense ones are always updated whole.
    """
    rules.adam(
        [weight], [grad], [mean], [var],
        lr=lr, beta1=beta1, beta2=beta2, epsilon=epsilon, wd=wd,
        rescale_grad=rescale_grad, clip_gradient=clip_gradient,
    )  # fmt: skip


@update(
    "_adamw_update",
    states=("mean", "var"),
    free=("rescale_grad",),
    types={"*": "T", "rescale_grad": torch.float32},
)
def _(
    weight: Tensor,
    grad: Tensor,
    mean: Tensor,
    var: Tensor,
    rescale_grad: Tensor,
    *,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0.0,
    eta: float,
    clip_gradient: float = -1.0,
) -> None:
    """AdamW (Loshchilov and Hutter, 2019): Adam whose weight decay is no part of the gradient.

    With ``g = clip(rescale_grad * grad)``: ``mean`` and ``var`` as in `adam_update`, ``weight -= eta * (lr * mean /
    (sqrt(var) + epsilon) + wd * weight)``. Where `rescale_grad` is 0, infinite or nan, nothing changes.

    Parameters
    ----------
    weight, grad
        The weight and its gradient, of one shape and floating type.
    mean, var
        Running means of the gradient and of its square; written in place.
    rescale_grad
        The factor of the gradient, in an array of float32; of several elements the first counts.
    lr
        Learning rate.
    beta1, beta2
        How much of the running means goes on.
    epsilon
        Added to the denominator.
    wd
        Weight decay.
    eta
        Multiplies the whole step, decay too: what a schedule gives.
    clip_gradient
        Each element of the rescaled gradient is cut to this size; a negative number cuts nothing.
    """
    skipping(
        "_adamw_update", rules.adamw, rescale_grad, [weight], [grad], [mean], [var],
        lr=lr, eta=eta, beta1=beta1, beta2=beta2, epsilon=epsilon, wd=wd, clip_gradient=clip_gradient,
    )  # fmt: skip


@update("_mp_adamw_update", states=("mean", "var", "weight32"), free=("rescale_grad",), types=MASTERS)
def _(
    weight: Tensor,
    grad: Tensor,
    mean: Tensor,
    var: Tensor,
    weight32: Tensor,
    rescale_grad: Tensor,
    *,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0.0,
    eta: float,
    clip_gradient: float = -1.0,
) -> None:
    """`_adamw_update` of a copy of the weight in float32, `weight32`; the result is that copy, rounded.

    Parameters
    ----------
    weight, grad
        The weight and its gradient, both of one type (float16, say).
    mean, var, weight32
        Running means and the copy, of float32; written in place.
    rescale_grad
        The factor of the gradient, in an array of float32; of several elements the first counts.
    lr, beta1, beta2, epsilon, wd, eta, clip_gradient
        As of `_adamw_update`.
    """
    skipping(
        "_mp_adamw_update", rules.adamw_masters, rescale_grad, [weight], [grad.float()], [weight32], [mean], [var],
        lr=lr, eta=eta, beta1=beta1, beta2=beta2, epsilon=epsilon, wd=wd, clip_gradient=clip_gradient,
    )  # fmt: skip


@update("ftml_update", states=("d", "v", "z"))
def _(
    weight: Tensor,
    grad: Tensor,
    d: Tensor,
    v: Tensor,
    z: Tensor,
    *,
    lr: float,
    beta1: float = 0.6,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    t: Positive,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_grad: float = -1.0,
) -> None:
    """Follow the moving leader (Zheng and Kwok, 2017).

    With ``g = clip(rescale_grad * grad + wd * weight)``: ``v = beta2 * v + (1 - beta2) * g ** 2``, ``d' = (1 - beta1 **
    t) / lr * (sqrt(v / (1 - beta2 ** t)) + epsilon)``, ``z = beta1 * z + (1 - beta1) * g - (d' - beta1 * d) * weight``,
    ``d = d'``, ``weight = -z / d``.

    Parameters
    ----------
    weight, grad
        The weight and its gradient, of one shape and floating type.
    d, v, z
        Denominator, running mean of squares, numerator; written in place.
    lr
        Learning rate.
    beta1, beta2
        How much of the running means goes on.
    epsilon
        Added to the denominator.
    t
        The number of this update, from 1.
    wd, rescale_grad
        As of `adam_update`.
    clip_grad
        As `clip_gradient` of `adam_update`.
    """
    rules.ftml(
        [weight], [grad], [d], [v], [z],
        lr=lr, t=t, beta1=beta1, beta2=beta2, epsilon=epsilon, wd=wd,
        rescale_grad=rescale_grad, clip_gradient=clip_grad,
    )  # fmt: skip


@update("ftrl_update", "_sparse_ftrl_update", states=("z", "n"))
def _(
    weight: Tensor,
    grad: Tensor,
    z: Tensor,
    n: Tensor,
    *,
    lr: float,
    lamda1: Annotated[float, AtLeast(0)] = 0.01,
    beta: float = 1.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> None:
    """Follow the regularized leader (McMahan and others, 2013), which makes weights sparse.

    With ``g = clip(rescale_grad * grad)``: ``z += g - (sqrt(n + g ** 2) - sqrt(n)) * weight / lr``, ``n += g ** 2``,
    ``weight = (sign(z) * lamda1 - z) / ((beta + sqrt(n)) / lr + wd)`` where ``|z| > lamda1``, and 0 elsewhere.

    Parameters
    ----------
    weight, grad
        The weight and its gradient, of one shape and floating type.
    z, n
        The sum that decides, and the sum of squares; written in place.
    lr
        Learning rate.
    lamda1
        How strongly weights are drawn to 0; not negative.
    beta
        Makes the learning rate of each element smaller.
    wd
        Weight decay.
    rescale_grad, clip_gradient
        As of `sgd_update`.
    """
    rules.ftrl(
        [weight], [grad], [z], [n],
        lr=lr, lamda1=lamda1, beta=beta, wd=wd, rescale_grad=rescale_grad, clip_gradient=clip_gradient,
    )  # fmt: skip


@update("rmsprop_update", states=("n",))
def _(
    weight: Tensor,
    grad: Tensor,
    n: Tensor,
    *,
    lr: float,
    gamma1: float = 0.95,
    epsilon: float = 1e-8,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
) -> None:
    """RMSProp (Tieleman and Hinton, 2012).

    With ``g = clip(rescale_grad * grad + wd * weight)``: ``n = gamma1 * n + (1 - gamma1) * g ** 2``, ``weight -= lr * g
    / sqrt(n + epsilon)``.

    Parameters
    ----------
    weight, grad
        The weight and its gradient, of one shape and floating type.
    n
        Running mean of squares; written in place.
    lr
        Learning rate.
    gamma1
        How much of the running mean goes on.
    epsilon
        Added under the root.
    wd, rescale_grad, clip_gradient
        As of `adam_update`.
    clip_weights
        Each element of the new weight is cut to this size; a negative number cuts nothing.
    """
    rules.rmsprop(
        [weight], [grad], [n],
        lr=lr, gamma1=gamma1, epsilon=epsilon, wd=wd,
        rescale_grad=rescale_grad, clip_gradient=clip_gradient, clip_weights=clip_weights,
    )  # fmt: skip


@update("rmspropalex_update", states=("n", "g", "delta"))
def _(
    weight: Tensor,
    grad: Tensor,
    n: Tensor,
    g: Tensor,
    delta: Tensor,
    *,
    lr: float,
    gamma1: float = 0.95,
    gamma2: float = 0.9,
    epsilon: float = 1e-8,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
) -> None:
    """RMSProp around the mean gradient, with momentum (Graves, 2013).

    With ``x = clip(rescale_grad * grad + wd * weight)``: ``n = gamma1 * n + (1 - gamma1) * x ** 2``, ``g = gamma1 * g +
    (1 - gamma1) * x``, ``delta = gamma2 * delta - lr * x / sqrt(n - g ** 2 + epsilon)``, ``weight += delta``.

    Parameters
    ----------
    weight, grad
        The weight and its gradient, of one shape and floating type.
    n, g, delta
        Running means of squares and of gradients, and the last move; written in place.
    lr
        Learning rate.
    gamma1, gamma2
        How much of the running means, and of the last move, goes on.
    epsilon
        Added under the root.
    wd, rescale_grad, clip_gradient
        As of `adam_update`.
    clip_weights
        Each element of the new weight is cut to this size; a negative number cuts nothing.
    """
    rules.rmsprop_centered(
        [weight], [grad], [n], [g], [delta],
        lr=lr, gamma1=gamma1, gamma2=gamma2, epsilon=epsilon, wd=wd,
        rescale_grad=rescale_grad, clip_gradient=clip_gradient, clip_weights=clip_weights,
    )  # fmt: skip


@update("_sparse_adagrad_update", states=("history",))
def _adagrad(
    weight: Tensor,
    grad: Tensor,
    history: Tensor,
    *,
    lr: float,
    epsilon: float = 1e-7,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> None:
    """AdaGrad (Duchi and others, 2011).

    With ``g = clip(rescale_grad * grad)``: ``history += g ** 2``, ``weight -= lr * g / sqrt(history + epsilon)``. Rows
    whose gradient is 0 do not change, so that the update of dense arrays is that of sparse ones; MXNet takes sparse
    gradients only.

    Parameters
    ----------
    weight, grad
        The weight and its gradient, of one shape and floating type.
    history
        Sum of squares; written in place.
    lr
        Learning rate.
    epsilon
        Added under the root.
    wd
        Must be 0, as in MXNet.
    rescale_grad, clip_gradient
        As of `sgd_update`.
    """
    rules.adagrad(
        [weight], [grad], [history],
        lr=lr, epsilon=epsilon, rescale_grad=rescale_grad, clip_gradient=clip_gradient,
    )  # fmt: skip


@_adagrad.check
def _(p: Params) -> str | None:
    return f"wd must be 0, this rule has no weight decay; got {p.wd}" if p.wd else None


@update("_contrib_group_adagrad_update", states=("history",), free=("history",))
def _(
    weight: Tensor,
    grad: Tensor,
    history: Tensor,
    *,
    lr: float,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    epsilon: float = 1e-5,
) -> None:
    """AdaGrad with one learning rate for each row.

    With ``g = clip(rescale_grad * grad)``: ``history += mean(g ** 2)`` over each row, ``weight -= lr * g / sqrt(history
    + epsilon)``. MXNet takes sparse gradients only.

    Parameters
    ----------
    weight, grad
        The weight and its gradient, of one shape, (N, ...), and floating type.
    history
        N numbers: (N, 1), (N,) or the like; written in place.
    lr
        Learning rate.
    rescale_grad, clip_gradient
        As of `sgd_update`.
    epsilon
        Added under the root.
    """
    one_for_each_row("_contrib_group_adagrad_update", weight, history)
    rules.group_adagrad(
        [weight], [grad], [history],
        lr=lr, epsilon=epsilon, rescale_grad=rescale_grad, clip_gradient=clip_gradient,
    )  # fmt: skip


@update("lamb_update_phase1", states=("mean", "var"), overwrites=False)
def _(
    weight: Tensor,
    grad: Tensor,
    mean: Tensor,
    var: Tensor,
    *,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    t: Positive,
    bias_correction: bool = True,
    wd: float,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> Tensor:
    """The direction of a step of LAMB (You and others, 2020), for `lamb_update_phase2`.

    With ``g = clip(rescale_grad * grad)``: ``mean = beta1 * mean + (1 - beta1) * g``, ``var = beta2 * var + (1 - beta2)
    * g ** 2``; the result is ``mean' / (sqrt(var') + epsilon) + wd * weight`` with ``mean' = mean / (1 - beta1 ** t)``
    and ``var' = var / (1 - beta2 ** t)``.

    Parameters
    ----------
    weight, grad
        The weight, which stays as it is, and its gradient, of one shape and floating type.
    mean, var
        Running means of the gradient and of its square; written in place.
    beta1, beta2
        How much of the running means goes on.
    epsilon
        Added to the denominator.
    t
        The number of this update, from 1.
    bias_correction
        Otherwise ``mean'`` and ``var'`` are the running means as they are.
    wd
        Weight decay.
    rescale_grad, clip_gradient
        As of `sgd_update`.
    """
    (direction,) = rules.lamb_direction(
        [weight], [grad], [mean], [var],
        t=t, wd=wd, beta1=beta1, beta2=beta2, epsilon=epsilon, bias_correction=bias_correction,
        rescale_grad=rescale_grad, clip_gradient=clip_gradient,
    )  # fmt: skip
    return direction


@update(
    "mp_lamb_update_phase1",
    states=("mean", "var", "weight32"),
    overwrites=False,
    types={"weight": "T", "grad": "T", "*": torch.float32, "output": torch.float32},
)
def _(
    weight: Tensor,
    grad: Tensor,
    mean: Tensor,
    var: Tensor,
    weight32: Tensor,
    *,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    t: Positive,
    bias_correction: bool = True,
    wd: float,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> Tensor:
    """`lamb_update_phase1` for a copy of the weight in float32, `weight32`; the direction is of float32.

    Parameters
    ----------
    weight, grad
        The weight, whose value is not looked at, and its gradient, both of one type (float16, say).
    mean, var
        Running means, of float32; written in place.
    weight32
        The copy, of float32; it stays as it is.
    beta1, beta2, epsilon, t, bias_correction, wd, rescale_grad, clip_gradient
        As of `lamb_update_phase1`.
    """
    (direction,) = rules.lamb_direction(
        [weight32], [grad.float()], [mean], [var],
        t=t, wd=wd, beta1=beta1, beta2=beta2, epsilon=epsilon, bias_correction=bias_correction,
        rescale_grad=rescale_grad, clip_gradient=clip_gradient,
    )  # fmt: skip
    return direction


@update("lamb_update_phase2", free=("r1", "r2"))
def _(
    weight: Tensor,
    g: Tensor,
    r1: Tensor,
    r2: Tensor,
    *,
    lr: float,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
) -> None:
    """A step of LAMB along `g`: ``weight -= lr * r1 / r2 * g``.

    Where a norm is 0, ``r1 / r2`` counts as 1.

    Parameters
    ----------
    weight, g
        The weight, and what `lamb_update_phase1` returned.
    r1, r2
        The norms of `weight` and `g`; one element each.
    lr
        Learning rate.
    lower_bound, upper_bound
        Between these `r1` is brought; a negative number is no bound.
    """
    _lamb_step("lamb_update_phase2", weight, g, r1, r2, lr, lower_bound, upper_bound)


@update(
    "mp_lamb_update_phase2",
    states=("weight32",),
    free=("r1", "r2"),
    types={"weight": "T", "output": "T", "*": torch.float32},
)
def _(
    weight: Tensor,
    g: Tensor,
    r1: Tensor,
    r2: Tensor,
    weight32: Tensor,
    *,
    lr: float,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
) -> None:
    """`lamb_update_phase2` of a copy of the weight in float32, `weight32`; the result is that copy, rounded.

    MXNet leaves the copy as it was, so that training stands still after the first step.

    Parameters
    ----------
    weight, g
        The weight, whose value is not looked at, and what `mp_lamb_update_phase1` returned.
    r1, r2
        The norms of `weight32` and `g`; one element each.
    weight32
        The copy, of float32; written in place.
    lr, lower_bound, upper_bound
        As of `lamb_update_phase2`.
    """
    _lamb_step("mp_lamb_update_phase2", weight32, g, r1, r2, lr, lower_bound, upper_bound)
    weight.copy_(weight32)


def _lamb_step(
    who: str, weight: Tensor, g: Tensor, r1: Tensor, r2: Tensor, lr: float, lower: float, upper: float
) -> None:
    norms = scalar_array(who, "r1", r1), scalar_array(who, "r2", r2)
    rules.lamb_move([weight], [g], norms[:1], norms[1:], lr=lr, lower_bound=lower, upper_bound=upper)


def one_for_each_row(who: str, weight: Tensor, history: Tensor) -> None:
    """Raise a ShapeError when a history does not hold one number for each row."""
    if weight.ndim == 0 or history.numel() != weight.shape[0]:
        raise ShapeError(
            f"{who}: history must hold one number for each row of weight {tuple(weight.shape)}; "
            f"got shape {tuple(history.shape)}"
        )
