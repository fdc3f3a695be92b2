"""The table of what reads an operator of PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ...symbol import Symbol

if TYPE_CHECKING:
    from .node_reader import NodeReader

__all__ = ["READINGS", "Reading", "Result", "find_reading", "reading"]

#: An output of a node; None for one that nothing may use.
Result: TypeAlias = "Symbol | Sequence[Symbol | None]"
#: From what reads the node to its output, or its outputs.
Reading: TypeAlias = "Callable[[NodeReader], Result]"
Function = TypeVar("Function", bound="Reading")

#: By the operator's name without its overload: ``"aten.add"``.
READINGS: dict[str, Reading] = {}


def reading(*names: str) -> Callable[[Function], Function]:
    """Declare how operators are read, all overloads of each.

    Parameters
    ----------
    names
        PyTorch's names, without ``aten.``; those of other libraries with theirs.

    Examples
    --------
    >>> @reading("relu")
    ... def relu(reader):
    ...     return reader.op("relu", reader.input("input"))
    """

    def declare(function: Function) -> Function:
        for name in names:
            READINGS[name if "." in name else f"aten.{name}"] = function
        return function

    return declare


def find_reading(target: Any) -> Reading | None:
    """Return what reads an operator; None where nothing does."""
    name = str(target)
    return READINGS.get(name.rpartition(".")[0] or f"higher_order.{name}")
