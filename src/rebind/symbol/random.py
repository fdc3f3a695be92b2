"""Random symbols: `sym.random.uniform` and its kin draw anew in each `forward`."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError
from ..ops import find
from .symbol import Symbol, compose

__all__ = ["exponential", "gamma", "normal", "poisson", "randint", "uniform"]


def _draw(kind: str, parameters: dict[str, Any], shape: Any, dtype: Any, kwargs: dict[str, Any]) -> Symbol:
    symbols = [isinstance(value, Symbol) for value in parameters.values()]
    given = dict(kwargs)
    if shape is not None:
        given["shape"] = shape
    if dtype is not None:
        given["dtype"] = dtype
    if not any(symbols):
        return compose(find(f"_random_{kind}"), f"_random_{kind}", (), {**parameters, **given})
    if not all(symbols):
        raise ArgumentError(f"sym.random.{kind}: parameters must be all numbers or all symbols; got {parameters}")
    return compose(find(f"_sample_{kind}"), f"_sample_{kind}", tuple(parameters.values()), given)


def uniform(low: Any = 0, high: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Draw from the uniform distribution on ``[low, high)``."""
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, kwargs)


def normal(loc: Any = 0, scale: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Draw from the normal distribution with mean `loc` and standard deviation `scale`."""
    return _draw("normal", {"loc": loc, "scale": scale}, shape, dtype, kwargs)


def poisson(lam: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Draw from the Poisson distribution with rate `lam`."""
    return _draw("poisson", {"lam": lam}, shape, dtype, kwargs)


def exponential(scale: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Draw from the exponential distribution with mean `scale`."""
    return _draw("exponential", {"lam": 1.0 / scale}, shape, dtype, kwargs)


def gamma(alpha: Any = 1, beta: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Draw from the gamma distribution with shape `alpha` and scale `beta`."""
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, kwargs)


def randint(low: int, high: int, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Draw whole numbers from ``[low, high)``."""
    return _draw("randint", {"low": low, "high": high}, shape, dtype, kwargs)
