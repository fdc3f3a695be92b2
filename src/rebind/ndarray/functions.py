"""`nd.X` for an operator, made from its declaration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops import Operator
from ..ops.frontend import documentation, signature
from .calls import make_caller
from .ndarray import NDArray

__all__ = ["make_function"]

_EXTRA = """out : NDArray, optional
    The array to write the result into.

Returns
-------
NDArray, or a list of them"""


def make_function(op: Operator, name: str, called_as: str | None = None) -> Callable[..., Any]:
    """Return the function on arrays that runs `op`; errors call it `called_as`, by default `name`.

    >>> import rebind as mx
    >>> from rebind.ops import find
    >>> clip = make_function(find("clip"), "clip")
    >>> clip.__name__, clip(mx.nd.array([1, 5]), 0, 2).asnumpy().tolist()
    ('clip', [1.0, 2.0])
    """
    function = make_caller(op, called_as or name)
    function.__name__ = function.__qualname__ = name
    function.__module__ = "rebind.ndarray"
    function.__doc__ = documentation(op, "NDArray", _EXTRA)
    function.__signature__ = signature(op, NDArray, ("out", "name"))  # type: ignore[attr-defined]
    return function
