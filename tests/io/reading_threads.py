"""The threads that read ahead and decode."""

import threading


def reading_threads() -> list[threading.Thread]:
    """Return those that are alive."""
    return [
        each for each in threading.enumerate() if each.name.startswith(("rebind-prefetch", "rebind-decode"))
    ]


def threads_left() -> list[threading.Thread]:
    """Return those that do not end by themselves; one that was told to end may have a batch to read before."""
    for each in reading_threads():
        each.join(60)
    return reading_threads()
