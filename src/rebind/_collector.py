"""Keeps Python's garbage collector from running while rebind is imported.

An import makes tens of thousands of objects that last. The collector looks for garbage among them a hundred times, and
once or twice among all of PyTorch's, hundreds of thousands: a third of the time of the import.
"""

from __future__ import annotations

import gc

import torch  # noqa: F401  # first: its import is not ours to hasten

__all__ = ["collect_again"]

#: After how many new objects it runs, while rebind is imported. It is not switched off: an import that fails leaves
#: this behind, which is no harm to a program that goes on.
_RARELY = 1_000_000

_threshold = gc.get_threshold()


def collect_again() -> None:
    """Let the collector run as before, at the end of the import."""
    gc.set_threshold(*_threshold)
    # What was made counts as old, as if the collector had seen it; otherwise its next run would look through all of it.
    # A program that keeps objects out of the collector's sight itself keeps them there.
    if gc.get_freeze_count() == 0:
        gc.freeze()
        gc.unfreeze()


if _threshold[0]:  # 0 is never
    gc.set_threshold(max(_RARELY, _threshold[0]), *_threshold[1:])
