"""Whether the values of an array may decide what is computed."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["can_read"]


def can_read(array: Tensor) -> bool:
    """Return whether values may decide what is computed: reading them does not wait for a device, nor is it compiled.

    >>> can_read(torch.ones(1)), can_read(torch.ones(1, device="meta"))
    (True, False)
    """
    return array.is_cpu and not torch.compiler.is_compiling()
