"""What completion shows of modules and of objects: what programs call, not what those are made of.

Editors read a module's text, where this has no effect: what a package's ``__init__.py`` imports for itself has
a private name (``from ..completion import listing as _listing``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

__all__ = ["hides", "listing"]

T = TypeVar("T")


def listing(namespace: Mapping[str, Any]) -> Callable[[], list[str]]:
    """Return the `__dir__` of a module, which completion shows: its `__all__`, not the modules that it is made of.

    `namespace` is the module's ``globals()``.

    >>> listing({"__all__": ["create"], "__doc__": "Things.", "create": dict, "base": None})()
    ['__all__', '__doc__', 'create']
    """
    return lambda: sorted({*(name for name in namespace if name.startswith("__")), *namespace["__all__"]})


def hides(names: str) -> Callable[[type[T]], type[T]]:
    """Return a class decorator: completion of the class's objects leaves these names out.

    They are for other parts of rebind, and for subclasses. `dir` of the class has them all.

    >>> @hides("begin")
    ... class Job:
    ...     def begin(self): ...
    ...     def run(self): ...
    >>> [name for name in dir(Job()) if not name.startswith("_")]
    ['run']
    """
    hidden = frozenset(names.split())

    def decorate(kind: type[T]) -> type[T]:
        shown = kind.__dir__

        def __dir__(self: T) -> list[str]:
            return [name for name in shown(self) if name not in hidden]

        kind.__dir__ = __dir__  # type: ignore[assignment, method-assign]
        return kind

    return decorate
