"""Signs of life: each process of a job says regularly what it is doing, so that errors can name who is missing."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from torch.distributed import Store

__all__ = ["Liveness", "Sign"]

#: How often a process gives a sign, in seconds. A process is taken for lost after three without.
INTERVAL = 1.0


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
    host, pid
        Its machine, and its process there.
    """

    count: int = 0
    doing: str = ""
    ended: str = ""
    host: str = ""
    pid: int = 0

    def __str__(self) -> str:
        return f"pid {self.pid} on {self.host}"


class Liveness:
    """Gives this process's signs, from a thread, and reads those of the others.

    Parameters
    ----------
    store
        Where signs are left; a connection of its own, since a call on one waits for those of other threads.
    rank
        The number of this process.
    size
        How many there are.

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
        self._store, self._rank, self._size = store, rank, size
        self._sign = Sign(host=socket.gethostname(), pid=os.getpid())
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._give()
        self._thread = threading.Thread(target=self._run, name="rebind-liveness", daemon=True)
        self._thread.start()

    def doing(self, what: str) -> None:
        """Say at once what this process does now."""
        self._sign = replace(self._sign, doing=what)
        self._give()

    def note(self, what: str) -> None:
        """Say with the next sign what this process does now; for what is done in every step."""
        self._sign = replace(self._sign, doing=what)

    def stop(self, ended: str) -> None:
        """Say how this process ends, and give no more signs."""
        self._stop.set()
        self._sign = replace(self._sign, ended=self._sign.ended or ended)
        self._give()

    def read(self, rank: int) -> Sign | None:
        """Return the last sign of a process; None if it gave none, or nothing can be read any more."""
        with contextlib.suppress(Exception):  # the process that holds the store may be the one that is lost
            key = _key(rank)
            if self._store.check([key]):
                return Sign(**json.loads(self._store.get(key)))
        return None

    def lost(self, suspects: Sequence[int] | None = None, patience: float = 3 * INTERVAL) -> dict[int, str]:
        """Return who gives no signs any more, or has ended, and how that is known; it watches for `patience` seconds.

        Parameters
        ----------
        suspects
            Whom to watch; by default all others.
        patience
            How long to wait for a new sign.
        """
        ranks = [rank for rank in suspects or range(self._size) if rank != self._rank]
        before = {rank: self.read(rank) for rank in ranks}
        found: dict[int, str] = {}
        deadline = time.monotonic() + patience
        waiting = set(ranks)
        while waiting and time.monotonic() < deadline:
            for rank in sorted(waiting):
                sign = self.read(rank)
                if sign is not None and sign.ended:
                    found[rank] = f"{sign.ended} ({sign})"
                    waiting.discard(rank)
                elif sign is not None and (old := before[rank]) is not None and sign.count > old.count:
                    waiting.discard(rank)
            time.sleep(INTERVAL / 10)
        for rank in waiting:
            sign = before[rank]
            who = "nothing was ever heard of it" if sign is None else f"{sign}"
            found[rank] = f"no sign of life for {patience:.0f} s ({who})"
        return dict(sorted(found.items()))

    def _give(self) -> None:
        with self._lock:
            self._sign = replace(self._sign, count=self._sign.count + 1)
            with contextlib.suppress(Exception):  # the others find out, and say so where the user looks
                self._store.set(_key(self._rank), json.dumps(asdict(self._sign)))

    def _run(self) -> None:
        while not self._stop.wait(INTERVAL):
            self._give()


def _key(rank: int) -> str:
    return f"sign/{rank}"
