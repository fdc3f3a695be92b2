"""Rules along the gradient, its momentum or its sign."""

from __future__ import annotations

from ..._torch import foreach, fused
from . import lists
from ._rule import SEVERAL, rule
from .lists import Limit, Number, Rate, Tensors

__all__ = ["dcasgd", "nag", "sgd", "sgd_momentum", "sgld", "signsgd", "signum"]


@rule("sgd_update", "_sparse_sgd_update", forms=SEVERAL, ignored={"lazy_update": True}, rates_first=True)
def sgd(
    weights: Tensors, grads: Tensors, *,
    lr: Rate, wd: Rate = 0.0, rescale_grad: Number = 1.0, clip_gradient: Limit = -1.0,
) -> None:  # fmt: skip
    """Stochastic gradient descent: ``weight = (1 - lr * wd) * weight - lr * clip(rescale_grad * grad)``.

    Parameters
    ----------
    clip_gradient
        Each element of the rescaled gradient is cut to this size; a negative number cuts nothing, and 0 all (MXNet's
        help says that 0 cuts nothing).

    Examples
    --------
    >>> import rebind as mx
    >>> weight = mx.nd.ones((2,))
    >>> mx.nd.sgd_update(weight, mx.nd.ones((2,)), lr=0.5, out=weight).asnumpy().tolist()
    [0.5, 0.5]

    Several weights at once:

    >>> w = [mx.nd.ones((2,)), mx.nd.ones((3,))]
    >>> g = [mx.nd.ones((2,)), mx.nd.ones((3,))]
    >>> _ = mx.nd.multi_sgd_update(w[0], g[0], w[1], g[1], lrs=(0.5, 0.25), wds=(0, 0), num_weights=2, out=w)
    >>> w[1].asnumpy().tolist()
    [0.75, 0.75, 0.75]
    """
    grads, scale = _clipped(grads, rescale_grad, clip_gradient)
    _decay_(weights, lr, wd)
    lists.add_(weights, grads, lists.each(lambda lr: -lr * scale, lr))


def _clipped(grads: Tensors, rescale_grad: Number, clip_gradient: Limit) -> tuple[Tensors, Number]:
    """Return gradients, and the factor left: rescaled only where they are clipped, which saves a pass."""
    if clip_gradient is None or clip_gradient < 0:
        return grads, rescale_grad
    return lists.prepare(grads, rescale_grad, clip_gradient)[0], 1.0


def _decay_(weights: Tensors, lr: Rate, wd: Rate) -> None:
    """``weights *= 1 - lr * wd``."""
    if lists.is_some(wd):
        lists.mul_(weights, lists.each(lambda lr, wd: 1 - lr * wd, lr, wd))


@rule(
    "sgd_mom_update", "_sparse_sgd_mom_update", forms=SEVERAL, ignored={"lazy_update": True}, rates_first=True
)
def sgd_momentum(
    weights: Tensors, grads: Tensors, mom: Tensors, *,
    lr: Rate, momentum: Rate = 0.0, wd: Rate = 0.0, rescale_grad: Number = 1.0, clip_gradient: Limit = -1.0,
) -> None:  # fmt: skip
    """Stochastic gradient descent with momentum.

    ``mom = momentum * mom - lr * (clip(rescale_grad * grad) + wd * weight)``, ``weight += mom``. The learning rate is
    inside of the buffer. On the CPU it is one pass over the weights, or three.

    Parameters
    ----------
    mom
        The last step; written in place.

    Examples
    --------
    >>> import rebind as mx
    >>> weight, mom = mx.nd.ones((2,)), mx.nd.zeros((2,))
    >>> for _ in range(2):
    ...     _ = mx.nd.sgd_mom_update(weight, mx.nd.ones((2,)), mom, lr=0.5, momentum=0.5, out=weight)
    >>> weight.asnumpy().tolist(), mom.asnumpy().tolist()
    ([-0.25, -0.25], [-0.75, -0.75])
    """
    # The factor of the gradient is retained for the rate: no pass of its own.
    grads, scale = _clipped(grads, rescale_grad, clip_gradient)
    if (
        isinstance(lr, (float, int))
        and isinstance(wd, (float, int))
        and isinstance(scale, (float, int))
        and isinstance(momentum, (float, int))
        and scale
        and momentum  # without one the kernel leaves the buffers alone
        and lists.can_fuse(weights, grads, mom)
    ):
        # torch's kernel computes ``buffer = momentum * buffer + (1 - dampening) * (grad + decay * weight)`` and
        # ``weight -= rate * buffer`` in one pass; with a rate of -1 that is MXNet's form.
        if weights[0].is_cuda:
            # There ``1 - dampening`` is of float32, in which a rate of 1e-5 has lost a hundredth.
            grads, decay, dampening = foreach.mul(grads, -lr * scale), -lr * wd, 0.0
        else:
            # ``1 - dampening``, -lr * scale, multiplies the decay too: that is divided by the scale before.
            decay, dampening = wd / scale, 1 + lr * scale
        fused.sgd_(
            weights, grads, mom, weight_decay=decay, momentum=momentum, lr=-1.0, dampening=dampening,
            nesterov=False, maximize=False, is_first_step=False,
        )  # fmt: skip
        return
    lists.mul_(mom, momentum)
    lists.add_(mom, grads, lists.each(lambda lr: -lr * scale, lr))
    if lists.is_some(wd):
        lists.add_(mom, weights, lists.each(lambda lr, wd: -lr * wd, lr, wd))
    foreach.add_(weights, mom)


@rule("nag_mom_update", forms=("", "mp"))
def nag(
    weights: Tensors, grads: Tensors, mom: Tensors, *,
    lr: Rate, momentum: float = 0.0, wd: Rate = 0.0, rescale_grad: Number = 1.0, clip_gradient: Limit = -1.0,
) -> None:  # fmt: skip
    """Nesterov's accelerated gradient.

    With ``g = clip(rescale_grad * grad) + wd * weight``: ``weight += momentum * (momentum * mom - lr * g) - lr * g``,
    and ``mom = momentum * mom - lr * g``, where this ``g`` has the new weight in it. MXNet does so with ``out=weight``,
    as its optimizer calls it, and takes the old weight otherwise; here the rule is one.

    Parameters
    ----------
    mom
        The last step; written in place.

    Examples
    --------
    >>> import torch
    >>> weight, mom = [torch.ones(1)], [torch.zeros(1)]
    >>> nag(weight, [torch.ones(1)], mom, lr=0.5, momentum=0.5)
    >>> weight, mom
    ([tensor([0.2500])], [tensor([-0.5000])])
    """
    grads, _ = lists.prepare(grads, rescale_grad, clip_gradient)
    rate = lists.each(lambda lr: -lr, lr)
    lists.mul_(mom, momentum)
    # Without the decay yet, so that the next lines can use both terms.
    lists.add_(mom, grads, rate)
    if lists.is_some(wd):
        # The decay is in both terms of the step, in one of them times the momentum: one factor serves both.
        lists.mul_(weights, lists.each(lambda lr, wd: 1 - lr * wd * (1 + momentum), lr, wd))
    lists.add_(weights, mom, momentum)
    lists.add_(weights, grads, rate)
    if lists.is_some(wd):
        # The new weight, as in MXNet with ``out=weight``.
        lists.add_(mom, weights, lists.each(lambda lr, wd: -lr * wd, lr, wd))


def dcasgd(
    weights: Tensors, grads: Tensors, mom: Tensors, previous: Tensors, *,
    lr: Rate, lamda: float, momentum: float = 0.0, wd: Rate = 0.0, rescale_grad: Number = 1.0,
    clip_gradient: Limit = -1.0,
) -> None:  # fmt: skip
    """Stochastic gradient descent that makes up for the age of a gradient (Zheng and others, 2017).

    ``mom = momentum * mom - lr * (g + wd * weight + lamda * g ** 2 * (weight - previous))``, ``previous = weight``,
    ``weight += mom``, with ``g = clip(rescale_grad * grad)``. Without momentum `mom` is not used.

    Examples
    --------
    >>> import torch
    >>> weight, previous = [torch.tensor([2.0])], [torch.tensor([1.0])]
    >>> dcasgd(weight, [torch.ones(1)], [torch.zeros(1)], previous, lr=0.5, lamda=1.0)
    >>> weight, previous
    ([tensor([1.])], [tensor([2.])])
    """
    grads, _ = lists.prepare(grads, rescale_grad, clip_gradient)
    drift = foreach.sub(weights, previous)
    foreach.mul_(drift, grads)
    foreach.mul_(drift, grads)
    deltas: Tensors = foreach.add(grads, drift, alpha=lamda)  # g + lamda * g**2 * (weight - previous)
    if lists.is_some(wd):
        lists.add_(deltas, weights, wd)
    lists.mul_(deltas, lists.each(lambda lr: -lr, lr))
    if momentum:
        lists.mul_(mom, momentum)
        foreach.add_(mom, deltas)
        deltas = mom
    # What the next gradient's age counts from: the weight before this step.
    foreach.copy_(previous, weights)
    foreach.add_(weights, deltas)


def sgld(
    weights: Tensors, grads: Tensors, noise: Tensors, *,
    lr: Rate, wd: Rate = 0.0, rescale_grad: Number = 1.0, clip_gradient: Limit = -1.0,
) -> None:  # fmt: skip
    """Langevin dynamics (Welling and Teh, 2011), with `noise` of variance 1.

    ``weight += sqrt(lr) * noise - lr / 2 * (clip(rescale_grad * grad) + wd * weight)``.

    Examples
    --------
    >>> import torch
    >>> weight = [torch.ones(1)]
    >>> sgld(weight, [torch.ones(1)], [torch.tensor([3.0])], lr=0.25)
    >>> weight
    [tensor([2.3750])]
    """
    half = lists.each(lambda lr: lr / 2, lr)
    sgd(weights, grads, lr=half, wd=wd, rescale_grad=rescale_grad, clip_gradient=clip_gradient)
    lists.add_(weights, noise, lists.each(lists.root, lr))


@rule("signsgd_update", ignored={"rescale_grad": 1.0, "clip_gradient": -1.0})
def signsgd(weights: Tensors, grads: Tensors, *, lr: Rate, wd: Rate = 0.0) -> None:
    """Steps of one size (Bernstein and others, 2018): ``weight = (1 - lr * wd) * weight - lr * sign(grad)``.

    Parameters
    ----------
    rescale_grad, clip_gradient
        Without effect, as in MXNet: the sign is that of the gradient as it comes.

    Examples
    --------
    >>> import torch
    >>> weight = [torch.ones(2)]
    >>> signsgd(weight, [torch.tensor([0.1, -9.0])], lr=0.25)
    >>> weight
    [tensor([0.7500, 1.2500])]
    """
    _decay_(weights, lr, wd)
    lists.add_(weights, foreach.sign(grads), lists.each(lambda lr: -lr, lr))


@rule("signum_update")
def signum(
    weights: Tensors, grads: Tensors, mom: Tensors, *,
    lr: Rate, momentum: float = 0.0, wd: Rate = 0.0, rescale_grad: Number = 1.0, clip_gradient: Limit = -1.0,
    wd_lh: Rate = 0.0,
) -> None:  # fmt: skip
    """Steps of one size along the momentum (Bernstein and others, 2018).

    ``mom = momentum * mom - (1 - momentum) * (clip(rescale_grad * grad) + wd * weight)``,
    ``weight = (1 - lr * wd_lh) * weight + lr * sign(mom)``.

    Parameters
    ----------
    mom
        The running mean, its sign turned; written in place.
    wd_lh
        Weight decay beside the momentum.

    Examples
    --------
    >>> import torch
    >>> weight, mom = [torch.ones(2)], [torch.zeros(2)]
    >>> signum(weight, [torch.tensor([1.0, -9.0])], mom, lr=0.25, momentum=0.5)
    >>> weight, mom
    ([tensor([0.7500, 1.2500])], [tensor([-0.5000,  4.5000])])
    """
    grads, _ = lists.prepare(grads, rescale_grad, clip_gradient)
    share = 1 - lists.single(momentum)
    lists.mul_(mom, lists.single(momentum))
    if lists.is_some(wd):
        # Both terms have the share of what is new, so that the momentum is a mean.
        lists.add_(mom, weights, lists.each(lambda wd: -share * wd, wd))
    lists.add_(mom, grads, -share)
    _decay_(weights, lr, wd_lh)
    lists.add_(weights, foreach.sign(mom), lr)
