"""Rules with a rate for each element from the gradients so far: AdaGrad, AdaDelta, RMSProp."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from ..._torch import foreach
from ...errors import ShapeError
from ...params import Params
from . import lists
from ._rule import rule
from .lists import Limit, Number, Rate, Tensors

__all__ = ["adadelta", "adagrad", "group_adagrad", "rmsprop", "rmsprop_centered"]


@rule("rmsprop_update")
def rmsprop(
    weights: Tensors, grads: Tensors, n: Tensors, *,
    lr: Rate, gamma1: float = 0.95, epsilon: float = 1e-8, wd: Rate = 0.0, rescale_grad: Number = 1.0,
    clip_gradient: Limit = -1.0, clip_weights: Limit = -1.0,
) -> None:  # fmt: skip
    """RMSProp (Tieleman and Hinton, 2012).

    With ``g = clip(rescale_grad * grad + wd * weight)``: ``n = gamma1 * n + (1 - gamma1) * g ** 2``, ``weight -= lr * g
    / sqrt(n + epsilon)``.

    Parameters
    ----------
    n
        Running mean of squares; written in place.
    epsilon
        Added under the root.

    Examples
    --------
    >>> import torch
    >>> weight, n = [torch.ones(1)], [torch.zeros(1)]
    >>> rmsprop(weight, [torch.tensor([4.0])], n, lr=0.5, gamma1=0.75)
    >>> weight, n
    ([tensor([0.])], [tensor([4.])])
    """
    grads = lists.decayed(weights, grads, wd, rescale_grad, clip_gradient)
    lists.ema_of_squares_(n, grads, lists.single(gamma1))
    _adaptive_move_(weights, grads, n, lr, epsilon)
    lists.clip_(weights, clip_weights)


def _adaptive_move_(weights: Tensors, grads: Tensors, squares: Tensors, lr: Rate, epsilon: float) -> None:
    """``weight -= lr * grad / sqrt(square + epsilon)``."""
    roots = foreach.add(squares, epsilon)
    foreach.sqrt_(roots)
    lists.move_(weights, grads, roots, lists.each(lambda lr: -lr, lr))


@rule("rmspropalex_update")
def rmsprop_centered(
    weights: Tensors, grads: Tensors, n: Tensors, g: Tensors, delta: Tensors, *,
    lr: Rate, gamma1: float = 0.95, gamma2: float = 0.9, epsilon: float = 1e-8, wd: Rate = 0.0,
    rescale_grad: Number = 1.0, clip_gradient: Limit = -1.0, clip_weights: Limit = -1.0,
) -> None:  # fmt: skip
    """RMSProp around the mean gradient, with momentum (Graves, 2013).

    With ``x = clip(rescale_grad * grad + wd * weight)``: ``n = gamma1 * n + (1 - gamma1) * x ** 2``, ``g = gamma1 * g +
    (1 - gamma1) * x``, ``delta = gamma2 * delta - lr * x / sqrt(n - g ** 2 + epsilon)``, ``weight += delta``.

    Parameters
    ----------
    n, g, delta
        Running means of squares and of gradients, and the last step; written in place.
    gamma2
        The fraction of the last step that is added to the next.
    epsilon
        Added under the root.

    Examples
    --------
    >>> import torch
    >>> weight, n, g, delta = [torch.ones(1)], [torch.zeros(1)], [torch.zeros(1)], [torch.zeros(1)]
    >>> rmsprop_centered(weight, [torch.tensor([4.0])], n, g, delta, lr=0.5, gamma1=0.5)
    >>> weight, delta
    ([tensor([0.])], [tensor([-1.])])
    """
    grads = lists.decayed(weights, grads, wd, rescale_grad, clip_gradient)
    lists.ema_of_squares_(n, grads, lists.single(gamma1))
    lists.ema_(g, grads, lists.single(gamma1))
    lists.mul_(delta, gamma2)
    # n - g ** 2: the variance around the mean gradient.
    _adaptive_move_(delta, grads, foreach.addcmul(n, g, g, -1), lr, epsilon)
    foreach.add_(weights, delta)
    lists.clip_(weights, clip_weights)


def adadelta(
    weights: Tensors, grads: Tensors, squares: Tensors, deltas: Tensors, *,
    rho: float = 0.9, epsilon: float = 1e-5, wd: Rate = 0.0, rescale_grad: Number = 1.0,
    clip_gradient: Limit = -1.0,
) -> None:  # fmt: skip
    """AdaDelta (Zeiler, 2012), which has no learning rate; ``n`` mean square of gradients, ``d`` of deltas.

    With ``g = clip(rescale_grad * grad)``: ``n = rho * n + (1 - rho) * g ** 2``, ``delta = sqrt(d + epsilon) / sqrt(n +
    epsilon) * g``, ``d = rho * d + (1 - rho) * delta ** 2``, ``weight -= delta + wd * weight``.

    Examples
    --------
    >>> import torch
    >>> weight, squares, deltas = [torch.ones(1)], [torch.zeros(1)], [torch.zeros(1)]
    >>> adadelta(weight, [torch.tensor([4.0])], squares, deltas, rho=0.5, epsilon=1.0)
    >>> squares, weight
    ([tensor([8.])], [tensor([-0.3333])])
    """
    grads, _ = lists.prepare(grads, rescale_grad, clip_gradient)
    lists.ema_of_squares_(squares, grads, rho)
    # sqrt(d + epsilon) / sqrt(n + epsilon) * g, in place from here on.
    delta = foreach.add(deltas, epsilon)
    foreach.sqrt_(delta)
    roots = foreach.add(squares, epsilon)
    foreach.sqrt_(roots)
    foreach.div_(delta, roots)
    foreach.mul_(delta, grads)
    # After the step: the mean of squared deltas has this one in it.
    lists.ema_of_squares_(deltas, delta, rho)
    if lists.is_some(wd):
        lists.mul_(weights, lists.each(lambda wd: 1 - wd, wd))
    foreach.sub_(weights, delta)


def _no_decay(p: Params) -> str | None:
    return f"wd must be 0, this rule has no weight decay; got {p.wd}" if p.wd else None


@rule("_sparse_adagrad_update", check=_no_decay)
def adagrad(
    weights: Tensors, grads: Tensors, history: Tensors, *,
    lr: Rate, epsilon: float = 1e-7, wd: Rate = 0.0, rescale_grad: Number = 1.0, clip_gradient: Limit = -1.0,
) -> None:  # fmt: skip
    """AdaGrad (Duchi and others, 2011).

    With ``g = clip(rescale_grad * grad)``: ``history += g ** 2``, ``weight -= lr * (g / sqrt(history + epsilon) + wd *
    weight)``. The operator takes no decay. Rows whose gradient is 0 then do not change, so that the update of dense
    arrays is that of sparse ones; MXNet takes sparse gradients only.

    Parameters
    ----------
    history
        Sum of squares; written in place.
    epsilon
        Added under the root.
    wd
        Must be 0, as in MXNet.

    Examples
    --------
    >>> import torch
    >>> weight, history = [torch.ones(1)], [torch.zeros(1)]
    >>> adagrad(weight, [torch.tensor([4.0])], history, lr=0.5)
    >>> weight, history
    ([tensor([0.5000])], [tensor([16.])])
    """
    grads, _ = lists.prepare(grads, rescale_grad, clip_gradient)
    foreach.addcmul_(history, grads, grads)
    # The decay acts on the weight alone: the history knows gradients only.
    if lists.is_some(wd):
        lists.mul_(weights, lists.each(lambda lr, wd: 1 - lr * wd, lr, wd))
    _adaptive_move_(weights, grads, history, lr, epsilon)


def _one_for_each_row(arrays: Mapping[str, Tensor]) -> None:
    """Raise a ShapeError when a history does not hold one number for each row."""
    weight, history = arrays["weight"], arrays["history"]
    if weight.ndim == 0 or history.numel() != weight.shape[0]:
        raise ShapeError(
            f"history must hold one number for each row of weight {tuple(weight.shape)}; "
            f"got shape {tuple(history.shape)}"
        )


@rule("_contrib_group_adagrad_update", free=("history",), check_arrays=_one_for_each_row)
def group_adagrad(
    weights: Tensors, grads: Tensors, history: Tensors, *,
    lr: Rate, rescale_grad: Number = 1.0, clip_gradient: Limit = -1.0, epsilon: float = 1e-5,
) -> None:  # fmt: skip
    """AdaGrad with one learning rate for each row.

    With ``g = clip(rescale_grad * grad)``: ``history += mean(g ** 2)`` over each row, ``weight -= lr * g / sqrt(history
    + epsilon)``. MXNet takes sparse gradients only.

    Parameters
    ----------
    history
        N numbers for a weight of shape (N, ...): (N, 1), (N,) or the like; written in place.
    epsilon
        Added under the root.

    Examples
    --------
    >>> import torch
    >>> weight, history = [torch.ones(2, 2)], [torch.zeros(2)]
    >>> group_adagrad(weight, [torch.tensor([[3.0, 3.0], [0.0, 0.0]])], history, lr=0.5)
    >>> weight, history
    ([tensor([[0.5000, 0.5000],
            [1.0000, 1.0000]])], [tensor([9., 0.])])
    """
    grads, _ = lists.prepare(grads, rescale_grad, clip_gradient)
    # Views: what is added to them is written into the history.
    rows = [sums.view(-1) for sums in history]
    # One mean square for each row, whatever its axes.
    means = [g.square().flatten(1).mean(1) if g.ndim > 1 else g.square() for g in grads]
    foreach.add_(rows, means)
    # (rows, 1, ..., 1), to broadcast.
    wide = [row.view(-1, *[1] * (g.ndim - 1)) for row, g in zip(rows, grads, strict=True)]
    _adaptive_move_(weights, grads, wide, lr, epsilon)
