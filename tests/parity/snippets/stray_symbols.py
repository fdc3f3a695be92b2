"""Symbols among the keywords of operators that have no input for them: ignored without inputs, else refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

#: Operators without inputs, and parameters with which they compose.
_MAKERS: dict[str, dict[str, object]] = {
    "_zeros": {"shape": (2, 3)},
    "_zeros_without_dtype": {"shape": (2, 3)},
    "_ones": {"shape": (2, 3)},
    "_full": {"shape": (2, 3), "value": 2.0},
    "_arange": {"start": 0, "stop": 3},
    "_linspace": {"start": 0, "stop": 1, "num": 3},
    "_eye": {"N": 3},
    "_random_uniform": {"shape": (2, 3)},
    "_random_normal": {"shape": (2, 3)},
    "_random_exponential": {"shape": (2, 3)},
    "_random_gamma": {"shape": (2, 3)},
    "_random_poisson": {"shape": (2, 3)},
    "_random_negative_binomial": {"shape": (2, 3)},
    "_random_generalized_negative_binomial": {"shape": (2, 3)},
    "_random_randint": {"low": 0, "high": 3, "shape": (2, 3)},
    "_sample_unique_zipfian": {"range_max": 5, "shape": (2, 3)},
    "_cvimread": {"filename": "x.png"},
}

#: Functions of `mx.sym` that call them.
_FRONT_ENDS: dict[str, Callable[..., Any]] = {
    "zeros": lambda sym, **stray: sym.zeros((2, 3), **stray),
    "ones": lambda sym, **stray: sym.ones((2, 3), **stray),
    "full": lambda sym, **stray: sym.full((2, 3), 1.0, **stray),
    "arange": lambda sym, **stray: sym.arange(3, **stray),
    "eye": lambda sym, **stray: sym.eye(3, **stray),
    "linspace": lambda sym, **stray: sym.linspace(0, 1, 3, **stray),
    "uniform": lambda sym, **stray: sym.random.uniform(shape=(2, 3), **stray),
    "randn": lambda sym, **stray: sym.random.randn(2, 3, **stray),
    "randint": lambda sym, **stray: sym.random.randint(0, 3, shape=(2, 3), **stray),
    "random_uniform": lambda sym, **stray: sym.random_uniform(shape=(2, 3), **stray),
}

#: Operators with inputs: those with parameters, and those that take any text as an attribute.
_OTHERS: dict[str, Callable[..., Any]] = {
    "sample_uniform": lambda sym, x, **stray: sym.sample_uniform(x, x, shape=(2,), **stray),
    "sample_multinomial": lambda sym, x, **stray: sym.sample_multinomial(x, **stray),
    "uniform_of_symbols": lambda sym, x, **stray: sym.random.uniform(x, x, shape=(2,), **stray),
    "shuffle": lambda sym, x, **stray: sym.random.shuffle(x, **stray),
    "normal_like": lambda sym, x, **stray: sym.random.normal_like(x, **stray),
    "zeros_like": lambda sym, x, **stray: sym.zeros_like(x, **stray),
    "identity": lambda sym, x, **stray: sym.identity(x, **stray),
    "exp": lambda sym, x, **stray: sym.exp(x, **stray),
    "elemwise_add": lambda sym, x, **stray: sym.elemwise_add(x, x, **stray),
    "linear_regression": lambda sym, x, **stray: sym.LinearRegressionOutput(x, x, **stray),
    "fully_connected": lambda sym, x, **stray: sym.FullyConnected(x, num_hidden=2, **stray),
}

#: What is given besides.
_STRAY: dict[str, Callable[[Any, Any, Any], dict[str, object]]] = {
    "data": lambda sym, x, y: {"data": x},
    "another": lambda sym, x, y: {"lhs": x},
    "two": lambda sym, x, y: {"foo": x, "bar": y},
    "hidden": lambda sym, x, y: {"__foo__": x},
    "group": lambda sym, x, y: {"foo": sym.Group([x, y])},
    "parts": lambda sym, x, y: {"foo": sym.split(x, num_outputs=2)},
    "number": lambda sym, x, y: {"foo": 3},
}


def _composed(symbol: Any) -> list[object]:
    """Return what there is of a symbol: nodes, with what is written of them, and names."""
    nodes = json.loads(symbol.tojson())["nodes"]
    return [
        symbol.list_arguments(),
        symbol.list_outputs(),
        [[n["op"], n.get("attrs"), n["inputs"]] for n in nodes],
    ]


def _call(make: Callable[..., Any], stray: str) -> Callable[[Any], object]:
    def run(mx: Any) -> object:
        x, y = mx.sym.var("x"), mx.sym.var("y")
        return _composed(make(mx.sym, name="n", **_STRAY[stray](mx.sym, x, y)))

    return run


def _maker(name: str) -> Callable[..., Any]:
    return lambda sym, **stray: getattr(sym._internal, name)(**_MAKERS[name], **stray)


def _with_input(make: Callable[..., Any]) -> Callable[..., Any]:
    return lambda sym, **stray: make(sym, sym.var("input"), **stray)


def _drawn(mx: Any) -> object:
    """What a program of 2017 writes: a symbol for its shape, which is not taken from it."""
    return mx.sym.random.normal(0, 1, shape=(2, 3), data=mx.sym.var("x")).eval()[0].shape


SNIPPETS = {
    **{f"{name} {stray}": _call(_maker(name), stray) for name in _MAKERS for stray in _STRAY},
    **{
        f"sym.{name} {stray}": _call(make, stray)
        for name, make in _FRONT_ENDS.items()
        for stray in ("data", "group")
    },
    **{
        f"{name} {stray}": _call(_with_input(make), stray)
        for name, make in _OTHERS.items()
        for stray in ("another", "hidden")
    },
    "drawn": _drawn,
}
