"""Random symbols: `sym.random.uniform` and its kin draw anew in each `forward`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ArgumentError
from ..ops import find
from ..ops.frontend import signature
from .creation import full
from .symbol import Symbol, compose

__all__ = [
    "exponential", "exponential_like", "gamma", "gamma_like", "generalized_negative_binomial",
    "generalized_negative_binomial_like", "multinomial", "negative_binomial", "negative_binomial_like", "normal",
    "normal_like", "poisson", "poisson_like", "rand_zipfian", "randint", "randn", "shuffle", "uniform",
    "uniform_like",
]  # fmt: skip


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
        raise ArgumentError(
            f"sym.random.{kind}: parameters must be all numbers or all symbols; got {parameters}"
        )
    return compose(find(f"_sample_{kind}"), f"_sample_{kind}", tuple(parameters.values()), given)


def uniform(low: Any = 0, high: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Draw from the uniform distribution on ``[low, high)``."""
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, kwargs)


def normal(loc: Any = 0, scale: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Draw from the normal distribution with mean `loc` and standard deviation `scale`."""
    return _draw("normal", {"loc": loc, "scale": scale}, shape, dtype, kwargs)


def randn(*shape: int, loc: Any = 0, scale: Any = 1, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Draw an array of shape `shape` from the normal distribution."""
    return normal(loc, scale, shape or None, dtype, **kwargs)


def poisson(lam: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Draw from the Poisson distribution with rate `lam`."""
    return _draw("poisson", {"lam": lam}, shape, dtype, kwargs)


def exponential(scale: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Draw from the exponential distribution with mean `scale`."""
    return _draw("exponential", {"lam": 1.0 / scale}, shape, dtype, kwargs)


def gamma(alpha: Any = 1, beta: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Draw from the gamma distribution with shape `alpha` and scale `beta`."""
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, kwargs)


def negative_binomial(k: Any = 1, p: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Draw the number of failures before `k` successes of probability `p`."""
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, kwargs)


def generalized_negative_binomial(
    mu: Any = 1, alpha: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Draw from the negative binomial distribution with mean `mu` and dispersion `alpha`."""
    return _draw("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, kwargs)


def randint(low: int, high: int, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Draw whole numbers from ``[low, high)``."""
    return _draw("randint", {"low": low, "high": high}, shape, dtype, kwargs)


def multinomial(
    data: Symbol, shape: Any = None, get_prob: bool = True, dtype: Any = "int32", **kwargs: Any
) -> Symbol:
    """Draw indices with the probabilities in the last axis of `data`."""
    given = {"get_prob": get_prob, "dtype": dtype, **kwargs, **({} if shape is None else {"shape": shape})}
    return compose(find("_sample_multinomial"), "_sample_multinomial", (data,), given)


def shuffle(data: Symbol, **kwargs: Any) -> Symbol:
    """Return the rows of `data` in random order."""
    return compose(find("_shuffle"), "_shuffle", (data,), kwargs)


def _like(kind: str, first_line: str) -> Callable[..., Symbol]:
    op = find(f"_random_{kind}_like")

    def function(*args: Any, **kwargs: Any) -> Symbol:
        return compose(op, f"{kind}_like", args, kwargs)

    function.__name__ = function.__qualname__ = f"{kind}_like"
    function.__doc__ = f"{first_line}, in the shape and type of `data`."
    function.__signature__ = signature(op, Symbol, ("name", "attr"))  # type: ignore[attr-defined]
    return function


uniform_like = _like("uniform", "Draw from the uniform distribution on ``[low, high)``")
normal_like = _like("normal", "Draw from the normal distribution")
exponential_like = _like("exponential", "Draw from the exponential distribution with rate `lam`")
gamma_like = _like("gamma", "Draw from the gamma distribution with shape `alpha` and scale `beta`")
poisson_like = _like("poisson", "Draw from the Poisson distribution with rate `lam`")
negative_binomial_like = _like("negative_binomial", "Draw the number of failures before `k` successes")
generalized_negative_binomial_like = _like(
    "generalized_negative_binomial", "Draw from the negative binomial distribution with mean `mu`"
)


def rand_zipfian(true_classes: Symbol, num_sampled: int, range_max: int) -> tuple[Symbol, Symbol, Symbol]:
    """Draw classes from a Zipfian distribution; see `nd.contrib.rand_zipfian`."""

    def apply(name: str, *symbols: Symbol, **given: Any) -> Any:
        return compose(find(name), name.lower(), symbols, given)

    scale = apply("log", full((1,), range_max + 1, dtype="float64"))
    draws = apply("_random_uniform", shape=(num_sampled,), dtype="float64")
    sampled = apply("Cast", apply("exp", apply("broadcast_mul", draws, scale)) - 1, dtype="int64") % range_max

    def expected(classes: Symbol) -> Any:
        exact = apply("Cast", classes, dtype="float64")
        return apply("broadcast_div", apply("log", (exact + 2) / (exact + 1)), scale) * num_sampled

    return sampled, expected(true_classes), expected(sampled)
