"""Copying values to a GPU without waiting for what it still computes."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["send"]

# Larger copies, such as of parameters, are few, and pinned memory stays with the process.
_MOST_PINNED = 1 << 28  # bytes


def send(source: Tensor, target: Tensor) -> None:
    """Copy `source`, which may broadcast, into `target`, in its type and on its device.

    A GPU reads ordinary memory only when it has done all that came before, for which the CPU would wait. So what is
    copied from there goes to pinned memory first, which PyTorch keeps until it is read: the caller may write into
    `source` at once. What is recorded, and what is large, is copied as PyTorch does it.

    >>> target = torch.zeros(2, dtype=torch.float64)  # on the CPU, where nothing waits
    >>> send(torch.tensor([1, 2]), target)
    >>> target
    tensor([1., 2.], dtype=torch.float64)
    """
    size = source.numel() * target.element_size()
    if target.is_cuda and source.is_cpu and not source.requires_grad and size <= _MOST_PINNED:
        source = torch.empty_like(source, dtype=target.dtype, pin_memory=True).copy_(source)
        target.copy_(source, non_blocking=True)
    else:
        target.copy_(source)
