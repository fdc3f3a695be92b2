"""Python's binary operators on arrays: which operators compute ``x + y``, ``2 / x``, ``x < y``, and the methods."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch

from ..grad_mode import inference_mode
from ..ops import Operator, find
from ..ops.python_operators import PYTHON_OPERATORS, BinaryMethods, BinaryNames
from ..params import Params
from .base import Array, ArrayBase, Scalar
from .callers import invoke_by_name
from .forms import Form
from .invoke import invoke
from .reading import array_like
from .storage import DenseStorage

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
#: Below it whole numbers are floats, too, and the same ones.
_EXACT = 1 << 53


def combine(operators: BinaryOperators, left: Operand, right: Operand) -> Any:
    """Compute a binary operator on two arrays, or an array and a number; NotImplemented for anything else.

    >>> import rebind as mx
    >>> combine(BINARY["sub"], 5, mx.nd.array([1, 2])).asnumpy().tolist()
    [4.0, 3.0]
    """
    if isinstance(left, ArrayBase):
        if isinstance(right, ArrayBase):
            result = _form(operators.pair, 2).run(left, right)
            return invoke(operators.pair, (left, right), _NO_PARAMS) if result is None else result
        array_, number, op = left, right, operators.scalar
    elif operators.reverse is not None and isinstance(right, ArrayBase):
        array_, number, op = right, left, operators.reverse
    else:
        return NotImplemented
    # Parsed already: operators take a number as a float.
    if number.__class__ is float or (number.__class__ is int and -_EXACT < number < _EXACT):
        value = float(number)
        scalar: float | torch.Tensor | None = value
        if op in _TAKE_ARRAYS and isinstance(array_.storage, DenseStorage):
            key = value or str(value), array_.storage.dtype  # zeros have signs
            scalar = _numbers.get(key)
            if scalar is None:
                scalar = _note_number(*key)
        result = _form(op, 1).run(array_, scalar)
        if result is not None:
            return result
    # An array of NumPy's becomes one of ours, in the type of the other operand; a single number stays a number.
    if isinstance(number, np.ndarray) and number.ndim:
        other = array_like(number, array_)
        return combine(operators, array_, other) if array_ is left else combine(operators, other, array_)
    if isinstance(number, np.ndarray):
        # An array of NumPy's without axes.
        number = number.item()
    if not isinstance(number, (int, float, np.number, np.bool_)):
        return NotImplemented
    return invoke(op, (array_,), op.parse({"scalar": number}))


#: Operators that take an array without axes for a number, and give the same.
_TAKE_ARRAYS = {
    *(find(f"_{name}_scalar") for name in ("plus", "minus", "rminus", "mul", "div", "rdiv")),
    *(BINARY[name].scalar for name in ("eq", "ne", "gt", "ge", "lt", "le")),
}
#: In others torch computes with the number itself, where an array would be rounded to the type first.
_EXACT_TYPES = frozenset((torch.float32, torch.float64))
#: Numbers as arrays without axes, by value and type; None for what was used once. Bounded, as programs count.
_numbers: dict[tuple[float | str, torch.dtype], torch.Tensor | None] = {}
_MOST_NUMBERS = 1024


def _note_number(number: float | str, dtype: torch.dtype) -> float | torch.Tensor:
    """Return a number as an array if it came before; note that it has come.

    torch makes an array of each number that it is given, which takes it longer than to multiply a small array by it.
    """
    value, key = float(number), (number, dtype)
    if dtype not in _EXACT_TYPES:
        return value
    if key not in _numbers:
        if len(_numbers) == _MOST_NUMBERS:
            _numbers.clear()
        _numbers[key] = None
        return value
    with inference_mode(False):  # for every mode
        made = _numbers[key] = torch.tensor(value, dtype=dtype, device="cpu")
    return made


@functools.cache
def _form(op: Operator, count: int) -> Form:
    """Return the form of an operator on two arrays, or on one and a number that comes with each call."""
    return Form(op, op.parse({}), range(count), varying=("scalar",) if count == 1 else ())


class Arithmetic(ArrayBase, BinaryMethods["Operand", Array], combine=combine, operators=BINARY):
    """Methods for Python's operators: ``x + y``, ``2 / x``, ``x < y``, ``-x``, ``x += y``."""

    __slots__ = ()

    def __neg__(self) -> Array:
        return invoke_by_name("negative", self)

    def __abs__(self) -> Array:
        return invoke_by_name("abs", self)

    def __iadd__(self, other: Operand) -> Array:
        # The most frequent one, of sums over batches and gradients that are collected, needs no other memory.
        is_written = (
            isinstance(other, ArrayBase)
            and _can_take(self, other)
            and _form(_SUM, 2).run_into((self, other), self) is not None
        )
        return self._in_place(None if is_written else self + other)

    def __isub__(self, other: Operand) -> Array:
        return self._in_place(self - other)

    def __imul__(self, other: Operand) -> Array:
        return self._in_place(self * other)

    def __itruediv__(self, other: Operand) -> Array:
        return self._in_place(self / other)

    def __imod__(self, other: Operand) -> Array:
        return self._in_place(self % other)

    def _in_place(self, result: Array | None) -> Array:
        if result is not None:
            self.write(result.tensor)
        return self  # type: ignore[return-value]  # `Array` is what derives from this class


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
