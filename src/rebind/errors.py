"""Errors of rebind: one class for each kind of mistake, each also the builtin that Python users expect.

A message has the form ``<who>: <what must hold>; got <value>[. How to mend.]``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "AbsentModuleError",
    "AbsentNameError",
    "ArgumentError",
    "BoundsError",
    "DTypeError",
    "FormatError",
    "MXNetError",
    "NameLookupError",
    "NonFiniteError",
    "NotImplementedForSymbol",
    "ParameterError",
    "ShapeError",
    "StateError",
    "UnknownArgumentError",
    "UserCodeError",
    "near_names",
]


class MXNetError(RuntimeError):
    """Base of every error that rebind raises on purpose."""


class ParameterError(MXNetError, ValueError):
    """A parameter of an operator or of a call has a value that is not allowed, or is missing."""


class ArgumentError(MXNetError, TypeError):
    """An argument is of a kind that the call cannot take."""


class ShapeError(MXNetError, ValueError):
    """Shapes do not fit each other."""


class DTypeError(MXNetError, TypeError):
    """Types of elements do not fit each other."""


class NameLookupError(MXNetError, ValueError):
    """A name is not known where it is looked up."""


class BoundsError(MXNetError, IndexError):
    """An index is outside of its axis, or there are more indices than axes."""


class UnknownArgumentError(NameLookupError, ArgumentError):
    """A keyword is no argument of what is called: to Python a TypeError, to MXNet 2.0 a ValueError."""


class UserCodeError(MXNetError):
    """Code of the user's, such as a custom operator's, raised the error that is this one's cause."""


class NotImplementedForSymbol(MXNetError):
    """What only an array can do was asked of a symbol, which has no values before it is bound."""


class StateError(MXNetError):
    """A call came before the call that it needs."""


class NonFiniteError(MXNetError, FloatingPointError):
    """A number is NaN or infinite where a monitor was told to stop at one."""


class FormatError(MXNetError, ValueError):
    """A file is cut short, or is not what it is taken for."""


class AbsentModuleError(MXNetError, ImportError):
    """A module of MXNet's that rebind does not have is imported."""


class AbsentNameError(MXNetError, AttributeError):
    """A name of MXNet's that rebind does not have is touched."""


def near_names(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence: ``"; did you mean 'a' or 'b'?"`` for near names in `known`, else ``"."``.

    >>> near_names("num_hiden", ["num_hidden", "flatten"])
    "; did you mean 'num_hidden'?"
    """
    close = difflib.get_close_matches(str(name), list(known), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else "."
