"""Values by the names of a symbol's variables, from what callers give."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from ..errors import ArgumentError, NameLookupError, ParameterError, near_names
from ..graph import Graph

__all__ = ["named_values", "no_such_argument"]

T = TypeVar("T")


def named_values(graph: Graph, who: str, args: Sequence[T], kwargs: Mapping[str, T]) -> dict[str, T]:
    """Return values by name of variable, from those of arguments in order, or of any variables by name.

    >>> import rebind as mx
    >>> named_values((mx.sym.var("a") + mx.sym.var("b")).graph, "example", [1, 2], {})
    {'a': 1, 'b': 2}
    """
    if args and kwargs:
        raise ParameterError(f"Symbol.{who}: takes values by position or by name, not both")
    names = [node.name for node in graph.arguments]
    if len(args) > len(names):
        raise ArgumentError(f"Symbol.{who}: takes at most {len(names)} values; got {len(args)}")
    known = {node.name for node in graph.variables}
    for name in kwargs:
        if name not in known:
            raise no_such_argument(f"Symbol.{who}", name, known, names)
    return {**dict(zip(names, args, strict=False)), **kwargs}


def no_such_argument(
    who: str, name: str, known: Collection[str], arguments: Sequence[str]
) -> NameLookupError:
    """Return the error for a name that is not among those `known`; it lists the first of the `arguments`."""
    more = f" and {len(arguments) - 12} more" if len(arguments) > 12 else ""
    return NameLookupError(
        f"{who}: no argument {name!r}{near_names(name, known)} Arguments: {', '.join(arguments[:12])}{more}."
    )
