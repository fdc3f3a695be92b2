"""Update operators whose arguments are lists, or a number in place of an array (``nd.contrib``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..errors import ArgumentError
from ..ops import find
from .ndarray import NDArray, call

__all__ = [
    "adamw_update", "mp_adamw_update", "multi_adamw_update", "multi_lamb_update", "multi_mp_adamw_update",
    "multi_mp_lamb_update",
]  # fmt: skip


def adamw_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    rescale_grad: NDArray | float,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: NDArray | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> NDArray:
    """Update a weight by AdamW: the operator ``_adamw_update``, which may be given the factor as a number.

    Parameters
    ----------
    weight, grad
        The weight and its gradient.
    mean, var
        Running means of the gradient and of its square; written in place.
    rescale_grad
        The factor of the gradient. Where it is 0, infinite or nan, nothing changes.
    lr, eta
        Learning rate, and the multiplier of the whole step.
    beta1, beta2
        How much of the running means goes on.
    epsilon
        Added to the denominator.
    wd
        Weight decay.
    clip_gradient
        Each element of the rescaled gradient is cut to this size; a negative number cuts nothing.
    out
        The array to write the result into; the weight itself, as a rule.
    name, kwargs
        For callers of `mx.sym`.

    Examples
    --------
    >>> import rebind as mx
    >>> weight, mean, var = mx.nd.ones((2,)), mx.nd.zeros((2,)), mx.nd.zeros((2,))
    >>> grad = mx.nd.ones((2,))
    >>> _ = mx.nd.contrib.adamw_update(weight, grad, mean, var, float("inf"), lr=0.1, eta=1, out=weight)
    >>> weight.asnumpy().tolist()
    [1.0, 1.0]
    """
    settings = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "wd": wd, "clip_gradient": clip_gradient}
    arrays = (weight, grad, mean, var, _factor(rescale_grad, weight, "adamw_update"))
    return call(find("_adamw_update"), arrays, {"lr": lr, "eta": eta, **settings, **kwargs, "out": out})


def mp_adamw_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    weight32: NDArray,
    rescale_grad: NDArray | float,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: NDArray | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> NDArray:
    """Update a weight by AdamW through its copy in float32, `weight32`; otherwise as `adamw_update`."""
    settings = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "wd": wd, "clip_gradient": clip_gradient}
    arrays = (weight, grad, mean, var, weight32, _factor(rescale_grad, weight, "mp_adamw_update"))
    return call(find("_mp_adamw_update"), arrays, {"lr": lr, "eta": eta, **settings, **kwargs, "out": out})


def multi_adamw_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    rescale_grad: NDArray | float,
    lrs: Any,
    wds: Any,
    etas: Any,
    out: Any = None,
    name: str | None = None,
    size: int = 0,
    **kwargs: Any,
) -> Any:
    """Update several weights by AdamW.

    Parameters
    ----------
    weights, grads, mean, var
        Lists with an array for each weight.
    rescale_grad
        The factor of all gradients. Where it is 0, infinite or nan, nothing changes.
    lrs, wds, etas
        Learning rates, weight decays and multipliers, one for each weight.
    out
        The arrays to write into; `weights`, as a rule.
    name
        For callers of `mx.sym`.
    size
        How many weights there are; 0 is as many as are given.
    kwargs
        Further parameters of ``_multi_adamw_update``: ``beta1``, ``beta2``, ``epsilon``, ``clip_gradient``.
    """
    who = "multi_adamw_update"
    arrays = [*_interleaved(who, size, weights, grads, mean, var), _factor(rescale_grad, weights[0], who)]
    given = {"lrs": _numbers(lrs), "wds": _numbers(wds), "etas": _numbers(etas), "num_weights": len(weights)}
    return call(find("_multi_adamw_update"), arrays, {**given, **kwargs, "out": out})


def multi_mp_adamw_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    weights32: Sequence[NDArray],
    rescale_grad: NDArray | float,
    lrs: Any,
    wds: Any,
    etas: Any,
    out: Any = None,
    name: str | None = None,
    size: int = 0,
    **kwargs: Any,
) -> Any:
    """Update several weights by AdamW through their copies in float32; otherwise as `multi_adamw_update`."""
    who = "multi_mp_adamw_update"
    arrays = _interleaved(who, size, weights, grads, mean, var, weights32)
    arrays.append(_factor(rescale_grad, weights[0], who))
    given = {"lrs": _numbers(lrs), "wds": _numbers(wds), "etas": _numbers(etas), "num_weights": len(weights)}
    return call(find("_multi_mp_adamw_update"), arrays, {**given, **kwargs, "out": out})


def multi_lamb_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    step_count: Any,
    lrs: Any,
    wds: Any,
    out: Any = None,
    num_tensors: int = 0,
    **kwargs: Any,
) -> Any:
    """Update several weights by LAMB.

    Parameters
    ----------
    weights, grads, mean, var
        Lists with an array for each weight.
    step_count
        The number of this update of each weight, from 1.
    lrs, wds
        Learning rates and weight decays, one for each weight.
    out
        The arrays to write into; `weights`, as a rule.
    num_tensors
        How many weights there are; 0 is as many as are given.
    kwargs
        Further parameters of ``_multi_lamb_update``.
    """
    arrays = _interleaved("multi_lamb_update", num_tensors, weights, grads, mean, var)
    return _lamb("_multi_lamb_update", arrays, len(weights), step_count, lrs, wds, out, kwargs)


def multi_mp_lamb_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    weights32: Sequence[NDArray],
    step_count: Any,
    lrs: Any,
    wds: Any,
    out: Any = None,
    num_tensors: int = 0,
    **kwargs: Any,
) -> Any:
    """Update several weights by LAMB through their copies in float32; otherwise as `multi_lamb_update`."""
    arrays = _interleaved("multi_mp_lamb_update", num_tensors, weights, grads, mean, var, weights32)
    return _lamb("_multi_mp_lamb_update", arrays, len(weights), step_count, lrs, wds, out, kwargs)


def _lamb(
    name: str, arrays: list[NDArray], count: int, step_count: Any, lrs: Any, wds: Any, out: Any, more: Any
) -> Any:
    steps = tuple(int(step) for step in step_count)
    rates = {"learning_rates": _numbers(lrs), "wds": _numbers(wds)}
    return call(find(name), arrays, {**rates, "step_count": steps, "num_tensors": count, **more, "out": out})


def _interleaved(who: str, size: int, *lists: Sequence[NDArray]) -> list[NDArray]:
    """Return the arrays of the first weight, then those of the second, and so on."""
    lengths = {len(each) for each in lists}
    if len(lengths) != 1 or lengths == {0} or (size and lengths != {size}):
        wanted = f"{size}, as said" if size else "one number of"
        raise ArgumentError(
            f"{who}: the lists of arrays must hold {wanted} arrays, at least one; got "
            f"{', '.join(str(len(each)) for each in lists)}"
        )
    return [array for group in zip(*lists, strict=True) for array in group]


def _factor(value: Any, weight: NDArray, who: str) -> NDArray:
    """Return the factor of gradients as an array on the device of a weight."""
    if isinstance(value, NDArray):
        return value if value.device == weight.device else value.as_in_context(weight.device)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"{who}: rescale_grad must be an NDArray or a number; got {value!r}") from None
    return NDArray(torch.full((1,), number, device=weight.device.torch), weight.device)


def _numbers(values: Any) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
