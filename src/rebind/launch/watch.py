"""Watches the processes of a job: which have ended, which hang, and what they said of it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path

from torch.distributed import Store
from torch.distributed.elastic.multiprocessing import PContext, ProcessFailure

from ..distributed import Sign, Signs
from .blame import Ending
from .plan import Plan

__all__ = ["Watch"]

#: A worker that is stopped, as by SIGSTOP, is ended after so many seconds. It would keep the others waiting.
STOPPED_FOR = 10.0
#: How often signs of life are read, in seconds.
_READ_EVERY = 1.0


class Watch:
    """Watches the processes of one attempt to run a job.

    Parameters
    ----------
    plan
        What was started.
    context
        The processes.
    store
        Where workers leave their signs of life.
    workers
        How many workers there are.
    timeout
        After so many seconds without a sign a worker hangs, and is ended.
    """

    def __init__(self, plan: Plan, context: PContext, store: Store, workers: int, timeout: float) -> None:
        self._plan, self._context, self._timeout = plan, context, timeout
        self._signs, self._workers = Signs(store, workers), workers
        self._pids: Mapping[int, int] = context.pids()
        self._codes: dict[int, int] = {}  # of the processes that have ended, by their number in the plan
        self._hung: dict[int, str] = {}
        # When the last new sign of each worker was seen, and which it was.
        self._newest: dict[int, tuple[float, Sign]] = {}
        self._read_at = 0.0

    def look(self) -> list[Ending]:
        """Return how processes ended, if one has failed; it is called before the others are ended for that."""
        for number, pid in self._pids.items():
            if number not in self._codes and (code := _exit_code(pid)) is not None:
                self._codes[number] = code
        if any(self._codes.values()):
            found = self.endings()
            self._wake_all()
            return found
        if time.monotonic() - self._read_at >= _READ_EVERY:
            self._read_at = time.monotonic()
            self._end_hung()
        return []

    def _end_hung(self) -> None:
        now = time.monotonic()
        for number, process in enumerate(self._plan.processes):
            sign = None if process.rank is None else self._signs.read(process.rank)
            if process.rank is None or sign is None or sign.ended or number in self._codes:
                continue
            since, newest = self._newest.setdefault(process.rank, (now, sign))
            if sign.count > newest.count:
                self._newest[process.rank] = now, sign
                continue
            silent, state = now - since, sign.state
            doing = f" in {sign.doing}" if sign.doing else ""
            if silent > STOPPED_FOR and state == "stopped":
                self._end(number, sign, f"was stopped (SIGSTOP){doing} for {silent:.0f} s, and was ended")
            elif silent > self._timeout:
                self._end(number, sign, f"gave no sign of life{doing} for {silent:.0f} s, and was ended")

    def _end(self, number: int, sign: Sign, why: str) -> None:
        self._hung[number] = why
        # Of another machine's process only what carries its output is here; its end reaches that machine.
        for pid in {self._pids[number]} | ({sign.pid} if sign.state is not None else set()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))  # Windows has one of them

    def _wake_all(self) -> None:
        """Let stopped processes run: they could not end otherwise."""
        for number, pid in self._pids.items():
            if number not in self._codes and _exit_code(pid) is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGCONT)

    def take(self, failures: Mapping[int, ProcessFailure]) -> list[Ending]:
        """Return how processes ended, where the first had failed only after it was looked for."""
        # The others were ended for it, by SIGTERM.
        own = {number: each.exitcode for number, each in failures.items() if each.exitcode != -signal.SIGTERM}
        self._codes |= own or {number: each.exitcode for number, each in failures.items()}
        return self.endings()

    def endings(self) -> list[Ending]:
        """Return what is known of each process that has ended or is lost."""
        found = [self._ending(number) for number in range(len(self._plan.processes))]
        started_here = {each.rank for each in found}
        # Those that mpirun or srun has started are known by their signs only.
        for rank in range(self._workers):
            sign = self._signs.read(rank)
            if rank not in started_here and sign is not None:
                failed = bool(sign.ended) and sign.ended != "it has finished"
                found.append(_ending_by_sign(rank, sign, code=1 if failed else None))
        if any(each.code and each.rank is not None for each in found):
            # It is known which worker failed: that what started it fails too says nothing.
            found = [each for each in found if each.rank is not None or not self._starts_many(each.name)]
        return found

    def _starts_many(self, name: str) -> bool:
        return any(process.name == name and " of " in name for process in self._plan.processes)

    def _ending(self, number: int) -> Ending:
        process = self._plan.processes[number]
        sign = None if process.rank is None else self._signs.read(process.rank)
        return Ending(
            name=process.name,
            rank=process.rank,
            pid=self._pids[number] if sign is None else sign.pid,
            host="" if sign is None or sign.state is not None else sign.host,
            code=self._codes.get(number),
            said="" if sign is None else sign.ended,
            lost=() if sign is None else tuple(sign.lost),
            hung=self._hung.get(number, ""),
            last_lines=_last_lines(self._context.stderrs.get(number, "")),
        )


def _ending_by_sign(rank: int, sign: Sign, code: int | None) -> Ending:
    return Ending(
        name=f"worker {rank}",
        rank=rank,
        pid=sign.pid,
        host=sign.host,
        code=code,
        said=sign.ended,
        lost=tuple(sign.lost),
    )


def _exit_code(pid: int) -> int | None:
    """Return the exit code of a child, less than 0 for a signal, and leave it to be waited for; None if it runs.

    None, too, where the system cannot tell without waiting for it; `Watch.take` is notified then.
    """
    if not hasattr(os, "waitid"):  # Windows, and macOS before Python 3.13
        return None
    try:
        found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return 0  # it was waited for, and how it ended is known
    if found is None:
        return None
    return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status


def _last_lines(path: str, count: int = 12) -> tuple[str, ...]:
    if not path:
        return ()
    try:
        with Path(path).open(encoding="utf-8", errors="replace") as file:
            return tuple(line.rstrip("\n") for line in deque(file, maxlen=count))
    except FileNotFoundError:
        return ()
