"""AdamW as a node of a graph, its factor a symbol or a number (``sym.contrib``)."""

from __future__ import annotations

from ..errors import ArgumentError
from ..ops import find
from ..ops.update.front_ends import FRONT_ENDS, Call, front_end
from .creation import full
from .symbol import Symbol, compose

__all__ = ["adamw_update", "mp_adamw_update"]


def _apply(read: Call[Symbol]) -> Symbol:
    inputs = (*read.arrays, _factor(read))
    given = {**read.settings, "name": read.name}
    called_as = f"contrib.{read.front.name}"
    return compose(find(read.front.operator), read.front.name, inputs, given, called_as)


def _factor(read: Call[Symbol]) -> Symbol:
    value = read.factor
    if isinstance(value, Symbol):
        return value
    try:
        return full((1,), float(value))  # type: ignore[arg-type]  # None is an error like any other
    except (TypeError, ValueError):
        raise ArgumentError(
            f"contrib.{read.front.name}: rescale_grad must be a Symbol or a number; got {value!r}"
        ) from None


adamw_update = front_end(FRONT_ENDS["adamw_update"], Symbol, _apply)
mp_adamw_update = front_end(FRONT_ENDS["mp_adamw_update"], Symbol, _apply)
