"""Python's binary operators on arrays, and the functions that stand for them: ``x + y``, ``nd.add(x, y)``."""

from __future__ import annotations

import math
import operator as python_operator
from collections.abc import Callable
from numbers import Number
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..errors import ArgumentError, ShapeError
from ..ops import Operator, find
from ..ops.python_operators import PYTHON_OPERATORS, BinaryNames
from ..params import Params
from .base import Array, ArrayBase, Scalar
from .calls import invoke_by_name
from .compute import invoke
from .reading import array_like
from .storage import DenseStorage

__all__ = [
    "BINARY", "BinaryOperators", "Operand", "add", "add_to", "combine", "divide", "equal", "floor_quotient", "greater",
    "greater_equal", "isfinite", "isinf", "isnan", "lesser", "lesser_equal", "logical_and", "logical_or", "logical_xor",
    "matrix_product", "maximum", "minimum", "modulo", "multiply", "not_equal", "power", "subtract", "true_divide",
]  # fmt: skip

#: What can be on either side of a binary operator.
Operand: TypeAlias = "ArrayBase | Scalar | np.ndarray"


class BinaryOperators(NamedTuple):
    """The operators for two arrays, for an array and a number, and for a number on the left (None: no such form)."""

    pair: Operator
    scalar: Operator
    reverse: Operator | None


def _found(names: BinaryNames) -> BinaryOperators:
    reverse = None if names.reverse is None else find(names.reverse)
    return BinaryOperators(find(names.pair), find(names.scalar), reverse)


#: The operators by the name in Python's method, such as ``add``.
BINARY = {name: _found(names.arrays) for name, names in PYTHON_OPERATORS.items()}
_NO_PARAMS = Params()


def combine(operators: BinaryOperators, left: Operand, right: Operand) -> Any:
    """Compute a binary operator on two arrays, or an array and a number; NotImplemented for anything else.

    >>> import rebind as mx
    >>> combine(BINARY["sub"], 5, mx.nd.array([1, 2])).asnumpy().tolist()
    [4.0, 3.0]
    """
    if isinstance(left, ArrayBase) and isinstance(right, ArrayBase):
        return invoke(operators.pair, (left, right), _NO_PARAMS)
    if isinstance(left, ArrayBase):
        array_, number, op = left, right, operators.scalar
    elif operators.reverse is not None and isinstance(right, ArrayBase):
        array_, number, op = right, left, operators.reverse
    else:
        return NotImplemented
    # An array of NumPy's becomes one of ours, in the type of the other operand; a single number stays a number.
    if isinstance(number, np.ndarray) and number.ndim:
        other = array_like(number, array_)
        return combine(operators, array_, other) if array_ is left else combine(operators, other, array_)
    if isinstance(number, np.ndarray):
        number = number.item()
    if not isinstance(number, (int, float, np.number, np.bool_)):
        return NotImplemented
    return invoke(op, (array_,), op.parse({"scalar": number}))


#: The sum that can be written over an operand, which is of the same shape.
_SUM = find("elemwise_add")


def add_to(array: ArrayBase, other: Operand) -> bool:
    """Add another array to one in its own memory; return False, and do nothing, where that may give other numbers.

    >>> import rebind as mx
    >>> x = mx.nd.ones((2,))
    >>> add_to(x, x), add_to(x, 1), x.asnumpy().tolist()
    (True, False, [2.0, 2.0])
    """
    if not isinstance(other, ArrayBase):
        return False
    one, two = array.storage, other.storage
    if not (isinstance(one, DenseStorage) and isinstance(two, DenseStorage)):
        return False
    # Memory that others see may be that of the other array, in part.
    if one.dtype is not two.dtype or one.shape != two.shape or not (array is other or not one.shared):
        return False
    invoke(_SUM, (array, other), _NO_PARAMS, array)
    return True


def floor_quotient(left: Operand, right: Operand) -> Any:
    """Return ``left // right`` as Python defines it."""
    # By way of the remainder, as Python defines it: 1 // 0.1 is 9, though the quotient of the floats is 10.
    remainder = combine(BINARY["mod"], left, right)
    if remainder is NotImplemented:
        return remainder
    whole = combine(BINARY["truediv"], combine(BINARY["sub"], left, remainder), right)
    return invoke_by_name("round", whole)


def matrix_product(left: Operand, right: Operand) -> Any:
    """Return ``left @ right`` as NumPy defines it: matrices in the last two axes, the others broadcast."""
    if isinstance(left, np.ndarray) and isinstance(right, ArrayBase):
        left = array_like(left, right)
    if isinstance(right, np.ndarray) and isinstance(left, ArrayBase):
        right = array_like(right, left)
    if not (isinstance(left, ArrayBase) and isinstance(right, ArrayBase)):
        # NotImplemented lets Python ask the other operand.
        return NotImplemented
    inner = right.shape[-2:][0]
    if left.shape[-1] != inner:
        raise ShapeError(
            f"NDArray @ NDArray: the last axis of the left array must have size {inner} to match the "
            f"right array of shape {right.shape}; got shape {left.shape}"
        )
    if left.ndim <= 2 and right.ndim <= 2:
        return invoke_by_name("dot", left, right)
    return _batched_product(left, right)


def _batched_product(left: ArrayBase, right: ArrayBase) -> Any:
    # A vector is a matrix of one row, or of one column, whose axis is taken away again.
    rows, columns = left.shape[:-1][-1:], right.shape[-1:] if right.ndim > 1 else ()
    first, second = (*rows, 1)[0], (*columns, 1)[0]
    inner = left.shape[-1]
    try:
        batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    except ValueError:
        raise ShapeError(
            f"NDArray @ NDArray: axes before the last two must broadcast; got {left.shape} and {right.shape}"
        ) from None

    def stacked(source: ArrayBase, matrix: tuple[int, int]) -> ArrayBase:
        # (*batch, rows, columns): missing batch axes come in front, as in NumPy.
        sizes = (*(1,) * (len(batch) - max(source.ndim - 2, 0)), *source.shape[:-2], *matrix)
        spread = invoke_by_name(
            "broadcast_to", invoke_by_name("Reshape", source, shape=sizes), shape=(*batch, *matrix)
        )
        return invoke_by_name("Reshape", spread, shape=(math.prod(batch), *matrix))

    product = invoke_by_name("batch_dot", stacked(left, (first, inner)), stacked(right, (inner, second)))
    return invoke_by_name("Reshape", product, shape=(*batch, *rows, *columns))


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


def isinf(data: Array) -> Array:
    """Return 1 where an element is infinite, else 0, in the type of `data`.

    >>> import rebind as mx
    >>> isinf(mx.nd.array([1, float("inf"), float("nan")])).asnumpy()
    array([0., 1., 0.], dtype=float32)
    """
    return combine(BINARY["eq"], invoke_by_name("abs", data), float("inf"))


def isfinite(data: Array) -> Array:
    """Return 1 where an element is neither infinite nor nan, else 0, in the type of `data`.

    >>> import rebind as mx
    >>> isfinite(mx.nd.array([1, float("inf"), float("nan")])).asnumpy()
    array([1., 0., 0.], dtype=float32)
    """
    return combine(BINARY["lt"], invoke_by_name("abs", data), float("inf"))


def isnan(data: Array) -> Array:
    """Return 1 where an element is nan, else 0, in the type of `data`.

    >>> import rebind as mx
    >>> isnan(mx.nd.array([1, float("inf"), float("nan")])).asnumpy()
    array([0., 0., 1.], dtype=float32)
    """
    return combine(BINARY["ne"], data, data)
