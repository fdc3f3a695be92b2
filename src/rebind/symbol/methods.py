"""Operators as methods of symbols: ``x.sum(axis=1)`` is ``sym.sum(x, axis=1)``.

Their signatures are in ``methods.pyi``, which `make stubs` writes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from ..ops import Operator, find
from ..ops.methods import FLUENT_METHODS
from .base import SymbolBase
from .composition import apply

__all__ = ["OperatorMethods"]


class OperatorMethods(SymbolBase):
    """A method for each operator of `FLUENT_METHODS`."""

    __slots__ = ()


def _method(op: Operator, name: str) -> Callable[..., SymbolBase]:
    hint = name.lower()

    def method(self: SymbolBase, *args: object, **kwargs: object) -> SymbolBase:
        return self.symbol_class(apply(op, hint, (self, *args), kwargs, name))

    functools.update_wrapper(method, op.kernels.function)
    method.__name__, method.__qualname__ = name, f"Symbol.{name}"
    return method


for _name in FLUENT_METHODS:
    setattr(OperatorMethods, _name, _method(find(_name), _name))
