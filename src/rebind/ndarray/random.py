"""Random arrays: `nd.random.uniform` and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..device import Device, as_device
from ..errors import ArgumentError
from ..ops import find
from ..ops.frontend import signature
from .ndarray import NDArray, array, call

__all__ = [
    "exponential", "exponential_like", "gamma", "gamma_like", "generalized_negative_binomial",
    "generalized_negative_binomial_like", "multinomial", "negative_binomial", "negative_binomial_like", "normal",
    "normal_like", "poisson", "poisson_like", "rand_zipfian", "randint", "randn", "shuffle", "uniform",
    "uniform_like",
]  # fmt: skip


def _draw(
    kind: str, parameters: dict[str, Any], shape: Any, dtype: Any, ctx: Device | None, out: NDArray | None
) -> NDArray:
    """Draw with numbers as parameters (``_random_X``) or with arrays of them (``_sample_X``)."""
    arrays = [isinstance(value, NDArray) for value in parameters.values()]
    if any(arrays):
        if not all(arrays):
            raise ArgumentError(
                f"nd.random.{kind}: parameters must be all numbers or all arrays; got {parameters}"
            )
        given: dict[str, Any] = {"shape": () if shape is None else shape}
        op, inputs = find(f"_sample_{kind}"), tuple(parameters.values())
    else:
        given = {**parameters, "shape": (1,) if shape is None and out is None else shape or out.shape}  # type: ignore[union-attr]
        given["ctx"] = as_device(ctx, f"nd.random.{kind}: ctx") if out is None else out.device
        op, inputs = find(f"_random_{kind}"), ()
    if dtype is not None:
        given["dtype"] = dtype
    return call(op, inputs, {**given, "out": out})


def uniform(
    low: Any = 0, high: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Draw from the uniform distribution on ``[low, high)``.

    >>> uniform(0, 1, shape=(2, 3)).shape
    (2, 3)
    """
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, ctx, out)


def normal(
    loc: Any = 0, scale: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Draw from the normal distribution with mean `loc` and standard deviation `scale`."""
    keys = ("mu", "sigma") if isinstance(loc, NDArray) or isinstance(scale, NDArray) else ("loc", "scale")
    return _draw("normal", dict(zip(keys, (loc, scale), strict=True)), shape, dtype, ctx, out)


def randn(
    *shape: int, loc: Any = 0, scale: Any = 1, dtype: Any = None, ctx: Any = None, **kwargs: Any
) -> Any:
    """Draw an array of shape `shape` from the normal distribution."""
    return normal(loc, scale, shape or None, dtype, ctx, kwargs.get("out"))


def poisson(lam: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None) -> Any:
    """Draw from the Poisson distribution with rate `lam`."""
    return _draw("poisson", {"lam": lam}, shape, dtype, ctx, out)


def exponential(
    scale: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Draw from the exponential distribution with mean `scale`."""
    return _draw("exponential", {"lam": 1.0 / scale}, shape, dtype, ctx, out)


def gamma(
    alpha: Any = 1, beta: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Draw from the gamma distribution with shape `alpha` and scale `beta`."""
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, ctx, out)


def negative_binomial(
    k: Any = 1, p: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Draw the number of failures before `k` successes of probability `p`."""
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, ctx, out)


def generalized_negative_binomial(
    mu: Any = 1, alpha: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Draw from the negative binomial distribution with mean `mu` and dispersion `alpha`."""
    return _draw("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, ctx, out)


def randint(
    low: int, high: int, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Draw whole numbers from ``[low, high)``; int32 by default."""
    return _draw("randint", {"low": low, "high": high}, shape, dtype, ctx, out)


def multinomial(
    data: NDArray,
    shape: Any = None,
    get_prob: bool = False,
    out: Any = None,
    dtype: Any = "int32",
    **kwargs: Any,
) -> Any:
    """Draw indices with the probabilities in the last axis of `data`."""
    given = {"shape": () if shape is None else shape, "get_prob": get_prob, "dtype": dtype, "out": out}
    return call(find("_sample_multinomial"), (data,), {**given, **kwargs})


def shuffle(data: NDArray, **kwargs: Any) -> NDArray:
    """Return the rows of `data` in random order."""
    return call(find("_shuffle"), (data,), kwargs)


def _like(kind: str, first_line: str) -> Callable[..., NDArray]:
    op = find(f"_random_{kind}_like")

    def function(*args: Any, **kwargs: Any) -> NDArray:
        return call(op, args, kwargs)

    function.__name__ = function.__qualname__ = f"{kind}_like"
    function.__doc__ = f"{first_line}, in the shape and type of `data`."
    function.__signature__ = signature(op, NDArray, ("out",))  # type: ignore[attr-defined]
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


def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: Device | None = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Draw classes from a Zipfian distribution, ``P(k) = (log(k + 2) - log(k + 1)) / log(range_max + 1)``.

    Parameters
    ----------
    true_classes
        The target classes, (n,).
    num_sampled
        How many to draw, with replacement.
    range_max
        The number of classes; the frequent ones come first.
    ctx
        The device; the current one by default.

    Returns
    -------
    samples : (num_sampled,), int64
    expected_count_true : (n,), float64
        How often each true class is expected among the samples.
    expected_count_sampled : (num_sampled,), float64
    """
    scale: Any = call(find("log"), (array([range_max + 1], ctx, "float64"),), {})
    drawn = {"shape": (num_sampled,), "dtype": "float64", "ctx": scale.device}
    draws: Any = call(find("_random_uniform"), (), drawn)
    sampled = ((draws * scale).exp() - 1).astype("int64") % range_max

    def expected(classes: Any) -> NDArray:
        exact = classes.as_in_context(scale.device).astype("float64")
        return ((exact + 2) / (exact + 1)).log() / scale * num_sampled

    return sampled, expected(true_classes), expected(sampled)
