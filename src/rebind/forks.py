"""Children of a fork: of all threads of the parent, a child has only the one that forked.

What waits for another thread would wait for ever there. PyTorch's own threads are such: once the parent has computed in
several, OpenMP in the child counts on them. So a child computes in one thread, as a worker process of MXNet does
(its ``MXNET_MP_WORKER_NTHREADS``); the workers of a data loader are to share the processors anyway. Locks of a module
are free in the child, as no other thread holds them while the process forks. What has a thread of its own compares
`os.getpid` with what it was, and begins again.
"""

from __future__ import annotations

import os
import threading
from typing import TypeVar

import torch

__all__ = ["held_while_forking"]

SomeLock = TypeVar("SomeLock", bound="threading.Lock | threading.RLock")


def held_while_forking(lock: SomeLock) -> SomeLock:
    """Return a lock of a module, which is taken whenever the process forks, so that a child never finds it taken.

    >>> with held_while_forking(threading.Lock()):
    ...     pass
    """
    if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock


def _compute_in_one_thread() -> None:
    torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_compute_in_one_thread)
