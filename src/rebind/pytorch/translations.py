"""The table of the functions that write an operator in plain PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..ops import find

__all__ = ["TRANSLATIONS", "Translation", "translation"]

#: From what writes the node, and its inputs by their order (None: an optional one that is absent), to the expression of
#: its output, or of a sequence of its outputs. None where this call has no plain form: the operator's own function is
#: then written out.
Translation: TypeAlias = "Callable[..., str | None]"

#: By the operator's first name.
TRANSLATIONS: dict[str, Translation] = {}


def translation(*names: str) -> Callable[[Translation], Translation]:
    """Declare how operators are written in PyTorch; from this come both the module and the Python file.

    The function is called with a `NodeWriter` and the names of the operator's inputs, by position: one parameter for
    each input of the operator's signature (``*inputs`` for operators that take any number).

    Parameters
    ----------
    names
        Any of the names of each operator.

    Examples
    --------
    >>> @translation("relu")
    ... def relu(writer, data):
    ...     return f"F.relu({data})"
    """

    def declare(function: Translation) -> Translation:
        for name in names:
            TRANSLATIONS[find(name).name] = function
        return function

    return declare
