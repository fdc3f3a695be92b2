"""How `sym.random` draws: what differs between symbols and arrays, and the functions that only symbols have so."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ..dtypes import DTypeLike
from ..ops import find
from ..ops.random_frontend import Drawn, Front, zipfian
from .creation import full
from .symbol import Symbol, compose

__all__ = ["FRONT", "multinomial", "rand_zipfian"]


def _draw(kind: str, drawn: Drawn[Symbol], called_as: str) -> Symbol:
    """Draw with numbers as parameters (``_random_X``) or with symbols (``_sample_X``)."""
    inputs, parameters, given = drawn
    name = f"_sample_{kind}" if inputs else f"_random_{kind}"
    given = {key: value for key, value in given.items() if value is not None or key not in ("shape", "dtype")}
    return compose(find(name), name, inputs, {**parameters, **given}, called_as)


FRONT = Front(
    package="symbol",
    module="sym.random",
    inputs=Symbol,
    inputs_word="symbols",
    extra=(inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD, annotation=Any),),
    extra_like=("name", "attr"),
    apply=compose,
    draw=_draw,
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
