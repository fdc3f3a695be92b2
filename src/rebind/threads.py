"""One thread for networks that are too small to be shared out."""

from __future__ import annotations

import torch

__all__ = ["OneThread"]


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
