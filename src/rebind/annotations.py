"""Annotations as `help` shows them: without the quotes of postponed evaluation."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType

__all__ = ["Unquoted", "unquote"]


class Unquoted(str):
    """The text of an annotation, which is shown without quotes.

    >>> [Unquoted("int | None")]
    [int | None]
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def unquote(package: str) -> None:
    """Have `help` show the types of a package's functions without quotes, in the modules whose import has ended.

    >>> unquote("rebind")
    >>> import inspect, rebind
    >>> print(inspect.signature(rebind.cpu))
    (device_id: int = 0) -> Device
    """
    for name, module in list(sys.modules.items()):
        if (name == package or name.startswith(f"{package}.")) and name not in _done:
            if getattr(module.__spec__, "_initializing", False):  # it has not defined all of them yet
                continue
            _done.add(name)
            for function in _functions(module):
                # The dict itself: `inspect.signature` reads it whenever it is asked.
                given = function.__annotations__
                for key, text in given.items():
                    if type(text) is str:
                        given[key] = _shown.get(text) or _shown.setdefault(text, Unquoted(text))


_done: set[str] = set()

#: By what is quoted: most types stand in many functions, and this runs while rebind is imported.
_shown: dict[str, Unquoted] = {}


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    """Yield the functions that a module defines, and the methods of its classes."""
    for value in list(vars(module).values()):
        # Imported: it is shown where it is defined.
        if getattr(value, "__module__", None) != module.__name__:
            continue
        members = vars(value).values() if inspect.isclass(value) else [value]
        for member in members:
            # Properties, class methods and static methods hold their function inside.
            found = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if isinstance(found, FunctionType):
                yield found
