"""Copying values to a GPU without waiting for what it still computes."""

from __future__ import annotations

import torch
from torch import Tensor

from ..tuning import current

__all__ = ["send", "sent"]


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
        target.copy_(_arriving(source, target.device, target.dtype), non_blocking=True)
    else:
        target.copy_(source)


def sent(
    source: Tensor, device: torch.device, dtype: torch.dtype | None = None, *, copy: bool = False
) -> Tensor:
    """Return the values on `device`, and in `dtype`, as ``source.to`` does, but to a GPU as `send`: nothing waits.

    >>> source = torch.ones(2)
    >>> sent(source, torch.device("cpu")) is source, sent(source, torch.device("cpu"), copy=True) is source
    (True, False)
    """
    dtype = dtype or source.dtype
    if device.type == "cuda" and _need_not_wait(source, dtype):
        return _arriving(source, device, dtype).to(device, dtype, non_blocking=True)
    return source.to(device, dtype, copy=copy)


def _need_not_wait(source: Tensor, dtype: torch.dtype) -> bool:
    size = source.numel() * min(source.dtype.itemsize, dtype.itemsize)
    return source.is_cpu and not source.requires_grad and size <= current().pinned_copy_bytes


def _arriving(source: Tensor, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Return the values in pinned memory, in `dtype`; or on their way to the GPU in a smaller type of their own.

    So pixels of a byte are a byte on the way, and become numbers of `dtype` on the GPU.
    """
    narrow = source.dtype.itemsize < dtype.itemsize
    pinned = torch.empty_like(source, dtype=None if narrow else dtype, pin_memory=True).copy_(source)
    return pinned.to(device, non_blocking=True) if narrow else pinned
