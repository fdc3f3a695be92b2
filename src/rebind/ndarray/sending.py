"""Copying values to a GPU without waiting for what it still computes."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["send", "sent"]

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
    if target.is_cuda and _need_not_wait(source, target.dtype):
        target.copy_(_pinned(source, target.dtype), non_blocking=True)
    else:
        target.copy_(source)


def sent(source: Tensor, device: torch.device) -> Tensor:
    """Return the values on `device`: `source` itself, if it is there, else a copy, which waits for nothing, as `send`.

    >>> source = torch.ones(2)
    >>> sent(source, torch.device("cpu")) is source
    True
    """
    if device.type == "cuda" and _need_not_wait(source, source.dtype):
        return _pinned(source, source.dtype).to(device, non_blocking=True)
    return source.to(device)


def _need_not_wait(source: Tensor, dtype: torch.dtype) -> bool:
    return source.is_cpu and not source.requires_grad and source.numel() * dtype.itemsize <= _MOST_PINNED


def _pinned(source: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.empty_like(source, dtype=dtype, pin_memory=True).copy_(source)
