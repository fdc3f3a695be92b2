"""Nested lists of objects of one class: flattened and restored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

from .errors import ArgumentError, ParameterError

__all__ = ["Nesting", "flatten", "map_leaves", "pair", "read_limit", "restore"]

T = TypeVar("T")

#: The structure of nested lists: None for an object itself, a list of nestings for a list.
Nesting: TypeAlias = "list[Any] | None"


def flatten(value: object, kind: type[T], who: str) -> tuple[list[T], Nesting]:
    """Return the objects in `value`, one of class `kind` or nested lists of them, and how they were nested.

    >>> flatten([1, [2, 3], []], int, "example")
    ([1, 2, 3], [None, [None, None], []])
    """
    if isinstance(value, kind):
        return [value], None
    if not isinstance(value, (list, tuple)):
        raise ArgumentError(
            f"{who} must be of class {kind.__name__}, or (nested) lists of such; got {value!r}"
        )
    found: list[T] = []
    nesting: list[Any] = []
    for item in value:
        inner_found, inner = flatten(item, kind, who)
        found += inner_found
        nesting.append(inner)
    return found, nesting


def restore(flat: Sequence[object], nesting: Nesting) -> Any:
    """Nest the objects of a flat list as `nesting` says.

    >>> restore([1, 2, 3], [None, [None, None], []])
    [1, [2, 3], []]
    """

    def build(rest: Iterator[object], nesting: Nesting) -> object:
        return next(rest) if nesting is None else [build(rest, inner) for inner in nesting]

    return build(iter(flat), nesting)


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """Return nested tuples, lists and dictionaries with what a function makes of each of their leaves, in order.

    >>> map_leaves(lambda x: 10 * x, (1, [2, {"x": 3}]))
    (10, [20, {'x': 30}])
    """
    if isinstance(tree, dict):
        return {key: map_leaves(function, value) for key, value in tree.items()}
    if isinstance(tree, (tuple, list)):
        made = [map_leaves(function, value) for value in tree]
        return type(tree)(*made) if hasattr(tree, "_fields") else type(tree)(made)
    return function(tree)


def pair(value: object, who: str) -> tuple[Any, Any]:
    """Return outputs and new values, which the body of a loop must return.

    >>> pair([1, [2, 3]], "foreach: body")
    (1, [2, 3])
    """
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ArgumentError(f"{who} must return a pair, outputs and new values; got {value!r}")
    return value[0], value[1]


def read_limit(max_iterations: float | str | None) -> int:
    """Return the largest number of steps of a loop, which its text gives too.

    >>> read_limit(3), read_limit("4")
    (3, 4)
    """
    try:
        return int(max_iterations)  # type: ignore[arg-type]  # int() refuses the rest
    except (TypeError, ValueError):
        raise ParameterError(
            "contrib.while_loop: max_iterations must be an int, the largest number of steps; "
            f"got {max_iterations!r}"
        ) from None
