"""The threads that read ahead and decode."""

import threading
import time


def reading_threads() -> list[threading.Thread]:
    """Return those that are alive."""
    return [
        each for each in threading.enumerate() if each.name.startswith(("rebind-prefetch", "rebind-decode"))
    ]


def threads_left() -> list[threading.Thread]:
    """Return those that do not end by themselves; one that was told to end may have a batch to read before."""
    # One that ends may have begun another one to read its last batch.
    end = time.monotonic() + 60
    while (left := reading_threads()) and time.monotonic() < end:
        left[0].join(1)
    return left
