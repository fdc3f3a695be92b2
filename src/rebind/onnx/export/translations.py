"""The table of the functions that write an operator in ONNX's operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import onnx_ir as ir

from ...ops import Operator, find

__all__ = ["REASONS", "TRAINING_INPUTS", "TRANSLATIONS", "Translation", "translation"]

#: From what writes the node, and the values of its inputs by their order (None: an optional one that is absent), to
#: its output, or its outputs; those at the end that ONNX has no equivalent for may be left out while nothing uses them.
Translation: TypeAlias = "Callable[..., ir.Value | Sequence[ir.Value]]"

#: By the operator's first name.
TRANSLATIONS: dict[str, Translation] = {}
#: By the operator's first name: inputs that matter in training only, such as labels; what makes them is not written.
TRAINING_INPUTS: dict[str, frozenset[str]] = {}
#: By the operator's first name: why it cannot be exported.
REASONS: dict[str, str] = {}


def translation(
    *names: str | Operator, training_inputs: Sequence[str] = ()
) -> Callable[[Translation], Translation]:
    """Declare how operators are written in ONNX.

    The function is called with a `NodeWriter` and the operator's inputs, by position: one parameter for each input
    of the operator's signature (``*inputs`` for operators that take any number).

    Parameters
    ----------
    names
        Any of the names of each operator, or operators that have none: those that passes put into graphs.
    training_inputs
        Names of inputs that inference does not read: they are None in the call.

    Examples
    --------
    >>> @translation("relu")
    ... def relu(writer, data):
    ...     return writer.op("Relu", data)
    """

    def declare(function: Translation) -> Translation:
        for name in names:
            operator = find(name).name if isinstance(name, str) else name.name
            TRANSLATIONS[operator] = function
            if training_inputs:
                TRAINING_INPUTS[operator] = frozenset(training_inputs)
        return function

    return declare
