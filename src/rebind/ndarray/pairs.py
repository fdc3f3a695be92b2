"""Binary functions of arrays and numbers, and what comparisons give: `isnan` and its like.

Of two numbers they return what Python computes.
"""

from __future__ import annotations

import operator as python_operator
from collections.abc import Callable
from numbers import Number
from typing import Any, TypeAlias

from ..errors import ArgumentError
from ..ops import find
from .arithmetic import BINARY, BinaryOperators, Operand, combine
from .base import ArrayBase
from .ndarray import NDArray

__all__ = [
    "add", "divide", "equal", "greater", "greater_equal", "isfinite", "isinf", "isnan", "lesser", "lesser_equal",
    "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "modulo", "multiply", "not_equal", "power",
    "subtract", "true_divide",
]  # fmt: skip

#: The same function on two numbers.
OnNumbers: TypeAlias = "Callable[[Any, Any], float]"


def _function(
    operators: BinaryOperators, numbers: OnNumbers, doc: str, mirrored: BinaryOperators | None = None
) -> Callable[[Operand, Operand], Any]:
    def function(lhs: Operand, rhs: Operand) -> Any:
        if isinstance(lhs, ArrayBase) or isinstance(rhs, ArrayBase):
            # Comparisons have no form with the number on the left: 2 < x is x > 2.
            if mirrored is not None and not isinstance(lhs, ArrayBase):
                result = combine(mirrored, rhs, lhs)
            else:
                result = combine(operators, lhs, rhs)
            if result is not NotImplemented:
                return result
        elif isinstance(lhs, Number) and isinstance(rhs, Number):
            return numbers(lhs, rhs)
        raise ArgumentError(
            f"nd.{operators.pair.name.removeprefix('broadcast_')}: takes arrays and numbers; got {lhs!r} and {rhs!r}"
        )

    function.__doc__ = doc
    return function


def _named(
    name: str, numbers: OnNumbers, doc: str, mirrored: str | None = None
) -> Callable[[Operand, Operand], Any]:
    return _function(BINARY[name], numbers, doc, None if mirrored is None else BINARY[mirrored])


def _symmetric(name: str, numbers: OnNumbers, doc: str) -> Callable[[Operand, Operand], Any]:
    scalar = find(f"_{name}_scalar")
    return _function(BinaryOperators(find(f"broadcast_{name}"), scalar, scalar), numbers, doc)


maximum = _symmetric("maximum", max, "Return the larger of two, element-wise.")
minimum = _symmetric("minimum", min, "Return the smaller of two, element-wise.")
logical_and = _symmetric("logical_and", lambda a, b: bool(a and b), "Return 1 where both are not 0, else 0.")
logical_or = _symmetric("logical_or", lambda a, b: bool(a or b), "Return 1 where one is not 0, else 0.")
logical_xor = _symmetric(
    "logical_xor", lambda a, b: bool(a) != bool(b), "Return 1 where just one is not 0, else 0."
)
power = _named("pow", python_operator.pow, "Return ``lhs ** rhs``, element-wise.")
add = _named("add", python_operator.add, "Return ``lhs + rhs`` with broadcasting.")
subtract = _named("sub", python_operator.sub, "Return ``lhs - rhs`` with broadcasting.")
multiply = _named("mul", python_operator.mul, "Return ``lhs * rhs`` with broadcasting.")
divide = true_divide = _named("truediv", python_operator.truediv, "Return ``lhs / rhs`` with broadcasting.")
modulo = _named("mod", python_operator.mod, "Return ``lhs % rhs`` with broadcasting.")
equal = _named("eq", python_operator.eq, "Return 1 where both are equal, else 0.", "eq")
not_equal = _named("ne", python_operator.ne, "Return 1 where both differ, else 0.", "ne")
greater = _named("gt", python_operator.gt, "Return 1 where ``lhs > rhs``, else 0.", "lt")
greater_equal = _named("ge", python_operator.ge, "Return 1 where ``lhs >= rhs``, else 0.", "le")
lesser = _named("lt", python_operator.lt, "Return 1 where ``lhs < rhs``, else 0.", "gt")
lesser_equal = _named("le", python_operator.le, "Return 1 where ``lhs <= rhs``, else 0.", "ge")


def isinf(data: NDArray) -> NDArray:
    """Return 1 where an element is infinite, else 0, in the type of `data`.

    >>> import rebind as mx
    >>> isinf(mx.nd.array([1, float("inf"), float("nan")])).asnumpy()
    array([0., 1., 0.], dtype=float32)
    """
    return combine(BINARY["eq"], abs(data), float("inf"))


def isfinite(data: NDArray) -> NDArray:
    """Return 1 where an element is neither infinite nor nan, else 0, in the type of `data`.

    >>> import rebind as mx
    >>> isfinite(mx.nd.array([1, float("inf"), float("nan")])).asnumpy()
    array([1., 0., 0.], dtype=float32)
    """
    return combine(BINARY["lt"], abs(data), float("inf"))


def isnan(data: NDArray) -> NDArray:
    """Return 1 where an element is nan, else 0, in the type of `data`.

    >>> import rebind as mx
    >>> isnan(mx.nd.array([1, float("inf"), float("nan")])).asnumpy()
    array([0., 0., 1.], dtype=float32)
    """
    return combine(BINARY["ne"], data, data)
