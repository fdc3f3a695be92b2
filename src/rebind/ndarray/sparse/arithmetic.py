"""`nd.sparse.add` and its kin, which are Python's operators on sparse arrays too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import arithmetic
from ..arithmetic import Operand
from ..base import ArrayBase
from ..calls import invoke_by_name

__all__ = ["add", "divide", "multiply", "subtract"]


def _function(equal_shapes: str, otherwise: Callable[[Operand, Operand], Any]) -> Callable[..., Any]:
    def function(lhs: Operand, rhs: Operand) -> Any:
        if isinstance(lhs, ArrayBase) and isinstance(rhs, ArrayBase) and lhs.shape == rhs.shape:
            return invoke_by_name(equal_shapes, lhs, rhs)
        return otherwise(lhs, rhs)

    function.__doc__ = otherwise.__doc__
    return function


add = _function("elemwise_add", arithmetic.add)
subtract = _function("elemwise_sub", arithmetic.subtract)
multiply = _function("elemwise_mul", arithmetic.multiply)
divide = _function("elemwise_div", arithmetic.divide)
