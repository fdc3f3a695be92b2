"""Update operators for several weights: the arrays of the first weight, then those of the second, and so on."""

from __future__ import annotations

from torch import Tensor

from .._spec import operator
from . import rules
from ._declare import columns, multi_update, skipping

__all__: list[str] = []

_RATES = ("lrs", "wds")


@multi_update("multi_sgd_update", arrays=("weight", "grad"), each=_RATES)
def _(
    *data: Tensor,
    lrs: tuple[float, ...],
    wds: tuple[float, ...],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
) -> None:
    """`sgd_update` of several weights at once.

    Parameters
    ----------
    data
        Weight and gradient of each, one after the other.
    lrs, wds
        Learning rate and weight decay of each weight.
    rescale_grad, clip_gradient
        As of `sgd_update`.
    num_weights
        How many weights there are.

    Examples
    --------
    >>> import rebind as mx
    >>> w = [mx.nd.ones((2,)), mx.nd.ones((3,))]
    >>> g = [mx.nd.ones((2,)), mx.nd.ones((3,))]
    >>> _ = mx.nd.multi_sgd_update(w[0], g[0], w[1], g[1], lrs=(0.5, 0.25), wds=(0, 0), num_weights=2, out=w)
    >>> w[1].asnumpy().tolist()
    [0.75, 0.75, 0.75]
    """
    rules.sgd(*columns(data, 2), lr=lrs, wd=wds, rescale_grad=rescale_grad, clip_gradient=clip_gradient)


@multi_update("multi_sgd_mom_update", arrays=("weight", "grad", "mom"), states=("mom",), each=_RATES)
def _(
    *data: Tensor,
    lrs: tuple[float, ...],
    wds: tuple[float, ...],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
) -> None:
    """`sgd_mom_update` of several weights at once.

    Parameters
    ----------
    data
        Weight, gradient and momentum of each, one after the other.
    lrs, wds
        Learning rate and weight decay of each weight.
    momentum, rescale_grad, clip_gradient
        As of `sgd_mom_update`.
    num_weights
        How many weights there are.
    """
    rules.sgd_momentum(
        *columns(data, 3),
        lr=lrs, wd=wds, momentum=momentum, rescale_grad=rescale_grad, clip_gradient=clip_gradient,
    )  # fmt: skip


@multi_update(
    "multi_mp_sgd_update",
    arrays=("weight", "grad", "weight32"),
    states=("weight32",),
    each=_RATES,
    masters=True,
)
def _(
    *data: Tensor,
    lrs: tuple[float, ...],
    wds: tuple[float, ...],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
) -> None:
    """`mp_sgd_update` of several weights at once.

    Parameters
    ----------
    data
        Weight, gradient and master copy of each, one after the other.
    lrs, wds
        Learning rate and weight decay of each weight.
    rescale_grad, clip_gradient
        As of `sgd_update`.
    num_weights
        How many weights there are.
    """
    rules.through_masters(
        rules.sgd, *columns(data, 3), lr=lrs, wd=wds, rescale_grad=rescale_grad, clip_gradient=clip_gradient
    )


@multi_update(
    "multi_mp_sgd_mom_update",
    arrays=("weight", "grad", "mom", "weight32"),
    states=("mom", "weight32"),
    each=_RATES,
    masters=True,
)
def _(
    *data: Tensor,
    lrs: tuple[float, ...],
    wds: tuple[float, ...],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
) -> None:
    """`mp_sgd_mom_update` of several weights at once.

    Parameters
    ----------
    data
        Weight, gradient, momentum and master copy of each, one after the other.
    lrs, wds
        Learning rate and weight decay of each weight.
    momentum, rescale_grad, clip_gradient
        As of `sgd_mom_update`.
    num_weights
        How many weights there are.
    """
    weights, grads, moms, masters = columns(data, 4)
    rules.through_masters(
        rules.sgd_momentum, weights, grads, masters, moms,
        lr=lrs, wd=wds, momentum=momentum, rescale_grad=rescale_grad, clip_gradient=clip_gradient,
    )  # fmt: skip


def _preloaded(data: tuple[Tensor, ...]) -> dict[str, list[Tensor]]:
    """Return learning rates and weight decays, which are the last two arrays; they stay on their device."""
    lrs, wds = data[-2:]
    return {"lr": list(lrs.unbind()), "wd": list(wds.unbind())}


@multi_update("preloaded_multi_sgd_update", arrays=("weight", "grad"), closes=_RATES)
def _(*data: Tensor, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1) -> None:
    """`multi_sgd_update` with learning rates and weight decays in arrays.

    Parameters
    ----------
    data
        Weight and gradient of each, one after the other; then all learning rates and all weight decays, float32.
    rescale_grad, clip_gradient
        As of `sgd_update`.
    num_weights
        How many weights there are.
    """
    rules.sgd(
        *columns(data, 2, 2), **_preloaded(data), rescale_grad=rescale_grad, clip_gradient=clip_gradient
    )


@multi_update(
    "preloaded_multi_sgd_mom_update", arrays=("weight", "grad", "mom"), states=("mom",), closes=_RATES
)
def _(
    *data: Tensor,
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
) -> None:
    """`multi_sgd_mom_update` with learning rates and weight decays in arrays.

    Parameters
    ----------
    data
        Weight, gradient and momentum of each, one after the other; then all learning rates and all weight decays,
        float32.
    momentum, rescale_grad, clip_gradient
        As of `sgd_mom_update`.
    num_weights
        How many weights there are.
    """
    rules.sgd_momentum(
        *columns(data, 3, 2), **_preloaded(data),
        momentum=momentum, rescale_grad=rescale_grad, clip_gradient=clip_gradient,
    )  # fmt: skip


@multi_update(
    "preloaded_multi_mp_sgd_update",
    arrays=("weight", "grad", "weight32"),
    states=("weight32",),
    closes=_RATES,
    masters=True,
)
def _(*data: Tensor, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1) -> None:
    """`multi_mp_sgd_update` with learning rates and weight decays in arrays.

    Parameters
    ----------
    data
        Weight, gradient and master copy of each, one after the other; then all learning rates and all weight decays,
        float32.
    rescale_grad, clip_gradient
        As of `sgd_update`.
    num_weights
        How many weights there are.
    """
    rules.through_masters(
        rules.sgd, *columns(data, 3, 2), **_preloaded(data),
        rescale_grad=rescale_grad, clip_gradient=clip_gradient,
    )  # fmt: skip


@multi_update(
    "preloaded_multi_mp_sgd_mom_update",
    arrays=("weight", "grad", "mom", "weight32"),
    states=("mom", "weight32"),
    closes=_RATES,
    masters=True,
)
def _(
    *data: Tensor,
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
) -> None:
    """`multi_mp_sgd_mom_update` with learning rates and weight decays in arrays.

    Parameters
    ----------
    data
        Weight, gradient, momentum and master copy of each, one after the other; then all learning rates and all weight
        decays, float32.
    momentum, rescale_grad, clip_gradient
        As of `sgd_mom_update`.
    num_weights
        How many weights there are.
    """
    weights, grads, moms, masters = columns(data, 4, 2)
    rules.through_masters(
        rules.sgd_momentum, weights, grads, masters, moms, **_preloaded(data),
        momentum=momentum, rescale_grad=rescale_grad, clip_gradient=clip_gradient,
    )  # fmt: skip


@multi_update(
    "_multi_adamw_update",
    arrays=("weight", "grad", "mean", "var"),
    states=("mean", "var"),
    closes=("rescale_grad",),
    each=("lrs", "wds", "etas"),
)
def _(
    *data: Tensor,
    lrs: tuple[float, ...],
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wds: tuple[float, ...],
    etas: tuple[float, ...],
    clip_gradient: float = -1.0,
    num_weights: int = 1,
) -> None:
    """`_adamw_update` of several weights at once.

    Parameters
    ----------
    data
        Weight, gradient, mean and variance of each, one after the other; then the factor of the gradients, float32.
    lrs, wds, etas
        Learning rate, weight decay and multiplier of each weight.
    beta1, beta2, epsilon, clip_gradient
        As of `_adamw_update`.
    num_weights
        How many weights there are.
    """
    skipping(
        "_multi_adamw_update", rules.adamw, data[-1], *columns(data, 4, 1),
        lr=lrs, wd=wds, eta=etas, beta1=beta1, beta2=beta2, epsilon=epsilon, clip_gradient=clip_gradient,
    )  # fmt: skip


@multi_update(
    "_multi_mp_adamw_update",
    arrays=("weight", "grad", "mean", "var", "weight32"),
    states=("mean", "var", "weight32"),
    closes=("rescale_grad",),
    each=("lrs", "wds", "etas"),
    masters=True,
)
def _(
    *data: Tensor,
    lrs: tuple[float, ...],
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wds: tuple[float, ...],
    etas: tuple[float, ...],
    clip_gradient: float = -1.0,
    num_weights: int = 1,
) -> None:
    """`_mp_adamw_update` of several weights at once.

    Parameters
    ----------
    data
        Weight, gradient, mean, variance and master copy of each, one after the other; then the factor of the gradients,
        float32.
    lrs, wds, etas
        Learning rate, weight decay and multiplier of each weight.
    beta1, beta2, epsilon, clip_gradient
        As of `_adamw_update`.
    num_weights
        How many weights there are.
    """
    weights, grads, means, variances, masters = columns(data, 5, 1)
    skipping(
        "_multi_mp_adamw_update", rules.adamw_masters, data[-1],
        weights, [grad.float() for grad in grads], masters, means, variances,
        lr=lrs, wd=wds, eta=etas, beta1=beta1, beta2=beta2, epsilon=epsilon, clip_gradient=clip_gradient,
    )  # fmt: skip


@multi_update(
    "_multi_lamb_update",
    arrays=("weight", "grad", "mean", "var"),
    states=("mean", "var"),
    number="num_tensors",
    each=("learning_rates", "wds", "step_count"),
)
def _(
    *data: Tensor,
    learning_rates: tuple[float, ...],
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    wds: tuple[float, ...],
    rescale_grad: float = 1.0,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    clip_gradient: float = -1.0,
    bias_correction: bool = True,
    step_count: tuple[int, ...],
    num_tensors: int = 1,
) -> None:
    """Steps of LAMB (You and others, 2020) of several weights at once: `lamb_update_phase1` and `lamb_update_phase2`.

    Parameters
    ----------
    data
        Weight, gradient, mean and variance of each, one after the other.
    learning_rates, wds
        Learning rate and weight decay of each weight.
    beta1, beta2, epsilon, rescale_grad, clip_gradient, bias_correction
        As of `lamb_update_phase1`.
    lower_bound, upper_bound
        Between these the norm of a weight is brought; a negative number is no bound.
    step_count
        The number of this update of each weight, from 1.
    num_tensors
        How many weights there are.
    """
    rules.lamb(
        *columns(data, 4),
        lr=learning_rates, wd=wds, t=step_count, beta1=beta1, beta2=beta2, epsilon=epsilon,
        bias_correction=bias_correction, lower_bound=lower_bound, upper_bound=upper_bound,
        rescale_grad=rescale_grad, clip_gradient=clip_gradient,
    )  # fmt: skip


@multi_update(
    "_multi_mp_lamb_update",
    arrays=("weight", "grad", "mean", "var", "weight32"),
    states=("mean", "var", "weight32"),
    number="num_tensors",
    each=("learning_rates", "wds", "step_count"),
    masters=True,
)
def _(
    *data: Tensor,
    learning_rates: tuple[float, ...],
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    wds: tuple[float, ...],
    rescale_grad: float = 1.0,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    clip_gradient: float = -1.0,
    bias_correction: bool = True,
    step_count: tuple[int, ...],
    num_tensors: int = 1,
) -> None:
    """`_multi_lamb_update` of copies of the weights in float32; the results are those copies, rounded.

    The norm of a weight is that of its copy. MXNet takes the weight's own, with squares in float16: it is infinite for
    elements beyond 255.

    Parameters
    ----------
    data
        Weight, gradient, mean, variance and master copy of each, one after the other.
    learning_rates, wds
        Learning rate and weight decay of each weight.
    beta1, beta2, epsilon, rescale_grad, clip_gradient, bias_correction
        As of `lamb_update_phase1`.
    lower_bound, upper_bound
        Between these the norm of a weight is brought; a negative number is no bound.
    step_count
        The number of this update of each weight, from 1.
    num_tensors
        How many weights there are.
    """
    weights, grads, means, variances, masters = columns(data, 5)
    rules.through_masters(
        rules.lamb, weights, grads, masters, means, variances,
        lr=learning_rates, wd=wds, t=step_count, beta1=beta1, beta2=beta2, epsilon=epsilon,
        bias_correction=bias_correction, lower_bound=lower_bound, upper_bound=upper_bound,
        rescale_grad=rescale_grad, clip_gradient=clip_gradient,
    )  # fmt: skip


@operator("multi_lars", alike=True)
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
        The part of a weight's norm that a step may have.
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
    return rules.lars_rates(
        lrs, weights_sum_sq, grads_sum_sq, wds, eta=eta, eps=eps, rescale_grad=rescale_grad
    )
