"""Constructors again, with other defaults: for classes that differ in these only."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from .checks import refuses_unknown

__all__ = ["init_defaults"]

C = TypeVar("C", bound=type)


def init_defaults(**defaults: object) -> Callable[[C], C]:
    """Decorate a class that is to have the constructor it inherits, with other defaults; `help` shows them.

    Parameters
    ----------
    **defaults
        Defaults of parameters that can be given by position.

    Examples
    --------
    >>> import inspect
    >>> class Circle:
    ...     def __init__(self, radius=1, unit="m"):
    ...         self.size = f"{radius} {unit}"
    >>> @init_defaults(unit="mm")
    ... class Wheel(Circle):
    ...     pass
    >>> inspect.signature(Wheel), Wheel(5).size, Circle(5).size
    (<Signature (radius=1, unit='mm')>, '5 mm', '5 m')
    """

    def decorate(cls: C) -> C:
        wrapped = cls.__init__  # type: ignore[misc]  # of the class itself, before it has subclasses
        inherited = inspect.unwrap(wrapped)
        code, values = inherited.__code__, inherited.__defaults__ or ()
        names = code.co_varnames[: code.co_argcount]
        known = {**dict(zip(names[len(names) - len(values) :], values)), **defaults}
        assert tuple(known) == names[-len(known) :], "defaults must be those of the last parameters"
        # Of its own, since defaults belong to a function; the code, which has its base in its closure, is the same.
        own: Any = FunctionType(
            code, inherited.__globals__, inherited.__name__, tuple(known.values()), inherited.__closure__
        )
        own.__kwdefaults__, own.__annotations__ = inherited.__kwdefaults__, inherited.__annotations__
        own.__qualname__, own.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
        own.__doc__ = inherited.__doc__
        if wrapped is not inherited:  # by the one wrapper that constructors have
            own = refuses_unknown(own)
        setattr(cls, "__init__", own)  # noqa: B010 - mypy takes a method for fixed
        return cls

    return decorate
