"""Whether operations on arrays are being recorded, and in which mode they run; one state for each thread."""

from __future__ import annotations

import threading

__all__ = ["Mode", "mode"]


class Mode(threading.local):
    """The state that `rebind.autograd` sets and every operation reads."""

    recording: bool = False
    training: bool = False
    numpy_shapes: bool = False  # whether arrays may have no axes


mode = Mode()
