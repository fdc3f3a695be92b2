"""Registries: classes and functions under names that do not mind case."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from .errors import ArgumentError, NameLookupError, ParameterError, near_names

__all__ = ["Registry"]

T = TypeVar("T")


class Registry(Generic[T]):
    """Things of one kind (optimizers, metrics, ...) by name.

    Names and aliases are case-insensitive. A name taken over by another class warns and names both: old scripts
    do it on purpose.

    Parameters
    ----------
    kind
        What is registered, in the singular; it stands in messages.
    base
        The class whose instances `create` returns as they are.

    Examples
    --------
    >>> shapes = Registry("shape")
    >>> @shapes.register("circle", "disc")
    ... class Circle:
    ...     pass
    >>> shapes["DISC"] is Circle
    True
    """

    def __init__(self, kind: str, base: type | None = None) -> None:
        self.kind = kind
        self.base = base
        self._entries: dict[str, T] = {}

    def register(self, *names: Any) -> Any:
        """Register under `names`, or, used bare on a class, under the class's own name."""
        if len(names) == 1 and not isinstance(names[0], str):
            return self._add(names[0], (names[0].__name__,))
        return lambda entry: self._add(entry, names or (entry.__name__,))

    def alias(self, *names: str) -> Callable[[T], T]:
        """Register further names; a decorator."""
        return lambda entry: self._add(entry, names)

    def _add(self, entry: T, names: tuple[str, ...]) -> T:
        for name in names:
            old = self._entries.get(name.lower())
            if old is not None and old is not entry:
                warnings.warn(
                    f"{self.kind} {name!r}: {_where(entry)} takes the place of {_where(old)}", stacklevel=4
                )
            self._entries[name.lower()] = entry
        return entry

    def __getitem__(self, name: str) -> T:
        try:
            return self._entries[name.lower()]
        except KeyError:
            raise NameLookupError(
                f"no {self.kind} {name!r}{near_names(name.lower(), self._entries)} "
                f"Registered: {', '.join(sorted(self._entries))}."
            ) from None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def create(self, spec: Any, *args: Any, **kwargs: Any) -> Any:
        """Return an instance from a name, from JSON text ``["name", {...}]``, or `spec` itself if it is one."""
        if self.base is not None and isinstance(spec, self.base):
            if args or kwargs:
                raise ArgumentError(
                    f"{self.kind}: an instance takes no further arguments; got {spec!r} with {args or kwargs}"
                )
            return spec
        if isinstance(spec, str) and spec[:1] == "[":
            spec, kwargs = self._read(spec)
        if not isinstance(spec, str):
            raise ArgumentError(f"{self.kind}: must be a name or an instance; got {spec!r}")
        return self[spec](*args, **kwargs)  # type: ignore[operator]

    def _read(self, text: str) -> tuple[str, dict[str, Any]]:
        try:
            name, keywords = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            name, keywords = None, None
        if not isinstance(name, str) or not isinstance(keywords, dict):
            raise ParameterError(f'{self.kind}: text must be JSON such as ["name", {{}}]; got {text!r}')
        return name, keywords


def _where(entry: Any) -> str:
    return f"{getattr(entry, '__module__', '?')}.{getattr(entry, '__qualname__', entry)}"
