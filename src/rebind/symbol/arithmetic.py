"""Python's binary operators on symbols: ``x + y``, ``2 / x``, ``x < y``."""

from __future__ import annotations

import numbers
from types import NotImplementedType
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from ..errors import ArgumentError
from ..ops import find
from ..ops.python_operators import PYTHON_OPERATORS, BinaryMethods, BinaryNames
from .base import SymbolBase
from .composition import apply

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["BINARY", "Arithmetic", "Operand", "combine"]

#: What the operators return: `Symbol`, which modules below it cannot name.
Result = TypeVar("Result", bound=SymbolBase)
#: What can be on either side of a binary operator.
Operand: TypeAlias = "SymbolBase | float | np.number | np.bool_ | np.ndarray"


#: The names of operators by the name in Python's method, such as ``add``.
BINARY = {name: names.symbols for name, names in PYTHON_OPERATORS.items()}


def combine(names: BinaryNames, left: Operand, right: Operand) -> SymbolBase | NotImplementedType:
    """Apply a binary operator to two symbols, or to a symbol and a number; NotImplemented for anything else.

    >>> import rebind as mx
    >>> combine(BINARY["sub"], 1, mx.sym.var("x")).list_arguments()
    ['x']
    """
    if isinstance(left, SymbolBase) and isinstance(right, SymbolBase):
        return left.symbol_class(apply(find(names.pair), names.pair.lower(), (left, right), {}))
    name = names.scalar if isinstance(left, SymbolBase) else names.reverse
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
    return symbol.symbol_class(apply(find(name), name.lower(), (symbol,), {"scalar": number}))


class Arithmetic(SymbolBase, BinaryMethods["Operand", Result], combine=combine, operators=BINARY):
    """Methods for Python's operators: ``x + y``, ``2 / x``, ``x < y``, ``-x``."""

    __slots__ = ()

    def __neg__(self) -> Result:
        return self * -1.0

    def __abs__(self) -> Self:
        return self.symbol_class(apply(find("abs"), "abs", (self,), {}))
