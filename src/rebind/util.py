"""`mx.util`: switches that scripts set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .ndarray.mode import mode

__all__ = ["is_np_shape", "np_shape", "set_np_shape"]


def is_np_shape() -> bool:
    """Tell whether NumPy's shapes are on."""
    return mode.numpy_shapes


def set_np_shape(active: bool) -> bool:
    """Switch NumPy's shapes on or off; return what it was.

    With them a number becomes an array without axes, and files are written in the version of the format that knows
    arrays without axes or elements. In symbols a size of 0 stays what it is in MXNet 1.x: unknown.
    """
    before, mode.numpy_shapes = mode.numpy_shapes, bool(active)
    return before


@contextmanager
def np_shape(active: bool = True) -> Iterator[None]:
    """Switch NumPy's shapes on in the ``with`` block.

    >>> import rebind as mx
    >>> with np_shape():
    ...     mx.nd.array(3.0).shape
    ()
    """
    before = set_np_shape(active)
    try:
        yield
    finally:
        set_np_shape(before)
