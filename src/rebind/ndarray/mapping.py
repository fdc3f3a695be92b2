"""The numbers of a large array as a view of its file."""

from __future__ import annotations

import mmap
import os
from math import prod

import torch
from torch import Tensor

from ..tuning import current

__all__ = ["map_elements"]


def map_elements(descriptor: int, offset: int, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor | None:
    """Return elements of an open file as a tensor: pages are read when they are first used, and copied when written to.

    The map is private, so that nothing is written into the file, and outlives its name. None where the elements are to
    be read: they are few, they begin at no multiple of their size, or the system does not map this file.

    >>> import tempfile
    >>> from rebind import tuning
    >>> with tempfile.TemporaryFile() as file, tuning.changed(mapped_array_bytes=1):
    ...     _ = file.write(bytes([0, 0, 1, 2, 3, 4]))
    ...     file.flush()
    ...     map_elements(file.fileno(), 2, (2, 2), torch.uint8)
    tensor([[1, 2],
            [3, 4]], dtype=torch.uint8)
    """
    count = prod(shape)
    length = count * dtype.itemsize
    # Any byte but 0 is true, and PyTorch's booleans are 0 or 1. Windows does not replace a file that is mapped.
    if length < current().mapped_array_bytes or dtype is torch.bool or os.name == "nt":
        return None
    if offset % dtype.itemsize:
        return None
    skipped = offset % mmap.ALLOCATIONGRANULARITY
    try:
        memory = mmap.mmap(descriptor, skipped + length, access=mmap.ACCESS_COPY, offset=offset - skipped)
    except (OSError, ValueError):  # a file system without maps, a limit on memory; a file that became shorter
        return None
    return torch.frombuffer(memory, dtype=dtype, count=count, offset=skipped).reshape(shape)
