"""Large arrays in huge pages: of 2 MB, where the processor's usual ones have 4 KB.

To read or write single rows of a table then takes less time: nearly each row is in another page, and the processor
remembers where some thousand pages are. It takes no more memory, since all of the array is written at once.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
from collections.abc import Callable, Sequence
from math import prod

import torch
from torch import Tensor

from .tuning import current

__all__ = ["full", "zeros_like"]


def full(
    shape: Sequence[int], value: float, dtype: torch.dtype, device: torch.device | str = "cpu"
) -> Tensor:
    """Return a new tensor of equal numbers: a large one in huge pages, if the system gives some to who asks.

    >>> full((2,), 3, torch.int32)
    tensor([3, 3], dtype=torch.int32)
    """
    if prod(shape) * dtype.itemsize < current().huge_page_bytes:
        return torch.full(shape, value, dtype=dtype, device=device)
    return _ask_for_huge_pages(torch.empty(shape, dtype=dtype, device=device)).fill_(value)


def zeros_like(tensor: Tensor) -> Tensor:
    """Return zeros in the shape, type and layout of a tensor, a large one in huge pages as those of `full`.

    >>> zeros_like(torch.ones(2))
    tensor([0., 0.])
    """
    if tensor.nbytes < current().huge_page_bytes:
        return torch.zeros_like(tensor)
    return _ask_for_huge_pages(torch.empty_like(tensor)).zero_()


def _ask_for_huge_pages(tensor: Tensor) -> Tensor:
    """Return a tensor that nothing was written to: its pages are made when that happens."""
    madvise = _madvise()
    if tensor.is_cpu and madvise is not None:
        start = -(-tensor.data_ptr() // mmap.PAGESIZE) * mmap.PAGESIZE
        # A system without huge pages answers with an error, and nothing changes.
        madvise(start, tensor.data_ptr() + tensor.nbytes - start, mmap.MADV_HUGEPAGE)
    return tensor


@functools.cache
def _madvise() -> Callable[[int, int, int], int] | None:
    """Return the system's function; None where there are no huge pages to ask for."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):  # Linux has it
        return None
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return madvise
