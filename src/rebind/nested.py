"""Nested lists of things of one kind: taken apart and put together again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from .errors import ArgumentError

__all__ = ["Form", "flatten", "pair", "restore"]

#: The shape of nested lists: None for a thing itself, a list of forms for a list.
Form: TypeAlias = "list[Any] | None"


def flatten(value: Any, kind: type, who: str) -> tuple[list[Any], Form]:
    """Return the things in `value`, one of `kind` or nested lists of them, and how they were nested.

    >>> flatten([1, [2, 3], []], int, "example")
    ([1, 2, 3], [None, [None, None], []])
    """
    if isinstance(value, kind):
        return [value], None
    if not isinstance(value, (list, tuple)):
        raise ArgumentError(
            f"{who} must be of class {kind.__name__}, or (nested) lists of such; got {value!r}"
        )
    found: list[Any] = []
    form: list[Any] = []
    for part in value:
        things, inner = flatten(part, kind, who)
        found += things
        form.append(inner)
    return found, form


def restore(things: Sequence[Any], form: Form) -> Any:
    """Nest things as `form` says.

    >>> restore([1, 2, 3], [None, [None, None], []])
    [1, [2, 3], []]
    """

    def build(rest: Iterator[Any], form: Form) -> Any:
        return next(rest) if form is None else [build(rest, inner) for inner in form]

    return build(iter(things), form)


def pair(value: Any, who: str) -> tuple[Any, Any]:
    """Return the two things that a loop's body must give: outputs and new values."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ArgumentError(f"{who} must return two things, outputs and new values; got {value!r}")
    return value[0], value[1]
