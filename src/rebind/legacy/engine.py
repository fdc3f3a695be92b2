"""`mx.engine`: switches of MXNet's scheduler, for scripts that set them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..absent import old_names
from ..errors import ParameterError

__all__ = ["bulk", "set_bulk_size"]

_size = 0  # remembered only, so that a script that saves and restores it gets its own number back


def set_bulk_size(size: int) -> int:
    """Set how many operators are to run as one, and return the previous number.

    It has no effect: a bound network is lowered as a whole, and there is no scheduler between its operators.

    >>> before = set_bulk_size(15)
    >>> set_bulk_size(before)
    15
    """
    global _size
    if not isinstance(size, int) or size < 0:
        raise ParameterError(f"engine.set_bulk_size: size must be an int >= 0; got {size!r}")
    before, _size = _size, size
    return before


@contextmanager
def bulk(size: int) -> Iterator[None]:
    """Set the number for the ``with`` block only; see `set_bulk_size`.

    >>> with bulk(10):
    ...     set_bulk_size(5)
    10
    """
    before = set_bulk_size(size)
    try:
        yield
    finally:
        set_bulk_size(before)


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
