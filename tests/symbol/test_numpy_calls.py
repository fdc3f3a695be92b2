"""NumPy's functions and Python's conversions on symbols: an error with the operator to use, or that operator."""

from __future__ import annotations

import math
import operator
import re

import numpy as np
import pytest

import rebind as mx

X = mx.sym.var("x")
ROW = np.ones(2, "float32")
FORMAT = "%f"

REFUSED = {
    "numpy.mean": (lambda: np.mean(X), "mean"),
    "numpy.exp": (lambda: np.exp(X), "exp"),
    "numpy.sqrt": (lambda: np.sqrt(X), "sqrt"),
    "numpy.absolute": (lambda: np.abs(X), "abs"),
    "numpy.maximum": (lambda: np.maximum(X, 0), "maximum"),
    "numpy.matmul": (lambda: np.ones((2, 2)) @ X, "dot"),
    "numpy.dot": (lambda: np.dot(ROW, X), "dot"),
    "numpy.concatenate": (lambda: np.concatenate([X, X]), "concat"),
    "numpy.stack": (lambda: np.stack([X, X]), "stack"),
    "numpy.where": (lambda: np.where(X, 1, 0), "where"),
    "numpy.reshape": (lambda: np.reshape(X, (1,)), "reshape"),
    "numpy.transpose": (lambda: np.transpose(X), "transpose"),
    "numpy.norm": (lambda: np.linalg.norm(X), "norm"),
    "numpy.std": (lambda: np.std(X), None),
    "numpy.isnan": (lambda: np.isnan(X), None),
    "numpy.shape": (lambda: np.shape(X), None),
    "numpy.add": (lambda: np.add.reduce(X), None),
    "numpy.asarray": (lambda: np.asarray(X), None),
    "float": (lambda: float(X), None),
    "int": (lambda: int(X), None),
    "round": (lambda: round(X), "round"),
}


@pytest.mark.parametrize("who", REFUSED)
def test_functions_of_numbers(who):
    call, instead = REFUSED[who]
    use = f"Use mx.sym.{instead} in" if instead else "Use operators of mx.sym in"
    says = f"{who}: a symbol has no numbers before it is bound; got 'x'. {use} the network, or bind it"
    with pytest.raises(mx.errors.NotImplementedForSymbol, match=re.escape(says)):
        call()
    if instead:
        assert callable(getattr(mx.sym, instead))


@pytest.mark.parametrize("call", [lambda: math.sqrt(X), lambda: FORMAT % X, lambda: np.array([X, X])])
def test_conversions_on_the_way(call):
    with pytest.raises(TypeError, match="a symbol has no numbers before it is bound"):
        call()


def value(symbol):
    return symbol.bind(mx.cpu(), {"x": mx.nd.array([3.0])}).forward()[0].asnumpy().tolist()


@pytest.mark.parametrize(
    "name", ["add", "sub", "mul", "truediv", "mod", "pow", "eq", "ne", "gt", "ge", "lt", "le"]
)
@pytest.mark.parametrize("number", [np.float32(2), np.float64(3), np.int64(5), np.array(2.0)])
def test_numbers_of_numpy_on_either_side(name, number):
    function = getattr(operator, name)
    if not isinstance(number, np.ndarray):  # which Python asks first
        assert value(function(X, number)) == [pytest.approx(float(function(3.0, float(number))))]
    assert value(function(number, X)) == [pytest.approx(float(function(float(number), 3.0)))]


@pytest.mark.parametrize(
    "call", [lambda: ROW + X, lambda: X * ROW, lambda: ROW > X, lambda: ROW == X, lambda: np.add(ROW, X)]
)
def test_arrays_are_to_be_inputs(call):
    with pytest.raises(
        mx.errors.ArgumentError, match="arithmetic takes symbols and numbers; got a NumPy array"
    ):
        call()


def test_what_the_symbol_has_itself():
    assert value(np.sum(X)) == [3.0]
    assert value(np.clip(X, 0, 1)) == [1.0]
    assert value(np.add(X, 1)) == [4.0]
