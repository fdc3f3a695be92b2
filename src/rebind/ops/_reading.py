"""Whether code may read the values of an array, and decide by them what to compute."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor

__all__ = ["can_read", "outside", "without_reading"]

_may_read = True


def can_read(array: Tensor) -> bool:
    """Return whether values can be read: without waiting for a device, and outside of compiled code.

    >>> can_read(torch.ones(1)), can_read(torch.ones(1, device="meta"))
    (True, False)
    """
    return array.is_cpu and _may_read and not torch.compiler.is_compiling()


@contextlib.contextmanager
def without_reading() -> Iterator[None]:
    """Let `can_read` return False in the ``with`` block, for functions that are traced.

    >>> with without_reading():
    ...     can_read(torch.ones(1))
    False
    """
    global _may_read
    before, _may_read = _may_read, False
    try:
        yield
    finally:
        _may_read = before


def outside(indices: Tensor, size: int, least: int = 0) -> int | None:
    """Return the first index that is not in ``[least, size)``, or None if all are, or are not known.

    >>> outside(torch.tensor([0, 7, -1]), 3)
    7
    """
    if indices.is_meta:
        return None
    found = indices[(indices < least) | (indices >= size)]
    return int(found[0]) if found.numel() else None
