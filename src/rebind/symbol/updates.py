"""AdamW as a node of a graph, its factor a symbol or a number (``sym.contrib``)."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError
from ..ops import find
from .creation import full
from .symbol import Symbol, compose

__all__ = ["adamw_update", "mp_adamw_update"]


def adamw_update(
    weight: Symbol,
    grad: Symbol,
    mean: Symbol,
    var: Symbol,
    rescale_grad: Symbol | float,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: Any = None,
    name: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """Return the operator ``_adamw_update``, whose factor `rescale_grad` may be a number; see `nd.contrib`."""
    settings = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "wd": wd, "clip_gradient": clip_gradient}
    inputs = (weight, grad, mean, var, _factor(rescale_grad, "adamw_update"))
    given = {"lr": lr, "eta": eta, **settings, **kwargs, "name": name}
    return compose(find("_adamw_update"), "adamw_update", inputs, given)


def mp_adamw_update(
    weight: Symbol,
    grad: Symbol,
    mean: Symbol,
    var: Symbol,
    weight32: Symbol,
    rescale_grad: Symbol | float,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: Any = None,
    name: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """Return the operator ``_mp_adamw_update``, whose factor `rescale_grad` may be a number; see `nd.contrib`."""
    settings = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "wd": wd, "clip_gradient": clip_gradient}
    inputs = (weight, grad, mean, var, weight32, _factor(rescale_grad, "mp_adamw_update"))
    given = {"lr": lr, "eta": eta, **settings, **kwargs, "name": name}
    return compose(find("_mp_adamw_update"), "mp_adamw_update", inputs, given)


def _factor(value: Any, who: str) -> Symbol:
    if isinstance(value, Symbol):
        return value
    try:
        return full((1,), float(value))
    except (TypeError, ValueError):
        raise ArgumentError(f"{who}: rescale_grad must be a Symbol or a number; got {value!r}") from None
