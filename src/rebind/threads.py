"""One thread for what is too little to be shared out.

Two threads meet at the end of every operator. What they gain on a small one is less than what meeting costs: the second
one has gone to sleep since the last operator that was shared, and on a busy machine either may have lost its core.
"""

from __future__ import annotations

import torch

__all__ = ["OneThread", "threads_for", "threads_for_copies"]

#: Elements up to which copying arrays, or updating them, is left to one thread: about 0.2 ms of work. PyTorch itself
#: shares out copies from so many elements of one array on, whatever comes before and after.
_FEW, _SHARED_OUT = 1 << 18, 1 << 15


class OneThread:
    """Compute in one thread in the ``with`` block, if `wanted`.

    >>> before = torch.get_num_threads()
    >>> with OneThread(wanted=True):
    ...     torch.get_num_threads()
    1
    >>> torch.get_num_threads() == before
    True
    """

    __slots__ = ("_before", "_wanted")

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._before = 1

    def __enter__(self) -> None:
        if self._wanted:
            self._before = torch.get_num_threads()
            if self._before > 1:
                torch.set_num_threads(1)

    def __exit__(self, *_: object) -> None:
        if self._before > 1:
            torch.set_num_threads(self._before)
            self._before = 1


def threads_for(elements: int) -> OneThread:
    """For the ``with`` block of work that takes a few operations for each element: one thread if they are few.

    >>> with threads_for(elements=1000):
    ...     torch.get_num_threads()
    1
    """
    return OneThread(elements <= _FEW)


def threads_for_copies(elements: int) -> OneThread:
    """For the ``with`` block of copies of arrays: as `threads_for`, without a switch where PyTorch takes one anyway.

    >>> with threads_for_copies(elements=1000):
    ...     pass
    """
    return OneThread(_SHARED_OUT <= elements <= _FEW)
