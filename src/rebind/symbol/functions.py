"""`sym.X` for an operator, made from its declaration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops import Operator
from ..ops.frontend import documentation, signature
from .symbol import Symbol, compose

__all__ = ["make_function"]

_EXTRA = """name : str, optional
    The name of the result; automatic names count up.
attr : dict, optional
    Attributes, strings by name.

Returns
-------
Symbol
    Inputs that are left out become variables, named after the result: ``fc1_weight``."""


def make_function(op: Operator, name: str, called_as: str | None = None) -> Callable[..., Symbol]:
    """Return the function on symbols that applies `op`; errors call it `called_as`, by default `name`.

    >>> import rebind as mx
    >>> from rebind.ops import find
    >>> clip = make_function(find("clip"), "clip")
    >>> clip(mx.sym.var("x"), 0, 2, name="c").list_outputs()
    ['c_output']
    """
    called_as = called_as or name
    hint = name.lower()

    def function(*args: Any, **kwargs: Any) -> Symbol:
        return compose(op, hint, args, kwargs, called_as)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "rebind.symbol"
    function.__doc__ = documentation(op, "Symbol", _EXTRA)
    function.__signature__ = signature(op, Symbol, ("name", "attr"), inputs_follow=True)  # type: ignore[attr-defined]
    return function
