"""Python's binary operators on arrays, and the functions that stand for them: ``x + y``, ``nd.add(x, y)``."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..errors import ShapeError
from ..ops import Operator, find
from ..ops.python_operators import PYTHON_OPERATORS, BinaryNames
from ..params import Params
from .base import ArrayBase, Scalar
from .calls import invoke_by_name
from .invoke import invoke
from .reading import array_like
from .storage import DenseStorage

__all__ = ["BINARY", "BinaryOperators", "Operand", "add_to", "combine", "floor_quotient", "matrix_product"]

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
            f"NDArray @ NDArray: the last axis of the left array must have size {inner}, that of {right.shape} that it "
            f"is summed with; got {left.shape}"
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
