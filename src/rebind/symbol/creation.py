"""Symbols without inputs, and functions of symbols and numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

from ..checks import NUMBER, check_kind
from ..dtypes import DTypeLike
from ..errors import ArgumentError
from ..ops import find
from ..ops.frontend import split_parameters
from ..ops.python_operators import BinaryNames
from .arithmetic import Operand, combine
from .symbol import Symbol, compose

__all__ = [
    "arange", "eye", "full", "histogram", "hypot", "linspace", "maximum", "minimum", "ones", "pow", "power",
    "split_v2", "zeros",
]  # fmt: skip


def zeros(shape: int | Sequence[int], dtype: DTypeLike | None = None, **kwargs: Any) -> Symbol:
    """Return a symbol of zeros; a size that is 0 follows from the consumers.

    >>> import rebind as mx
    >>> (mx.sym.zeros((0, 2)) + mx.sym.var("x")).infer_shape(x=(3, 2))[1]
    [(3, 2)]
    """
    return compose(find("_zeros"), "_zeros", (), {"shape": shape, "dtype": dtype or "float32", **kwargs})


def ones(shape: int | Sequence[int], dtype: DTypeLike | None = None, **kwargs: Any) -> Symbol:
    """Return a symbol of ones.

    >>> import rebind as mx
    >>> mx.sym.ones((2,)).eval()[0].asnumpy().tolist()
    [1.0, 1.0]
    """
    return compose(find("_ones"), "_ones", (), {"shape": shape, "dtype": dtype or "float32", **kwargs})


def full(shape: int | Sequence[int], val: float, dtype: DTypeLike | None = None, **kwargs: Any) -> Symbol:
    """Return a symbol in which every element is `val`.

    >>> import rebind as mx
    >>> mx.sym.full((2,), 7).eval()[0].asnumpy().tolist()
    [7.0, 7.0]
    """
    check_kind("sym.full", NUMBER, val=val)
    given = {"shape": shape, "dtype": dtype or "float32", "value": float(val)}
    return compose(find("_full"), "_full", (), {**given, **kwargs})


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    name: str | None = None,
    dtype: DTypeLike | None = None,
) -> Symbol:
    """Return a symbol of evenly spaced values in ``[start, stop)``, each `repeat` times.

    >>> import rebind as mx
    >>> mx.sym.arange(0, 2, repeat=2).eval()[0].asnumpy().tolist()
    [0.0, 0.0, 1.0, 1.0]
    """
    given = {"start": start, "stop": stop, "step": step, "repeat": repeat, "infer_range": infer_range}
    return compose(find("_arange"), "_arange", (), {**given, "name": name, "dtype": dtype or "float32"})


def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    name: str | None = None,
    dtype: DTypeLike | None = None,
) -> Symbol:
    """Return a symbol of `num` evenly spaced values.

    >>> import rebind as mx
    >>> mx.sym.linspace(0, 1, 3).eval()[0].asnumpy().tolist()
    [0.0, 0.5, 1.0]
    """
    given = {"start": start, "stop": stop, "num": num, "endpoint": endpoint}
    return compose(find("_linspace"), "_linspace", (), {**given, "name": name, "dtype": dtype or "float32"})


def eye(N: int, M: int = 0, k: int = 0, dtype: DTypeLike | None = None, **kwargs: Any) -> Symbol:
    """Return a symbol with ones on the `k`-th diagonal.

    >>> import rebind as mx
    >>> mx.sym.eye(2).eval()[0].asnumpy().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return compose(find("_eye"), "_eye", (), {"N": N, "M": M, "k": k, "dtype": dtype or "float32", **kwargs})


def split_v2(
    ary: Symbol, indices_or_sections: int | Sequence[int], axis: int = 0, squeeze_axis: bool = False
) -> Symbol:
    """Split a symbol into so many equal sections, or before each of some indices.

    >>> import rebind as mx
    >>> mx.sym.split_v2(mx.sym.var("x"), 2).infer_shape(x=(4, 3))[1]
    [(2, 3), (2, 3)]
    """
    return compose(
        find("_split_v2"), "_split_v2", (ary,), split_parameters(indices_or_sections, axis, squeeze_axis)
    )


def histogram(
    a: Symbol, bins: int | Symbol = 10, range: tuple[float, float] | None = None, **kwargs: Any
) -> Symbol:
    """Return a symbol of two outputs: how many values are between bounds, and the bounds.

    Different from MXNet's, `range` may be left out: it is then from the least to the greatest value.

    Parameters
    ----------
    a
        The values.
    bins
        How many bins of one width, or a symbol of their bounds.
    range
        The lowest and the highest bound.

    Examples
    --------
    >>> import rebind as mx
    >>> counts, edges = histogram(mx.sym.var("x"), bins=2, range=(0, 4))
    >>> counts.eval(x=mx.nd.array([0, 1, 3]))[0].asnumpy().tolist()
    [2, 1]
    """
    if isinstance(bins, Symbol):
        return compose(find("_histogram"), "_histogram", (a, bins), kwargs)
    given = {"bin_cnt": bins} if range is None else {"bin_cnt": bins, "range": range}
    return compose(find("_histogram"), "_histogram", (a,), {**given, **kwargs})


def _two(
    sign: BinaryNames, numbers: Callable[[Any, Any], float], left: Operand, right: Operand
) -> Symbol | float:
    """Return a function of two symbols, of a symbol and a number, or of two numbers."""
    if isinstance(left, Number) and isinstance(right, Number):
        return numbers(left, right)
    result = combine(sign, left, right)
    if not isinstance(result, Symbol):
        raise ArgumentError(
            f"sym: one of the two must be a Symbol, the other too or a number; got {left!r}, {right!r}"
        )
    return result


def maximum(left: Operand, right: Operand) -> Any:
    """Return the larger of two symbols, or of a symbol and a number, element by element.

    >>> import rebind as mx
    >>> mx.sym.maximum(mx.sym.ones((1,)), 2).eval()[0].asnumpy().tolist()
    [2.0]
    """
    return _two(BinaryNames("_Maximum", "_MaximumScalar", "_MaximumScalar"), max, left, right)


def minimum(left: Operand, right: Operand) -> Any:
    """Return the smaller of two symbols, or of a symbol and a number, element by element.

    >>> import rebind as mx
    >>> mx.sym.minimum(mx.sym.ones((1,)), 2).eval()[0].asnumpy().tolist()
    [1.0]
    """
    return _two(BinaryNames("_Minimum", "_MinimumScalar", "_MinimumScalar"), min, left, right)


def hypot(left: Operand, right: Operand) -> Any:
    """Return ``sqrt(left ** 2 + right ** 2)``, element by element.

    >>> import rebind as mx
    >>> mx.sym.hypot(mx.sym.full((1,), 3), 4).eval()[0].asnumpy().tolist()
    [5.0]
    """
    return _two(BinaryNames("_Hypot", "_HypotScalar", "_HypotScalar"), math.hypot, left, right)


def power(base: Operand, exp: Operand) -> Any:
    """Return ``base ** exp``, element by element.

    >>> import rebind as mx
    >>> mx.sym.power(2, mx.sym.full((1,), 3)).eval()[0].asnumpy().tolist()
    [8.0]
    """
    return _two(BinaryNames("_Power", "_PowerScalar", "_RPowerScalar"), operator.pow, base, exp)


pow = power
