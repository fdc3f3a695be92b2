"""Threads of OpenMP that wait for each other for a long time on a quiet machine, and for a short time on a busy one.

Two threads of an operator wait for each other at its end. libgomp has a waiting thread look for more to do 300,000
times before it sleeps, some 13 ms. That is right where each thread has a processor to itself: to wake one takes longer
than the pause between two operators. Where other programs compute as well, the one that looks keeps the other from its
processor, and a step takes ten times as long and more. libgomp has an answer: where there are more OpenMP threads than
processors, each looks 100 times only. But it counts the threads of its own process.

So this process is watched. The system counts how long each of its threads was ready to run and had no processor; where
that is much, a thread is started that has a team of OpenMP threads of its own, as many as there are processors. These
sleep, and are counted. When all is quiet again that thread ends, and its team with it. Nothing that is computed depends
on it, in contrast to the number of threads.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
from collections.abc import Iterator

__all__ = ["can_watch", "is_told", "watch"]

#: Times of the threads of this process: in nanoseconds, on a processor and waiting for one.
_TASKS = "/proc/self/task"

#: Seconds from one look to the next: while there is something to do, and otherwise.
_PAUSE, _LONG_PAUSE = 0.04, 0.25
#: How many times as long as a look, which takes 20 µs for each thread, a pause is at least.
_PAUSE_OF_LOOK = 100
#: How much of the time its threads, taken together, waited for processors, beyond which the machine is busy, and below
#: which it is quiet: a mean, in which the time since the look before counts so much. Two threads alone on two
#: processors wait for 0.01 to 0.1 of a time, and now and then for all of one; beside a busy loop for 0.6 to 1.
_BUSY, _QUIET = 0.35, 0.15
_WEIGHT_OF_LAST = 0.3

_begun = threading.Lock()


def can_watch() -> bool:
    """Whether the system says how long threads waited for a processor, as Linux does.

    >>> can_watch() == os.path.exists("/proc/self/schedstat")
    True
    """
    return os.path.exists("/proc/self/schedstat")


def is_told() -> bool:
    """Whether the user has said, in the environment, how threads wait.

    >>> is_told() == ("GOMP_SPINCOUNT" in os.environ or "OMP_WAIT_POLICY" in os.environ)
    True
    """
    return not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}.isdisjoint(os.environ)


def watch() -> None:
    """Begin to watch this process, once; PyTorch is loaded, and may compute in several threads.

    Nothing is watched where the user has said how threads wait, nor without libgomp.

    >>> watch()
    """
    if _begun.acquire(blocking=False) and can_watch() and not is_told() and any(_runtimes()):
        _start(busy=False)


def _runtimes() -> Iterator[ctypes.CDLL]:
    """Every libgomp that is loaded: wheels bring their own, under names of their own."""
    with open("/proc/self/maps") as lines:
        paths = {line.split(maxsplit=5)[-1].strip() for line in lines if "/libgomp" in line}
    for path in sorted(paths):
        with contextlib.suppress(OSError):  # its file was replaced since
            yield ctypes.CDLL(path)


def _start(busy: bool) -> None:
    # It is in nobody's way at the end of the program, nor in that of a fork: there it is gone, and what it did stays.
    with contextlib.suppress(RuntimeError):  # the interpreter is ending
        threading.Thread(target=_look, args=(busy,), name="rebind-oversubscription", daemon=True).start()


def _look(busy: bool) -> None:
    """Look at the process until it is otherwise than `busy`; as long as it is busy, hold a team of threads."""
    if busy:
        for runtime in _runtimes():
            _form_team(runtime)
    mean, pause = float(busy), _PAUSE
    time_before = time.monotonic()
    before = _times()
    while mean > _QUIET if busy else mean < _BUSY:
        time.sleep(pause)
        time_now = time.monotonic()
        now = _times()
        both = now.keys() & before.keys()
        computed, waited = (
            sum([now[task][k] - before[task][k] for task in both]) / 1e9 / (time_now - time_before)
            for k in (0, 1)
        )
        mean += _WEIGHT_OF_LAST * (waited - mean)
        before, time_before = now, time_now
        usual = _PAUSE if computed > 0.1 else _LONG_PAUSE
        pause = max(usual, _PAUSE_OF_LOOK * (time.monotonic() - time_now))
    # A team ends with its thread.
    _start(not busy)


def _times() -> dict[str, tuple[int, int]]:
    """How long each thread has been on a processor, and has waited for one, in nanoseconds."""
    found = {}
    for task in os.listdir(_TASKS):
        with contextlib.suppress(OSError), open(f"{_TASKS}/{task}/schedstat") as file:  # it may have ended
            on_processor, waiting, _ = file.read().split()
            found[task] = int(on_processor), int(waiting)
    return found


def _form_team(runtime: ctypes.CDLL) -> None:
    """Have as many threads as there are processors do nothing for this one; they stay for its next work.

    By the entry that compilers use. What each of them does is free a null pointer.
    """
    nothing = ctypes.cast(ctypes.CDLL(None).free, ctypes.c_void_p)
    runtime.GOMP_parallel(nothing, None, ctypes.c_uint(runtime.omp_get_num_procs()), ctypes.c_uint(0))
