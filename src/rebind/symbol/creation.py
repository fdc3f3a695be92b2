"""Symbols from names, files and numbers: variables, groups, and functions of symbols and numbers."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Number
from typing import Any, Protocol

from .. import dtypes, graph
from ..checks import DICT, NUMBER, PATH, Kind, check_instance, check_kind
from ..dtypes import DTypeLike
from ..errors import ArgumentError, FormatError, MXNetError, ParameterError
from ..graph import Entry, symbol_json
from ..ops import find
from ..ops.frontend import split_parameters
from ..ops.python_operators import BinaryNames
from ..ops.storage_types import storage_number
from ..params import Parameter, format_value
from ..scope import AttrScope
from .base import SymbolBase
from .methods import Operand, combine
from .symbol import Symbol, compose

__all__ = [
    "Dumped", "Group", "Variable", "arange", "eye", "full", "histogram", "hypot", "linspace", "load", "maximum",
    "minimum", "ones", "pow", "power", "split_v2", "var", "zeros",
]  # fmt: skip


class Dumped(Protocol):
    """What has a text for files, as an initializer does."""

    def dumps(self) -> str:
        """Return the text."""
        ...


def var(
    name: str,
    attr: Mapping[str, str] | None = None,
    shape: int | Sequence[int] | None = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: DTypeLike | None = None,
    init: str | Dumped | None = None,
    stype: str | None = None,
    **kwargs: str | float,
) -> Symbol:
    """Return a variable: an input, a label or a parameter.

    Parameters
    ----------
    name
        Its name.
    attr
        Attributes.
    shape, dtype
        What is known of it; a size may be 0.
    lr_mult, wd_mult
        Factors of the learning rate and of weight decay.
    init
        An initializer, or its text, which wins over the module's.
    stype
        The kind of storage.
    **kwargs
        Further attributes; their names begin and end with two underscores.

    Examples
    --------
    >>> import rebind as mx
    >>> mx.sym.var("w", shape=(2, 3), lr_mult=0.5).attr("lr_mult")
    '0.5'
    """
    if not isinstance(name, str):
        raise ArgumentError(f"sym.var: name must be a string; got {name!r}")
    # As files hold them: all values are text, and types and storages are MXNet's numbers.
    if attr is not None:
        check_kind("sym.var", DICT, attr=attr)
    _check_settings(shape=shape, lr_mult=lr_mult, wd_mult=wd_mult)
    texts: dict[str, str] = {}
    for key, text in AttrScope.current.get(attr).items():
        if not isinstance(text, str):
            raise ParameterError(f"sym.var: attribute {key!r} must be a string; got {text!r}")
        texts[symbol_json.hide(key)] = text
    if shape is not None:
        texts["__shape__"] = format_value(shape)
    if lr_mult is not None:
        texts["__lr_mult__"] = str(lr_mult)
    if wd_mult is not None:
        texts["__wd_mult__"] = str(wd_mult)
    if dtype is not None:
        texts["__dtype__"] = str(dtypes.flag(dtype, "sym.var: dtype"))
    if init is not None:
        check_instance(init, f"sym.var: init of {name!r}")
        check_kind("sym.var", _INITIALIZER, init=init)
        texts["__init__"] = init if isinstance(init, str) else init.dumps()
    if stype is not None:
        texts["__storage_type__"] = str(storage_number(stype, "sym.var: stype"))
    for key, value in kwargs.items():
        if not symbol_json.is_attribute(key):
            raise ParameterError(
                f"sym.var: no parameter {key!r}; further attributes must begin and end with two underscores: __{key}__"
            )
        texts[key] = str(value)
    return Symbol([Entry(graph.Variable(name, texts))])


Variable = var

#: Read as an operator's parameters are: their text will do.
_SETTINGS = {
    name: Parameter.from_annotation(name, annotation)
    for name, annotation in (("shape", tuple[int, ...]), ("lr_mult", float), ("wd_mult", float))
}
_INITIALIZER = Kind(
    "an Initializer or its text", lambda value: isinstance(value, str) or hasattr(value, "dumps")
)


def _check_settings(**given: object) -> None:
    for name, value in given.items():
        if value is not None:
            try:
                _SETTINGS[name].parse(value)
            except MXNetError as error:
                raise error.locate("sym.var") from None


def Group(symbols: Sequence[Symbol]) -> Symbol:
    """Return one symbol with the outputs of several.

    >>> import rebind as mx
    >>> mx.sym.Group([mx.sym.var("a"), mx.sym.var("b")]).list_outputs()
    ['a', 'b']
    """
    found = list(symbols) if isinstance(symbols, Iterable) else []
    if not found or any(not isinstance(symbol, SymbolBase) for symbol in found):
        raise ArgumentError(f"sym.Group: must be given a list of symbols; got {symbols!r}")
    return Symbol([entry for symbol in found for entry in symbol.graph.outputs])


def load(fname: str | os.PathLike) -> Symbol:
    """Return the symbol in a JSON file.

    >>> import pathlib, tempfile, rebind as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = str(pathlib.Path(folder, "net-symbol.json"))
    ...     mx.sym.exp(mx.sym.var("x"), name="e").save(path)
    ...     load(path).list_outputs()
    ['e_output']
    """
    check_kind("sym.load", PATH, fname=fname)
    with open(fname, encoding="utf-8") as file:
        try:
            text = file.read()
        except UnicodeDecodeError as error:
            raise FormatError(f"{os.fspath(fname)}: a symbol must be UTF-8 text; {error}") from None
    return Symbol(symbol_json.loads(text, os.fspath(fname)))


def zeros(shape: int | Sequence[int], dtype: DTypeLike | None = None, **kwargs: Any) -> Symbol:
    """Return a symbol of zeros; sizes of 0 are inferred from the operators that use it.

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
    name: str, sign: BinaryNames, numbers: Callable[[Any, Any], float], left: Operand, right: Operand
) -> Symbol | float:
    """Return a function of two symbols, of a symbol and a number, or of two numbers."""
    if isinstance(left, Number) and isinstance(right, Number):
        return numbers(left, right)
    result = combine(sign, left, right)
    if not isinstance(result, Symbol):
        raise ArgumentError(
            f"sym.{name}: both arguments must be symbols or numbers; got {left!r} and {right!r}"
        )
    return result


def maximum(left: Operand, right: Operand) -> Any:
    """Return the larger of two symbols, or of a symbol and a number, element by element.

    >>> import rebind as mx
    >>> mx.sym.maximum(mx.sym.ones((1,)), 2).eval()[0].asnumpy().tolist()
    [2.0]
    """
    return _two("maximum", BinaryNames("_Maximum", "_MaximumScalar", "_MaximumScalar"), max, left, right)


def minimum(left: Operand, right: Operand) -> Any:
    """Return the smaller of two symbols, or of a symbol and a number, element by element.

    >>> import rebind as mx
    >>> mx.sym.minimum(mx.sym.ones((1,)), 2).eval()[0].asnumpy().tolist()
    [1.0]
    """
    return _two("minimum", BinaryNames("_Minimum", "_MinimumScalar", "_MinimumScalar"), min, left, right)


def hypot(left: Operand, right: Operand) -> Any:
    """Return ``sqrt(left ** 2 + right ** 2)``, element by element.

    >>> import rebind as mx
    >>> mx.sym.hypot(mx.sym.full((1,), 3), 4).eval()[0].asnumpy().tolist()
    [5.0]
    """
    return _two("hypot", BinaryNames("_Hypot", "_HypotScalar", "_HypotScalar"), math.hypot, left, right)


def power(base: Operand, exp: Operand) -> Any:
    """Return ``base ** exp``, element by element.

    >>> import rebind as mx
    >>> mx.sym.power(2, mx.sym.full((1,), 3)).eval()[0].asnumpy().tolist()
    [8.0]
    """
    return _two("power", BinaryNames("_Power", "_PowerScalar", "_RPowerScalar"), operator.pow, base, exp)


pow = power
