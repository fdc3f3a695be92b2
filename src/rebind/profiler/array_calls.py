"""MXNet's names of what makes, copies, selects and writes arrays without an operator of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ndarray import NDArray
from ..ndarray.indexing import is_basic, torch_key

__all__ = ["row_of"]


def row_of(kind: str, arguments: Sequence[Any], result: Any) -> str | None:
    """Return the row of a call in MXNet's tables; None where it has none, as for what shares the array's memory.

    Parameters
    ----------
    kind
        What the call does, as `Observing.array_calls` has it: the row itself, or what it depends on.
    arguments
        Its arguments, those by position.
    result
        What it returned.

    Examples
    --------
    >>> import rebind as mx
    >>> x = mx.nd.ones((2, 3))
    >>> row_of("select", (x, (slice(None), 1)), x[:, 1]), row_of("select", (x, 1), x[1])
    ('slice', None)
    >>> row_of("assign", (x, slice(None), 2), None), row_of("assign", (x, 0, 2), None)
    ('_full', '_slice_assign_scalar')
    """
    row = _ROWS.get(kind)
    return kind if row is None else row(arguments, result)


def _copy(arguments: Sequence[NDArray], result: NDArray) -> str:
    source, target = ("GPU" if each.device.device_type == "gpu" else "CPU" for each in (arguments[0], result))
    return f"Copy{source}2{target}"


def _convert(arguments: Sequence[Any], result: Any) -> str | None:
    return None if result is arguments[0] else "cast_storage"


def _select(arguments: Sequence[Any], result: NDArray) -> str | None:
    array, key = arguments
    if not is_basic(torch_key(key, array.storage.device)):
        return "gather_nd"
    return None if result is array or result.storage.shared else "slice"


def _assign(arguments: Sequence[Any], result: Any) -> str | None:
    array, key, value = arguments
    is_number, is_whole = isinstance(value, (bool, int, float)), isinstance(key, slice) and key == slice(None)
    if is_whole:
        return "_full" if is_number else _copy([value], array) if isinstance(value, NDArray) else None
    if not is_basic(torch_key(key, array.storage.device)):
        return "_scatter_set_nd"
    return "_slice_assign_scalar" if is_number else "_slice_assign"


_ROWS: dict[str, Callable[[Sequence[Any], Any], str | None]] = {
    "assign": _assign,
    "convert": _convert,
    "copy": _copy,
    "select": _select,
}
