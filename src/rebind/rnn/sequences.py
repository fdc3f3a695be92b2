"""The steps of a sequence: one symbol with an axis of time, or a list of symbols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from .. import symbol
from ..checks import COUNT, check_kind
from ..errors import ArgumentError, ParameterError
from ..symbol import Symbol

__all__ = ["Outputs", "Steps", "as_list", "as_symbol", "as_wanted", "slices", "time_axis"]

#: One symbol with an axis of time, or a symbol for each step.
Steps: TypeAlias = "Symbol | Sequence[Symbol]"
#: Either of both, as `merge_outputs` and the cell decide: Any, so that callers who know need not check it.
Outputs: TypeAlias = Any


def time_axis(layout: str, who: str) -> int:
    """Return the position of ``T`` in a layout.

    >>> time_axis("NTC", "RNNCell"), time_axis("TNC", "RNNCell")
    (1, 0)
    """
    if not isinstance(layout, str) or "T" not in layout:
        raise ParameterError(f"{who}: layout must have a T for time, as in 'NTC' or 'TNC'; got {layout!r}")
    return layout.index("T")


def as_list(steps: Steps, length: int, layout: str, who: str) -> list[Symbol]:
    """Return a symbol for each step.

    >>> import rebind as mx
    >>> as_list(mx.sym.var("x"), 2, "NTC", "RNNCell")[1].infer_shape(x=(5, 2, 3))[1]
    [(5, 3)]
    """
    _check_length(length, who)
    axis = time_axis(layout, who)
    if isinstance(steps, Symbol):
        if len(steps) != 1:
            raise ArgumentError(
                f"{who}: inputs must be a symbol with one output, or a list; got {steps!r} with {len(steps)} "
                "outputs. Give list(inputs) to have each output as one step."
            )
        check_kind(who, COUNT, length=length)
        return list(
            symbol.split(
                steps,
                num_outputs=length,
                axis=axis,
                squeeze_axis=1,  # type: ignore[arg-type]  # as MXNet writes it in files
            )
        )
    return _checked(steps, length, who)


def as_symbol(steps: Steps, length: int, layout: str, who: str) -> Symbol:
    """Return one symbol with an axis of time.

    >>> import rebind as mx
    >>> as_symbol([mx.sym.var("x"), mx.sym.var("y")], 2, "TNC", "RNNCell").infer_shape(x=(5, 3))[1]
    [(2, 5, 3)]
    """
    _check_length(length, who)
    axis = time_axis(layout, who)
    if isinstance(steps, Symbol):
        return steps
    each = [symbol.expand_dims(step, axis=axis) for step in _checked(steps, length, who)]
    return symbol.Concat(*each, dim=axis)


def as_wanted(steps: Steps, length: int, layout: str, merge: bool | None, who: str) -> Symbol | list[Symbol]:
    """Return one symbol (`merge`), a symbol for each step (False), or which of both there is (None)."""
    if merge is None:
        _check_length(length, who)
        time_axis(layout, who)
        return steps if isinstance(steps, Symbol) else _checked(steps, length, who)
    return (as_symbol if merge else as_list)(steps, length, layout, who)


def slices(steps: Symbol, length: int, axis: int) -> list[Symbol]:
    """Return the steps of the outputs of a cell; different from `as_list`, the node is named after the operator."""
    return list(
        symbol.SliceChannel(
            steps,
            num_outputs=length,
            axis=axis,
            squeeze_axis=1,  # type: ignore[arg-type]  # as MXNet writes it in files
        )
    )


def _check_length(length: int, who: str) -> None:
    if isinstance(length, bool) or not hasattr(length, "__index__") or length < 0:
        raise ParameterError(f"{who}: length must be an int >= 0; got {length!r}")


def _checked(steps: Sequence[Symbol], length: int, who: str) -> list[Symbol]:
    if not isinstance(steps, (list, tuple)):
        raise ArgumentError(f"{who}: inputs must be a Symbol, or a list of symbols; got {steps!r}")
    if len(steps) != length:
        raise ArgumentError(f"{who}: inputs must have {length} steps, as length says; got {len(steps)}")
    for step in steps:
        if not isinstance(step, Symbol):
            raise ArgumentError(f"{who}: each step of inputs must be a Symbol; got {step!r}")
    return list(steps)
