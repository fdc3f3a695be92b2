"""Methods that arrays have and symbols cannot: each raises an error with what to do instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from ..errors import NotImplementedForSymbol
from .base import SymbolBase

__all__ = ["ArrayMethods"]


def _only_for_arrays(name: str) -> Callable[..., NoReturn]:
    def method(self: SymbolBase, *args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedForSymbol(
            f"Symbol.{name}: only an array can do this; {self.name or 'a group'!r} has no values before it is bound. "
            "Bind it (simple_bind, bind) and run forward(), or call eval()."
        )

    method.__name__, method.__qualname__ = name, f"Symbol.{name}"
    method.__doc__ = f"Raise an error: `{name}` is for arrays only."
    return method


class ArrayMethods(SymbolBase):
    """The methods of arrays that need values.

    Examples
    --------
    >>> import rebind as mx
    >>> mx.sym.var("x").asnumpy()
    Traceback (most recent call last):
    rebind.errors.NotImplementedForSymbol: Symbol.asnumpy: only an array can do this; 'x' has no values before it ...
    """

    __slots__ = ()


# Set rather than written, so that a type checker refuses them.
for _name in (
    "as_in_context", "asnumpy", "asscalar", "backward", "copy", "detach", "gradient", "wait_to_read",
):  # fmt: skip
    setattr(ArrayMethods, _name, _only_for_arrays(_name))
