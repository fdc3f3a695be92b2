"""What update rules are made of: arithmetic on lists of tensors, in place, with rates that are numbers or tensors.

The lists are long where many weights are updated at once: each function here is one call of torch for all of them.
A rate is a number, a tensor without axes, or a list with one of them for each weight. Nothing reads a tensor into
Python, so a compiler can follow every rule; where a rate is a number the quicker kernels are taken that need one.

Examples
--------
>>> weights = [torch.ones(2), torch.ones(1)]
>>> add_(weights, [torch.ones(2), torch.ones(1)], torch.tensor(-0.5))
>>> weights
[tensor([0.5000, 0.5000]), tensor([0.5000])]
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

import torch
from torch import Tensor

from ..._torch import foreach, fused
from ...dtypes import number_in

__all__ = [
    "Count", "Limit", "Number", "Rate", "Tensors", "add_", "can_fuse", "clip_", "decayed", "div_", "divided", "each",
    "ema_", "ema_of_squares_", "is_number", "is_some", "move_", "mul_", "of_weight", "prepare", "root", "roots",
    "shift_", "single", "times",
]  # fmt: skip

Tensors: TypeAlias = list[Tensor] | tuple[Tensor, ...]
Number: TypeAlias = float | Tensor
Rate: TypeAlias = float | Tensor | Sequence[float | Tensor]  # of each weight, or of all
Count: TypeAlias = int | Tensor | Sequence[int | Tensor]  # the number of this update, from 1
Limit: TypeAlias = float | None

_kind_of = operator.attrgetter("dtype", "device")

# What a float64 is multiplied by to split it after 24 bits (Dekker, 1971).
_SPLITTER = 2.0**29 + 1


def single(number: Number) -> Number:
    """Return a number in single precision.

    MXNet's kernels have their settings in float32. ``1 - 0.999`` is then another number by 1e-5
    of its size, and so would the moments be.

    >>> single(0.999)
    0.9990000128746033
    """
    if isinstance(number, Tensor):
        return number.to(dtype=torch.float32).to(dtype=number.dtype)
    scaled = _SPLITTER * number  # arithmetic, for a compiler follows no call of NumPy
    return scaled - (scaled - number)


def root(number: Number) -> Number:
    """Return the square root of a number, or of a tensor.

    Examples
    --------
    >>> root(4.0), root(torch.tensor(9.0))
    (2.0, tensor(3.))
    """
    return number.sqrt() if isinstance(number, Tensor) else math.sqrt(number)


def is_number(*rates: Rate) -> bool:
    """Return whether all rates are plain numbers, one for all weights.

    Examples
    --------
    >>> is_number(0.1, 1), is_number([0.1, 0.2]), is_number(torch.tensor(0.1))
    (True, False, False)
    """
    return all(isinstance(rate, (float, int)) for rate in rates)


def is_some(rate: Rate) -> bool:
    """Return whether a rate is other than 0, for a weight at least; of a tensor nothing is known, so it is.

    Examples
    --------
    >>> is_some(0.0), is_some([0.0, 0.1]), is_some(torch.tensor(0.0))
    (False, True, True)
    """
    # Numbers first: asking for a tensor takes torch longer than all else here.
    if isinstance(rate, (float, int)):
        return rate != 0
    members = rate if isinstance(rate, (list, tuple)) else (rate,)
    return any([isinstance(member, Tensor) or member != 0 for member in members])


def each(function: Callable[..., Number], *rates: Rate) -> Rate:
    """Apply `function` to numbers, or for each weight where one of the rates is a list.

    >>> each(lambda lr, wd: 1 - lr * wd, [0.5, 0.25], 2)
    [0.0, 0.5]
    """
    lengths = [len(rate) for rate in rates if isinstance(rate, (list, tuple))]
    if not lengths:
        return function(*rates)
    length = lengths[0]
    columns = [rate if isinstance(rate, (list, tuple)) else [rate] * length for rate in rates]
    return [function(*row) for row in zip(*columns, strict=True)]


def of_weight(rate: Rate | Count, k: int) -> Number:
    """Return the rate of one weight.

    Examples
    --------
    >>> of_weight([0.1, 0.2], 1), of_weight(0.1, 1)
    (0.2, 0.1)
    """
    return rate[k] if isinstance(rate, (list, tuple)) else cast(Number, rate)


def mul_(targets: Tensors, rate: Rate) -> None:
    """``targets *= rate``.

    Examples
    --------
    >>> targets = [torch.ones(1), torch.ones(1)]
    >>> mul_(targets, [2.0, 3.0])
    >>> targets
    [tensor([2.]), tensor([3.])]
    """
    foreach.mul_(targets, rate)


def div_(targets: Tensors, rate: Rate) -> None:
    """``targets /= rate``.

    Examples
    --------
    >>> targets = [torch.ones(1), torch.ones(1)]
    >>> div_(targets, 2.0)
    >>> targets
    [tensor([0.5000]), tensor([0.5000])]
    """
    foreach.div_(targets, rate)


def times(tensors: Tensors, rate: Rate) -> Tensors:
    """Return ``tensors * rate``.

    Examples
    --------
    >>> times([torch.ones(1), torch.ones(1)], [2.0, 3.0])
    (tensor([2.]), tensor([3.]))
    """
    return foreach.mul(tensors, rate)


def divided(tensors: Tensors, rate: Rate) -> Tensors:
    """Return ``tensors / rate``.

    Examples
    --------
    >>> divided([torch.ones(1)], torch.tensor(4.0))
    (tensor([0.2500]),)
    """
    return foreach.div(tensors, rate)


def add_(targets: Tensors, sources: Tensors, rate: Rate) -> None:
    """``targets += rate * sources``.

    >>> targets = [torch.ones(1), torch.ones(1)]
    >>> add_(targets, [torch.ones(1), torch.ones(1)], [2.0, 3.0])
    >>> targets
    [tensor([3.]), tensor([4.])]
    """
    # Numbers first, as in `is_some`; NumPy's are others to Python.
    if isinstance(rate, (float, int)) or not isinstance(rate, (list, tuple, Tensor)):
        foreach.add_(targets, sources, alpha=cast(float, rate))
    else:
        foreach.add_(targets, times(sources, rate))


def shift_(targets: Tensors, rate: Rate) -> None:
    """``targets += rate``.

    Examples
    --------
    >>> targets = [torch.ones(1)]
    >>> shift_(targets, 0.5)
    >>> targets
    [tensor([1.5000])]
    """
    foreach.add_(targets, rate)


def clip_(targets: Tensors, limit: Limit) -> None:
    """Cut elements to a size; None, or a negative number, cuts nothing.

    Examples
    --------
    >>> targets = [torch.tensor([-3.0, 0.5, 3.0])]
    >>> clip_(targets, 1.0)
    >>> targets
    [tensor([-1.0000,  0.5000,  1.0000])]
    """
    if limit is not None and limit >= 0:
        if targets:
            limit = number_in(targets[0].dtype, limit)
        foreach.clamp_min_(targets, -limit)
        foreach.clamp_max_(targets, limit)


def ema_(means: Tensors, values: Tensors, share: Number) -> None:
    """``means = share * means + (1 - share) * values``: an exponential moving average.

    Examples
    --------
    >>> means = [torch.zeros(1)]
    >>> ema_(means, [torch.tensor([4.0])], 0.75)
    >>> means
    [tensor([1.])]
    """
    mul_(means, share)
    add_(means, values, 1 - share)


def ema_of_squares_(means: Tensors, values: Tensors, share: Number) -> None:
    """``means = share * means + (1 - share) * values ** 2``.

    Examples
    --------
    >>> means = [torch.zeros(1)]
    >>> ema_of_squares_(means, [torch.tensor([4.0])], 0.75)
    >>> means
    [tensor([4.])]
    """
    mul_(means, share)
    foreach.addcmul_(means, values, values, 1 - share)


def move_(weights: Tensors, numerators: Tensors, denominators: Tensors, rate: Rate) -> None:
    """``weights += rate * numerators / denominators``.

    Examples
    --------
    >>> weights = [torch.ones(1)]
    >>> move_(weights, [torch.tensor([6.0])], [torch.tensor([3.0])], -0.25)
    >>> weights
    [tensor([0.5000])]
    """
    # `alpha` is one number: other rates take a pass of their own.
    if isinstance(rate, (list, tuple, Tensor)):
        add_(weights, foreach.div(numerators, denominators), rate)
    else:
        foreach.addcdiv_(weights, numerators, denominators, cast(float, rate))


def roots(squares: Tensors, epsilon: Rate) -> Tensors:
    """Return ``sqrt(squares) + epsilon``.

    Examples
    --------
    >>> roots([torch.tensor([4.0])], 0.5)
    (tensor([2.5000]),)
    """
    found = foreach.sqrt(squares)
    shift_(found, epsilon)
    return found


def prepare(
    grads: Tensors,
    rescale_grad: Number,
    clip_gradient: Limit,
    weights: Tensors | None = None,
    wd: Rate = 0.0,
) -> tuple[Tensors, Rate]:
    """Return gradients rescaled and clipped, and the weight decay left to add.

    With `weights` the decay is clipped too: where something is cut it is then in the gradients, and nothing is left.
    What needs no change is returned as it is.

    Examples
    --------
    >>> prepare([torch.tensor([1.0, 8.0])], 0.5, 2.0, [torch.ones(2)], 0.25)
    ((tensor([0.7500, 2.0000]),), 0.0)
    >>> prepare([torch.tensor([1.0, 8.0])], 0.5, None, [torch.ones(2)], 0.25)
    ((tensor([0.5000, 4.0000]),), 0.25)
    """
    cuts = clip_gradient is not None and clip_gradient >= 0
    if not isinstance(rescale_grad, Tensor) and rescale_grad == 1 and not cuts:
        return grads, wd
    ready = times(grads, rescale_grad)
    if cuts:
        if weights is not None and is_some(wd):
            add_(ready, weights, wd)
            wd = 0.0
        clip_(ready, clip_gradient)
    return ready, wd


def decayed(
    weights: Tensors, grads: Tensors, wd: Rate, rescale_grad: Number, clip_gradient: Limit
) -> Tensors:
    """Return ``clip(rescale_grad * grad + wd * weight)``.

    Examples
    --------
    >>> decayed([torch.tensor([2.0])], [torch.tensor([8.0])], 0.25, 0.5, None)
    (tensor([4.5000]),)
    """
    grads, wd = prepare(grads, rescale_grad, clip_gradient, weights, wd)
    if not is_some(wd):
        return grads
    if isinstance(wd, (list, tuple, Tensor)):
        return foreach.add(grads, times(weights, wd))
    return foreach.add(grads, weights, alpha=cast(float, wd))


def can_fuse(weights: Tensors, *others: Tensors) -> bool:
    """Return whether torch's fused kernel is there and safe; weights are of one type and device.

    On the CPU it checks nothing: it walks over each memory as over the weight's, whatever size, type or order the
    others have. A compiler joins what it traces itself.

    >>> can_fuse([torch.ones(2)], [torch.ones(2)]), can_fuse([torch.ones(2)], [torch.ones(2).half()])
    (True, False)
    """
    dtype, device = weights[0].dtype, weights[0].device
    if not fused.ARE_THERE or torch.compiler.is_compiling() or device.type not in ("cpu", "cuda"):
        return False
    # In C: dozens of small questions, at every update.
    sizes, kinds = [*map(Tensor.numel, weights)], {(dtype, device)}
    for group in (weights, *others):
        # Contiguous: the kernel walks memory, and not by strides.
        if (
            [*map(Tensor.numel, group)] != sizes
            or {*map(_kind_of, group)} != kinds
            or not all(map(Tensor.is_contiguous, group))
        ):
            return False
    return True
