"""Python's binary operators on arrays: which operators compute ``x + y``, ``2 / x``, ``x < y``, and the methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ..ops import Operator, find
from ..ops.python_operators import PYTHON_OPERATORS, BinaryNames, binary_methods
from ..params import Params
from .base import ArrayBase, Scalar
from .calls import invoke_by_name
from .invoke import invoke
from .reading import array_like
from .storage import DenseStorage

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["BINARY", "Arithmetic", "BinaryOperators", "Operand", "combine"]

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


class Arithmetic(ArrayBase):
    """Methods for Python's operators: ``x + y``, ``2 / x``, ``x < y``, ``-x``, ``x += y``."""

    __slots__ = ()
    # ``x == y`` is element by element and says nothing of identity, by which arrays are hashed.
    __hash__ = object.__hash__

    if TYPE_CHECKING:  # set below

        def _binary(self, other: Operand, /) -> Self: ...

        __add__ = __sub__ = __mul__ = __truediv__ = __mod__ = __pow__ = _binary
        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rmod__ = __rpow__ = _binary
        __gt__ = __ge__ = __lt__ = __le__ = _binary
        __eq__ = __ne__ = _binary  # type: ignore[assignment]  # element by element, unlike object's

    def __neg__(self) -> Self:
        return invoke_by_name("negative", self)

    def __abs__(self) -> Self:
        return invoke_by_name("abs", self)

    def __iadd__(self, other: Operand) -> Self:
        # The most frequent one, of sums over batches and gradients that are collected, needs no other memory.
        if isinstance(other, ArrayBase) and _can_take(self, other):
            return invoke(_SUM, (self, other), _NO_PARAMS, self)
        return self._in_place(self + other)

    def __isub__(self, other: Operand) -> Self:
        return self._in_place(self - other)

    def __imul__(self, other: Operand) -> Self:
        return self._in_place(self * other)

    def __itruediv__(self, other: Operand) -> Self:
        return self._in_place(self / other)

    def __imod__(self, other: Operand) -> Self:
        return self._in_place(self % other)

    def _in_place(self, result: ArrayBase) -> Self:
        self.write(result.tensor)
        return self


for _name, _method in binary_methods(combine, BINARY).items():
    setattr(Arithmetic, _name, _method)


#: The sum that can be written over an operand, which is of the same shape.
_SUM = find("elemwise_add")


def _can_take(array: ArrayBase, other: ArrayBase) -> bool:
    """Whether a sum with another array may be written over an array while it is computed."""
    one, two = array.storage, other.storage
    if not (isinstance(one, DenseStorage) and isinstance(two, DenseStorage)):
        return False
    if one.dtype is not two.dtype or one.shape != two.shape:
        return False
    # Memory that others see may be that of the other array, in part.
    return array is other or not array.storage.shared
