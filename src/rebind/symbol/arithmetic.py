"""The signs of arithmetic and comparison: the operators that they stand for, and their methods on symbols."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from types import NotImplementedType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from ..errors import ArgumentError
from ..ops import find
from .base import SymbolBase
from .composition import compose

if TYPE_CHECKING:
    from .symbol import Symbol

__all__ = ["Arithmetic", "BinaryOperators", "Operand", "combine"]

#: What can stand on either side of a sign.
Operand: TypeAlias = "SymbolBase | float | np.number | np.bool_ | np.ndarray"


class BinaryOperators(NamedTuple):
    """The operators of a sign by name: for two symbols, a symbol and a number, and the number on the left.

    Operators have several names in MXNet; these are the ones that automatic names come from.
    """

    pair: str
    scalar: str
    reverse: str | None


BINARY = {
    "add": BinaryOperators("_Plus", "_PlusScalar", "_PlusScalar"),
    "sub": BinaryOperators("_Minus", "_MinusScalar", "_RMinusScalar"),
    "mul": BinaryOperators("_Mul", "_MulScalar", "_MulScalar"),
    "truediv": BinaryOperators("_Div", "_DivScalar", "_RDivScalar"),
    "mod": BinaryOperators("_Mod", "_ModScalar", "_RModScalar"),
    "pow": BinaryOperators("_Power", "_PowerScalar", "_rpower_scalar"),
    "eq": BinaryOperators("_equal", "_equal_scalar", None),
    "ne": BinaryOperators("_not_equal", "_not_equal_scalar", None),
    "gt": BinaryOperators("_greater", "_greater_scalar", None),
    "ge": BinaryOperators("_greater_equal", "_greater_equal_scalar", None),
    "lt": BinaryOperators("_lesser", "_lesser_scalar", None),
    "le": BinaryOperators("_lesser_equal", "_lesser_equal_scalar", None),
}


def combine(sign: BinaryOperators, left: Operand, right: Operand) -> Symbol | NotImplementedType:
    """Return a sign applied to two symbols, or to a symbol and a number; NotImplemented for anything else.

    >>> import rebind as mx
    >>> combine(BINARY["sub"], 1, mx.sym.var("x")).list_arguments()
    ['x']
    """
    if isinstance(left, SymbolBase) and isinstance(right, SymbolBase):
        return compose(find(sign.pair), sign.pair.lower(), (left, right), {})
    name = sign.scalar if isinstance(left, SymbolBase) else sign.reverse
    symbol, number = (left, right) if isinstance(left, SymbolBase) else (right, left)
    if isinstance(number, np.ndarray):
        raise ArgumentError(
            "Symbol: arithmetic takes symbols and numbers; got a NumPy array. Make it an input: sym.var()"
        )
    if isinstance(number, (bool, np.bool_)):
        number = int(number)  # MXNet's files know no other numbers
    if (
        not isinstance(number, (numbers.Number, np.number))
        or not isinstance(symbol, SymbolBase)
        or name is None
    ):
        return NotImplemented
    return compose(find(name), name.lower(), (symbol,), {"scalar": number})


Method: TypeAlias = "Callable[[Arithmetic, Operand], Symbol]"


def _forward(sign: str) -> Method:
    return lambda self, other: combine(BINARY[sign], self, other)


def _reflected(sign: str) -> Method:
    return lambda self, other: combine(BINARY[sign], other, self)


class Arithmetic(SymbolBase):
    """Methods for signs: ``x + y``, ``2 / x``, ``x < y``, ``-x``."""

    __slots__ = ()
    __array_ufunc__ = None  # NumPy leaves arithmetic with symbols to this class

    __add__, __radd__ = _forward("add"), _reflected("add")
    __sub__, __rsub__ = _forward("sub"), _reflected("sub")
    __mul__, __rmul__ = _forward("mul"), _reflected("mul")
    __truediv__, __rtruediv__ = _forward("truediv"), _reflected("truediv")
    __mod__, __rmod__ = _forward("mod"), _reflected("mod")
    __pow__, __rpow__ = _forward("pow"), _reflected("pow")
    __eq__, __ne__ = _forward("eq"), _forward("ne")  # type: ignore[assignment]  # element by element, unlike object's
    __gt__, __ge__, __lt__, __le__ = map(_forward, ("gt", "ge", "lt", "le"))
    __hash__ = object.__hash__  # a class with __eq__ has none otherwise

    def __neg__(self) -> Symbol:
        return self * -1.0

    def __abs__(self) -> Symbol:
        return compose(find("abs"), "abs", (self,), {})
