"""`sym.X` for every operator, made from the table of operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops import OPERATORS, Operator
from ..ops.frontend import documentation, signature
from .symbol import Symbol, compose

__all__ = ["make_functions"]

_EXTRA = """name : str, optional: the name of the result; automatic names count up
attr : dict, optional: attributes, strings by name

Inputs that are left out become variables, named after the result: ``fc1_weight``.

Returns
-------
Symbol"""


def make_functions() -> dict[str, Callable[..., Any]]:
    """Return the functions by name, one for each name of each operator."""
    return {name: _function(op, name) for name, op in OPERATORS.items()}


def _function(op: Operator, name: str) -> Callable[..., Symbol]:
    hint = name.lower()

    def function(*args: Any, **kwargs: Any) -> Symbol:
        return compose(op, hint, args, kwargs)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "rebind.symbol"
    function.__doc__ = documentation(op, "Symbol", _EXTRA)
    function.__signature__ = signature(op, Symbol, ("name", "attr"))  # type: ignore[attr-defined]
    return function
