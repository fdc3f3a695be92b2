"""Signs of life: each process of a job says regularly what it is doing, so that errors can name who is missing."""

from __future__ import annotations

import json
import os
import queue
import secrets
import socket
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswerError
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from torch.distributed import Store

from .machine import namespace

__all__ = ["INTERVAL", "STATES", "Liveness", "Sign", "Signs"]

#: How often a process gives a sign, in seconds.
INTERVAL = 1.0
#: After so many seconds without a sign a process is taken for lost. Not after fewer: a long call of native code can
#: keep Python's other threads from running. Whose process can be looked at, as it is on this machine, is not judged
#: by this: it is lost when it has ended or is stopped.
PATIENCE = 15.0
#: After so many seconds without an answer the process that holds the store is taken for lost.
ANSWER = 10.0

T = TypeVar("T")


@dataclass(frozen=True)
class Sign:
    """What a process last said of itself.

    Attributes
    ----------
    count
        How many signs it gave: it lives while this grows.
    doing
        The collective operation that it is in, or ``''``.
    ended
        How it ended; ``''`` while it runs.
    lost
        The workers whose loss ended it; none where something else did.
    host, pid
        Its machine, and its process there.
    processes
        Which processes its machine's numbers of processes are of: containers count their own.
    network
        In which network it reaches others by the loopback address.
    life
        What tells it from a process that was started again in its place.
    """

    count: int = 0
    doing: str = ""
    ended: str = ""
    lost: list[int] = field(default_factory=list)
    host: str = ""
    pid: int = 0
    processes: str = ""
    network: str = ""
    life: str = ""

    def __str__(self) -> str:
        return f"pid {self.pid} on {self.host}"

    @classmethod
    def parse(cls, given: dict[str, object]) -> Sign:
        """Return a sign as another version of rebind may have left it."""
        return cls(**{name: given[name] for name in cls.__dataclass_fields__ if name in given})  # type: ignore[arg-type]

    @property
    def state(self) -> str | None:
        """What this machine knows of the process: ``'gone'``, ``'stopped'`` or ``'running'``; None for another's."""
        if not self.processes or self.processes != namespace("pid"):
            return None
        try:
            # What follows the name, which is in parentheses and may hold any character.
            letter = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            return "gone"
        return {"Z": "gone", "X": "gone", "T": "stopped"}.get(letter, "running")


class _Caller:
    """Makes calls for which nobody waits for ever: where the network is cut, PyTorch's client waits for an answer so.

    It has one thread, from its first call on: when a program ends, and a job says so to the others, Python 3.12 and
    later start none, and the standard library's executors take no calls.

    Examples
    --------
    >>> _Caller().answer_of(lambda: 1 + 1, patience=10)
    2
    """

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_started = False

    def answer_of(self, call: Callable[[], T], patience: float) -> T:
        """Return what a call returns, or raise what it raises.

        Raises
        ------
        concurrent.futures.TimeoutError
            After so many seconds without an answer.
        """
        answer: Future[T] = Future()

        def make() -> None:
            try:
                answer.set_result(call())
            except Exception as error:
                answer.set_exception(error)

        with self._lock:
            if not self._is_started:
                # It holds the calls that come, not this object, with which it ends.
                threading.Thread(
                    target=_make_calls, args=(self._calls,), name="rebind-signs", daemon=True
                ).start()
                weakref.finalize(self, self._calls.put, None).atexit = False
                self._is_started = True
        self._calls.put(make)
        return answer.result(patience)


def _make_calls(calls: queue.SimpleQueue[Callable[[], None] | None]) -> None:
    while (call := calls.get()) is not None:
        call()
        del call  # what it holds is not to live as long as this waits


class Signs:
    """Reads the signs that the workers of a job leave in its store.

    Parameters
    ----------
    store
        Where signs are left; a connection of its own, since a call on one waits for those of other threads.
    size
        How many workers there are.

    Examples
    --------
    >>> from torch.distributed import HashStore
    >>> Signs(HashStore(), 2).read(1) is None  # it has not come yet
    True
    """

    def __init__(self, store: Store, size: int) -> None:
        self._store, self._size, self._caller = store, size, _Caller()
        self._lives: dict[int, str] = {}
        # PyTorch writes a page to standard error for each call that finds nobody at the other end.
        self._is_gone = False

    def read(self, rank: int) -> Sign | None:
        """Return the last sign of a process; None if it gave none, or nothing can be read any more."""
        key = _key(rank)
        found = self._ask(lambda: self._store.get(key) if self._store.check([key]) else None)
        return None if found is None else Sign.parse(json.loads(found))

    def know(self, lives: Mapping[int, str]) -> None:
        """Take in who has joined: a process that gives signs in the place of one of them is not it."""
        self._lives = dict(lives)

    @property
    def can_be_read(self) -> bool:
        """Whether the process that holds the store still answers."""
        self.read(0)
        return not self._is_gone

    @property
    def is_alone(self) -> bool:
        """Whether it is known that the process that holds the store is lost; nothing is asked for that."""
        return self._is_gone

    def _ask(self, call: Callable[[], T | None]) -> T | None:
        """Return the store's answer; note when the process that holds it is lost, which others say to the user."""
        if self._is_gone:
            return None
        try:
            return self._caller.answer_of(call, ANSWER)
        except (RuntimeError, NoAnswerError):  # what PyTorch raises, whatever has happened
            self._is_gone = True
            return None

    def lost(self, suspects: Sequence[int] | None = None, patience: float = PATIENCE) -> dict[int, str]:
        """Return who has ended, is stopped, or gives no signs any more, and how that is known.

        Who never gave one is not among them. It watches until all suspects have given a sign, for `patience` seconds at
        most.

        Parameters
        ----------
        suspects
            Whom to watch; by default all.
        patience
            How long to wait for a new sign.
        """
        before = {rank: self.read(rank) for rank in (range(self._size) if suspects is None else suspects)}
        waiting = {rank for rank, sign in before.items() if sign is not None}  # others may be starting yet
        found: dict[int, str] = {}
        deadline = time.monotonic() + patience
        while waiting and time.monotonic() < deadline and self.can_be_read:
            for rank in sorted(waiting):
                sign, old = self.read(rank), before[rank]
                if sign is not None and sign.ended:
                    found[rank] = f"{sign.ended} ({sign})"
                elif sign is not None and (sign.state == "gone" or (sign.state == "stopped" and sign == old)):
                    found[rank] = f"its process {STATES[sign.state]} ({sign})"
                elif sign is not None and sign.life != self._lives.get(rank, sign.life):
                    found[rank] = f"it has ended, and was started again ({sign})"
                if rank in found or (sign is not None and old is not None and sign.count > old.count):
                    waiting.discard(rank)
            time.sleep(INTERVAL / 10)
        for rank in waiting:
            last = before[rank]
            if (
                last is not None and last.state != "running"
            ):  # otherwise it is slow, or busy: the time-out decides
                found[rank] = f"no sign of life for {patience:.0f} s ({last})"
        return dict(sorted(found.items()))


#: What is said of a process that does not run.
STATES = {"gone": "has ended", "stopped": "is stopped"}


class Liveness(Signs):
    """Gives this process's signs, from a thread, and reads those of the others.

    Parameters
    ----------
    store
        Where signs are left; a connection of its own, since a call on one waits for those of other threads.
    rank
        The number of this process.
    size
        How many there are.

    Attributes
    ----------
    after_sign
        Called in the thread after each sign.

    Examples
    --------
    >>> from torch.distributed import HashStore
    >>> one, two = (Liveness(HashStore(), rank, 1) for rank in (0, 0))
    >>> one.doing("push of 'w'")
    >>> one.read(0).doing
    "push of 'w'"
    >>> one.stop("finished"), one.read(0).ended
    (None, 'finished')
    """

    def __init__(self, store: Store, rank: int, size: int) -> None:
        super().__init__(store, size)
        self._rank = rank
        self.after_sign: Callable[[], None] = lambda: None
        self._sign = Sign(
            host=socket.gethostname(),
            pid=os.getpid(),
            processes=namespace("pid"),
            network=namespace("net"),
            life=secrets.token_hex(4),
        )
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._give()
        self._thread = threading.Thread(target=self._run, name="rebind-liveness", daemon=True)
        self._thread.start()

    @property
    def life(self) -> str:
        """What tells this process from one that is started again in its place."""
        return self._sign.life

    @property
    def ended(self) -> str:
        """How this process has ended, as far as it has said; ``''`` while it runs."""
        return self._sign.ended

    def doing(self, what: str) -> None:
        """Say at once what this process does now."""
        self._sign = replace(self._sign, doing=what)
        self._give()

    def note(self, what: str) -> None:
        """Say with the next sign what this process does now; for what is done in every step."""
        self._sign = replace(self._sign, doing=what)

    def stop(self, ended: str, lost: Sequence[int] = ()) -> None:
        """Say how this process ends, and by whose loss; give no more signs."""
        self._stop.set()
        if not self._sign.ended:
            self._sign = replace(self._sign, ended=ended, lost=list(lost))
        self._give()
        # A thread that is in the store's code while Python ends would abort the process. On a busy machine it may take
        # seconds to come out of it.
        if self._thread is not threading.current_thread():
            self._thread.join(ANSWER)

    def _give(self) -> None:
        with self._lock:
            self._sign = replace(self._sign, count=self._sign.count + 1)
            key, text = _key(self._rank), json.dumps(asdict(self._sign))
            self._ask(lambda: self._store.set(key, text))

    def _run(self) -> None:
        while not self._stop.wait(INTERVAL):
            self._give()
            if not self._stop.is_set():
                self.after_sign()


def _key(rank: int) -> str:
    return f"sign/{rank}"
