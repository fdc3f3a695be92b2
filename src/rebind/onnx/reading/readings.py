"""The table of what reads an operator of ONNX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ...symbol import Symbol

if TYPE_CHECKING:
    from .node_reader import NodeReader

__all__ = ["READINGS", "Reading", "Result", "find_reading", "reading"]

#: An output of a node: a symbol, numbers that are known after all, or None for what nothing uses.
Result: TypeAlias = "Symbol | np.ndarray | None"
#: From what reads the node to its output, or its outputs; the last ones may be left out.
Reading: TypeAlias = "Callable[[NodeReader], Result | Sequence[Result]]"

#: By the operator's name: versions of the operator set from which on a function reads it, the latest first.
READINGS: dict[str, list[tuple[int, Reading]]] = {}


def reading(*names: str, since: int = 1) -> Callable[[Reading], Reading]:
    """Declare how operators are read.

    Parameters
    ----------
    names
        ONNX's names of the operators.
    since
        The version of ONNX's operators from which on the function is right; others may read the versions before.

    Examples
    --------
    >>> @reading("Relu")
    ... def relu(reader):
    ...     return reader.op("relu", reader.input(0))
    """

    def declare(function: Reading) -> Reading:
        for name in names:
            versions = READINGS.setdefault(name, [])
            versions.append((since, function))
            versions.sort(key=lambda row: -row[0])
        return function

    return declare


def find_reading(name: str, opset: int) -> Reading | None:
    """Return what reads an operator of a version; None where nothing does."""
    for since, function in READINGS.get(name, ()):
        if opset >= since:
            return function
    return None
