"""Random symbols: `sym.random.uniform` and its kin draw again in each `forward`.

>>> import rebind as mx
>>> executor = mx.sym.random.uniform(0, 1, shape=(2, 3)).bind(mx.cpu(), {})
>>> [executor.forward()[0].shape for epoch in range(2)]
[(2, 3), (2, 3)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ops import find
from ..ops.random_frontend import zipfian
from .creation import full
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
from .symbol import Symbol, compose

__all__ = [
    "exponential", "exponential_like", "gamma", "gamma_like", "generalized_negative_binomial",
    "generalized_negative_binomial_like", "multinomial", "negative_binomial", "negative_binomial_like", "normal",
    "normal_like", "poisson", "poisson_like", "rand_zipfian", "randint", "randn", "shuffle", "uniform",
    "uniform_like",
]  # fmt: skip


def multinomial(
    data: Symbol,
    shape: int | Sequence[int] | None = None,
    get_prob: bool = True,
    dtype: Any = "int32",
    **kwargs: Any,
) -> Symbol:
    """Draw indices with the probabilities in the last axis of `data`.

    >>> import rebind as mx
    >>> multinomial(mx.sym.var("data"), shape=4, get_prob=False).infer_shape(data=(2, 3))[1]
    [(2, 4)]
    """
    given = {"get_prob": get_prob, "dtype": dtype, **kwargs, **({} if shape is None else {"shape": shape})}
    return compose(find("_sample_multinomial"), "_sample_multinomial", (data,), given)


def shuffle(data: Symbol, **kwargs: Any) -> Symbol:
    """Return the rows of `data` in random order.

    >>> import rebind as mx
    >>> shuffle(mx.sym.var("data")).infer_shape(data=(2, 3))[1]
    [(2, 3)]
    """
    return compose(find("_shuffle"), "_shuffle", (data,), kwargs)


def randn(
    *shape: int, loc: float | Symbol = 0, scale: float | Symbol = 1, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Draw an array of shape `shape` from the normal distribution.

    >>> randn(2, 3).infer_shape()[1]
    [(2, 3)]
    """
    return normal(loc, scale, shape or None, dtype, **kwargs)


def rand_zipfian(true_classes: Symbol, num_sampled: int, range_max: int) -> tuple[Symbol, Symbol, Symbol]:
    """Draw classes from a Zipfian distribution; see `nd.contrib.rand_zipfian`.

    >>> import rebind as mx
    >>> samples, expected_true, expected_sampled = rand_zipfian(mx.sym.var("classes"), 4, 9)
    >>> samples.infer_shape()[1]
    [(4,)]
    """

    def apply(name: str, *symbols: Symbol, **given: Any) -> Any:
        return compose(find(name), name.lower(), symbols, given)

    return zipfian(apply, full((1,), range_max + 1, dtype="float64"), true_classes, num_sampled, range_max)
