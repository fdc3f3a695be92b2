"""Random arrays: `nd.random.uniform`, `normal`, and so on.

>>> import rebind as mx
>>> mx.nd.random.uniform(0, 1, shape=(2, 3)).shape
(2, 3)
>>> means = mx.nd.array([0, 100])
>>> mx.nd.random.normal(means, mx.nd.ones(2), shape=5).shape  # five numbers for each pair
(2, 5)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..device import Device
from ..dtypes import DTypeLike
from ..ops import find
from ..ops.random_frontend import zipfian
from .drawing import (
    exponential,
    exponential_like,
    gamma,
    gamma_like,
    generalized_negative_binomial,
    generalized_negative_binomial_like,
    negative_binomial,
    negative_binomial_like,
    normal,
    normal_like,
    poisson,
    poisson_like,
    randint,
    uniform,
    uniform_like,
)  # fmt: skip
from .ndarray import NDArray, array, call

__all__ = [
    "exponential", "exponential_like", "gamma", "gamma_like", "generalized_negative_binomial",
    "generalized_negative_binomial_like", "multinomial", "negative_binomial", "negative_binomial_like", "normal",
    "normal_like", "poisson", "poisson_like", "rand_zipfian", "randint", "randn", "shuffle", "uniform",
    "uniform_like",
]  # fmt: skip


def randn(
    *shape: int,
    loc: float | NDArray = 0,
    scale: float | NDArray = 1,
    dtype: DTypeLike | None = None,
    ctx: Device | None = None,
    **kwargs: Any,
) -> NDArray:
    """Draw an array of shape `shape` from the normal distribution.

    >>> randn(2, 3, loc=1000).shape
    (2, 3)
    """
    return normal(loc, scale, shape or None, dtype, ctx, kwargs.get("out"))


def multinomial(
    data: NDArray,
    shape: int | Sequence[int] | None = None,
    get_prob: bool = False,
    out: NDArray | None = None,
    dtype: DTypeLike = "int32",
    **kwargs: Any,
) -> Any:
    """Draw indices with the probabilities in the last axis of `data`.

    >>> multinomial(array([0, 0, 1]), shape=4).asnumpy().tolist()
    [2, 2, 2, 2]
    """
    given = {"shape": () if shape is None else shape, "get_prob": get_prob, "dtype": dtype, "out": out}
    return call(find("_sample_multinomial"), (data,), {**given, **kwargs})


def shuffle(data: NDArray, **kwargs: Any) -> NDArray:
    """Return the rows of `data` in random order.

    >>> sorted(shuffle(array([3, 1, 2])).asnumpy().tolist())
    [1.0, 2.0, 3.0]
    """
    return call(find("_shuffle"), (data,), kwargs)


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

    Examples
    --------
    >>> samples, expected_true, expected_sampled = rand_zipfian(array([0, 3]), num_sampled=4, range_max=9)
    >>> samples.shape, expected_true.asnumpy().round(2).tolist()
    ((4,), [1.2, 0.39])
    """
    base = array([range_max + 1], ctx, "float64")

    def apply(name: str, *inputs: NDArray, **given: Any) -> Any:
        return call(find(name), inputs, given)

    classes = true_classes.as_in_context(base.device)
    return zipfian(apply, base, classes, num_sampled, range_max, ctx=base.device)
