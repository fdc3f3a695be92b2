"""`nd.X` for every operator, made from the table of operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops import OPERATORS, Operator
from ..ops.frontend import documentation, signature
from .ndarray import NDArray, call

__all__ = ["make_functions"]

_EXTRA = """out : NDArray, optional: the array to write the result into

Returns
-------
NDArray, or a list of them"""


def make_functions() -> dict[str, Callable[..., Any]]:
    """Return the functions by name, one for each name of each operator."""
    return {name: _function(op, name) for name, op in OPERATORS.items()}


def _function(op: Operator, name: str) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        return call(op, args, kwargs)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "rebind.ndarray"
    function.__doc__ = documentation(op, "NDArray", _EXTRA)
    function.__signature__ = signature(op, NDArray, ("out", "name"))  # type: ignore[attr-defined]
    return function
