"""What the process is given before PyTorch is loaded: memory that is used again, and, on some systems, short waits.

A setting of the user's own, in the environment, always stands. What both do, with figures: ``docs/performance.md``.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable

from .oversubscription import can_watch, is_told

__all__ = ["give_back_freed_memory"]

#: How often a thread of OpenMP looks whether there is more to do before it sleeps. That is some 0.1 ms, longer than the
#: pause between two operators. libgomp's own 300,000 take 13 ms, for which two threads that wait for each other keep
#: everything else from the processor, and each other when there are fewer processors than threads.
_SPINS = 2000

#: Numbers of glibc's `mallopt`, from malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4

#: glibc's `malloc_trim`, where freed memory is kept by our word.
_trim: Callable[[int], int] | None = None


def _wait_for_a_short_time() -> None:
    """Have libgomp's threads sleep soon, where nobody can tell when they should; see `oversubscription`.

    It reads the environment when it is loaded, which PyTorch does.
    """
    if not can_watch() and not is_told():
        os.environ["GOMP_SPINCOUNT"] = str(_SPINS)


def give_back_freed_memory() -> None:
    """Give the system back what is free at this moment, where `_keep_freed_memory` has malloc keep it.

    It takes milliseconds, and the next arrays' pages are filled with zeros again: for once, after work that will not
    come again. Pages between arrays that are in use are given back, too.

    >>> give_back_freed_memory()
    """
    if _trim is not None:
        _trim(0)


def _keep_freed_memory() -> None:
    """Have malloc use freed memory again rather than give it back to the system.

    Otherwise each array above 128 KB to 32 MB may be new memory, whose pages the system fills with zeros one by one
    as they are first written: a third of the time of a large network's step.
    """
    if any(name.startswith("MALLOC_") for name in os.environ) or "malloc" in os.getenv("GLIBC_TUNABLES", ""):
        return
    global _trim
    malloc = ctypes.CDLL(None)
    if hasattr(malloc, "mallopt"):  # not in musl, nor where another malloc stands in
        malloc.mallopt(_MMAP_MAX, 0)
        malloc.mallopt(_TRIM_THRESHOLD, 2**31 - 1)
        _trim = malloc.malloc_trim


if sys.platform == "linux":
    _wait_for_a_short_time()
    _keep_freed_memory()
