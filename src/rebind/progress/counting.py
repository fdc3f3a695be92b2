"""How many batches and samples there are, as far as data say it."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence, Sized
from typing import Protocol, cast

from ..shapes import HasShape

__all__ = ["HasData", "batch_axis_of", "num_batches", "num_samples"]


class HasData(Protocol):
    """A batch, as far as it is counted."""

    @property
    def data(self) -> Sequence[HasShape]:
        """The inputs."""


def batch_axis_of(data: object) -> int:
    """Return the axis of the first input that counts samples: that of N in its layout.

    >>> from types import SimpleNamespace
    >>> batch_axis_of(SimpleNamespace(provide_data=[SimpleNamespace(layout="TN")]))
    1
    """
    descriptions = getattr(data, "provide_data", None)
    layout = getattr(descriptions[0], "layout", None) if descriptions else None
    return max(layout.find("N"), 0) if layout else 0


def num_samples(batch: HasData, axis: int) -> int:
    """Return how many samples a batch has, without padding.

    >>> from types import SimpleNamespace
    >>> num_samples(SimpleNamespace(data=[SimpleNamespace(shape=(8, 3))], pad=2), axis=0)
    6
    """
    if not batch.data:
        return 0
    shape = batch.data[0].shape
    return shape[axis] - (getattr(batch, "pad", None) or 0) if len(shape) > axis else 0


def num_batches(data: object) -> int | None:
    """Return how many batches an epoch of `data` has; None where nothing says so.

    >>> from types import SimpleNamespace
    >>> num_batches(SimpleNamespace(num_data=10, batch_size=4)), num_batches([1, 2]), num_batches(iter([]))
    (3, 2, None)
    """
    with contextlib.suppress(TypeError):  # a wrapper has a length only if its iterator has one
        return len(cast(Sized, data))
    samples, batch_size = getattr(data, "num_data", None), getattr(data, "batch_size", None)
    if not (isinstance(samples, int) and isinstance(batch_size, int)):  # not made of arrays in memory
        return None
    whole, rest = divmod(samples, batch_size)
    return whole + (rest > 0 and getattr(data, "last_batch_handle", None) != "discard")
