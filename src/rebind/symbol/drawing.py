"""How `sym.random` draws: what differs between symbols and arrays, and the functions that only symbols have so."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..dtypes import DTypeLike
from ..ops import find
from ..ops.random_frontend import Front, Reader, zipfian
from .creation import full
from .symbol import Symbol, compose

__all__ = ["FRONT", "multinomial", "rand_zipfian"]


def _draws(kind: str, read: Reader[Symbol], called_as: str) -> Callable[..., Symbol]:
    """Return what draws with numbers as parameters (``_random_X``) or with symbols (``_sample_X``)."""

    def function(*args: Any, **kwargs: Any) -> Symbol:
        inputs, parameters, given = read(args, kwargs)
        name = f"_sample_{kind}" if inputs else f"_random_{kind}"
        return compose(find(name), name, inputs, {**parameters, **_given(given)}, called_as)

    return function


def _given(keywords: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value for name, value in keywords.items() if value is not None or name not in ("shape", "dtype")
    }


FRONT = Front(
    package="symbol",
    module="sym.random",
    inputs=Symbol,
    inputs_word="symbols",
    extra=(inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD, annotation=Any),),
    extra_like=("name", "attr"),
    apply=compose,
    draws=_draws,
)


def multinomial(
    data: Symbol,
    shape: int | Sequence[int] | None = None,
    get_prob: bool = True,
    dtype: DTypeLike = "int32",
    **kwargs: Any,
) -> Symbol:
    """Draw indices with the probabilities in the last axis of `data`.

    >>> import rebind as mx
    >>> multinomial(mx.sym.var("data"), shape=4, get_prob=False).infer_shape(data=(2, 3))[1]
    [(2, 4)]
    """
    # `get_prob` is on here and off in `nd.random`, as in MXNet.
    given = {"get_prob": get_prob, "dtype": dtype, **kwargs, **({} if shape is None else {"shape": shape})}
    return compose(find("_sample_multinomial"), "_sample_multinomial", (data,), given, "random.multinomial")


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
