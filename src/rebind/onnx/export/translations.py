"""The table of what says an operator in ONNX's operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import onnx_ir as ir

from ...ops import find

__all__ = ["TRANSLATIONS", "Translation", "translation"]

#: From what writes the node, and the values of its inputs by their order (None: an optional one that is absent), to
#: its output, or its outputs; those at the end that ONNX cannot say may be left out while nothing uses them.
Translation: TypeAlias = "Callable[..., ir.Value | Sequence[ir.Value]]"

#: By the operator's first name.
TRANSLATIONS: dict[str, Translation] = {}


def translation(*names: str) -> Callable[[Translation], Translation]:
    """Declare how operators are said in ONNX.

    The function is called with a `NodeWriter` and the operator's inputs, by position: one parameter for each input
    of the operator's signature (``*inputs`` for operators that take any number).

    Parameters
    ----------
    names
        Any of the names of each operator.

    Examples
    --------
    >>> @translation("relu")
    ... def relu(writer, data):
    ...     return writer.op("Relu", data)
    """

    def declare(function: Translation) -> Translation:
        for name in names:
            TRANSLATIONS[find(name).name] = function
        return function

    return declare
