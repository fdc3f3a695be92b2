"""Flags of PyTorch that a call needs: they are the whole process's, so each is set for that call and put back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["flag"]


@contextlib.contextmanager
def flag(owner: object, name: str, value: object) -> Iterator[None]:
    """Set the attribute `name` of `owner` in the ``with`` block; it is as before at its end, also after an error.

    >>> import torch
    >>> with flag(torch.backends.cudnn, "benchmark", True):
    ...     torch.backends.cudnn.benchmark
    True
    >>> torch.backends.cudnn.benchmark
    False
    """
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)
