"""Python's binary operators on arrays: which operators compute ``x + y``, ``2 / x``, ``x < y``, and the methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ..ops import Operator, find
from ..params import Params
from .base import ArrayBase, Scalar
from .invoke import invoke, invoke_by_name
from .reading import array

if TYPE_CHECKING:
    from .ndarray import NDArray

__all__ = ["BINARY", "Arithmetic", "BinaryOperators", "Operand", "combine"]

#: What can be on either side of a binary operator.
Operand: TypeAlias = "ArrayBase | Scalar | np.ndarray"


class BinaryOperators(NamedTuple):
    """The operators for two arrays, for an array and a number, and for a number on the left (None: no such form)."""

    pair: Operator
    scalar: Operator
    reverse: Operator | None


def _operators(pair: str, scalar: str, reverse: str | None) -> BinaryOperators:
    return BinaryOperators(find(pair), find(scalar), None if reverse is None else find(reverse))


BINARY = {
    "add": _operators("broadcast_add", "_plus_scalar", "_plus_scalar"),
    "sub": _operators("broadcast_sub", "_minus_scalar", "_rminus_scalar"),
    "mul": _operators("broadcast_mul", "_mul_scalar", "_mul_scalar"),
    "truediv": _operators("broadcast_div", "_div_scalar", "_rdiv_scalar"),
    "mod": _operators("broadcast_mod", "_mod_scalar", "_rmod_scalar"),
    "pow": _operators("broadcast_power", "_power_scalar", "_rpower_scalar"),
    "eq": _operators("broadcast_equal", "_equal_scalar", None),
    "ne": _operators("broadcast_not_equal", "_not_equal_scalar", None),
    "gt": _operators("broadcast_greater", "_greater_scalar", None),
    "ge": _operators("broadcast_greater_equal", "_greater_equal_scalar", None),
    "lt": _operators("broadcast_lesser", "_lesser_scalar", None),
    "le": _operators("broadcast_lesser_equal", "_lesser_equal_scalar", None),
}
_NO_PARAMS = Params()


def combine(operators: BinaryOperators, left: Operand, right: Operand) -> Any:
    """Compute a binary operator on two arrays, or an array and a number; NotImplemented for anything else.

    >>> combine(BINARY["sub"], 5, array([1, 2])).asnumpy().tolist()
    [4.0, 3.0]
    """
    if isinstance(left, ArrayBase):
        if isinstance(right, ArrayBase):
            return invoke(operators.pair, (left, right), _NO_PARAMS)
        array_, number, op = left, right, operators.scalar
    elif operators.reverse is not None and isinstance(right, ArrayBase):
        array_, number, op = right, left, operators.reverse
    else:
        return NotImplemented
    if isinstance(number, np.ndarray) and number.ndim:
        other = array(number, array_.device, array_.storage.dtype)
        return combine(operators, array_, other) if array_ is left else combine(operators, other, array_)
    if isinstance(number, np.ndarray):
        number = number.item()
    if not isinstance(number, (int, float, np.number, np.bool_)):
        return NotImplemented
    return invoke(op, (array_,), op.parse({"scalar": number}))


Method: TypeAlias = "Callable[[Arithmetic, Operand], Any]"


def _forward(name: str) -> Method:
    return lambda self, other: combine(BINARY[name], self, other)


def _reflected(name: str) -> Method:
    return lambda self, other: combine(BINARY[name], other, self)


class Arithmetic(ArrayBase):
    """Methods for Python's operators: ``x + y``, ``2 / x``, ``x < y``, ``-x``, ``x += y``."""

    __slots__ = ()

    __add__, __radd__ = _forward("add"), _reflected("add")
    __sub__, __rsub__ = _forward("sub"), _reflected("sub")
    __mul__, __rmul__ = _forward("mul"), _reflected("mul")
    __truediv__, __rtruediv__ = _forward("truediv"), _reflected("truediv")
    __mod__, __rmod__ = _forward("mod"), _reflected("mod")
    __pow__, __rpow__ = _forward("pow"), _reflected("pow")
    __eq__, __ne__ = _forward("eq"), _forward("ne")  # type: ignore[assignment]  # element by element, unlike object's
    __gt__, __ge__, __lt__, __le__ = map(_forward, ("gt", "ge", "lt", "le"))
    __hash__ = object.__hash__  # a class with __eq__ has none otherwise

    def __neg__(self) -> NDArray:
        return invoke_by_name("negative", self)

    def __abs__(self) -> NDArray:
        return invoke_by_name("abs", self)

    def __iadd__(self, other: Operand) -> Arithmetic:
        return self._in_place(self + other)

    def __isub__(self, other: Operand) -> Arithmetic:
        return self._in_place(self - other)

    def __imul__(self, other: Operand) -> Arithmetic:
        return self._in_place(self * other)

    def __itruediv__(self, other: Operand) -> Arithmetic:
        return self._in_place(self / other)

    def __imod__(self, other: Operand) -> Arithmetic:
        return self._in_place(self % other)

    def _in_place(self, result: NDArray) -> Arithmetic:
        self.write(result.tensor)
        return self
