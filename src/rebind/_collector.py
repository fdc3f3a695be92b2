"""Keeps Python's garbage collector from walking over all of PyTorch while rebind is imported.

An import makes many objects, so that the collector runs; each full run looks at the hundreds of thousands of objects
that PyTorch's own import made, which was a third of the time that rebind's took. Set aside, they are not looked at.
"""

from __future__ import annotations

import gc

import torch  # noqa: F401  # first: its objects are those to set aside

__all__ = ["take_back"]

# A program that has set objects aside itself keeps them there. After an import that failed they stay, which is
# harmless: only what is garbage at this moment would be kept.
_ours = gc.get_freeze_count() == 0


def take_back() -> None:
    """Give the collector back what was set aside, at the end of the import."""
    if _ours:
        gc.unfreeze()


if _ours:
    gc.freeze()
