"""What the machine can do at best: the peaks that operators are compared with, measured once in a process."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import torch

from .recording import now

__all__ = ["Peak", "measured_peak"]


class Peak(NamedTuple):
    """Billions of operations, and of bytes, in a second; a multiply-add is two operations."""

    gflops: float
    gbytes: float


@functools.cache
def measured_peak(device: str = "cpu") -> Peak:
    """Return the best of some products of large matrices, and of some copies, in float32: about 0.3 s.

    >>> peak = measured_peak()
    >>> peak.gflops > 0 and peak.gbytes > 0
    True
    """
    size, length = 1024, 16_000_000
    matrix = torch.ones(size, size, device=device)
    source, target = torch.ones(length, device=device), torch.empty(length, device=device)
    product = _best(lambda: matrix @ matrix)
    copy = _best(lambda: target.copy_(source))
    return Peak(2e-9 * size**3 / product, 1e-9 * 2 * 4 * length / copy)


def _best(call: Callable[[], object], times: int = 4) -> float:
    call()
    found = []
    for _ in range(times):
        begin = now()
        call()
        found.append(now() - begin)
    return min(found)
