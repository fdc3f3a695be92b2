"""Operators as methods of arrays: ``x.sum(axis=1)`` is ``nd.sum(x, axis=1)``.

Their signatures are in ``fluent.pyi``, which `make stubs` writes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from ..ops import Operator, find
from ..ops.methods import FLUENT_METHODS
from .base import ArrayBase
from .calls import make_caller
from .fluent import FluentMethods

__all__ = ["OperatorMethods"]


class OperatorMethods(FluentMethods):
    """A method for each operator of `FLUENT_METHODS`."""

    __slots__ = ()


def _method(op: Operator, name: str) -> Callable[..., ArrayBase | list[ArrayBase]]:
    method = make_caller(op, name)  # the array that it is a method of is the first argument
    functools.update_wrapper(method, op.kernels.function)
    method.__name__, method.__qualname__ = name, f"NDArray.{name}"
    return method


for _name in FLUENT_METHODS:
    setattr(OperatorMethods, _name, _method(find(_name), _name))
