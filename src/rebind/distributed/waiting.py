"""`Waiting`: notices, while this process waits for others, that one of them gives no sign of life any more."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .. import config
from ..errors import ParameterError
from .liveness import INTERVAL, STATES, Sign, Signs

__all__ = ["Waiting", "sign_timeout"]

#: How often signs are read while this process waits, in seconds.
_LOOK_EVERY = 2 * INTERVAL


@dataclass
class _Silence:
    """The last new sign of a worker, and for how long there was none since."""

    sign: Sign
    seconds: float = 0.0


class Waiting:
    """Whom this process waits for, and who of them is silent for too long.

    A wait within PyTorch ends when all is there, when a connection breaks, or at its time-out. A worker that is
    stopped, or whose network is cut, breaks none. `look`, which another thread calls, sees that its signs have ended.

    Parameters
    ----------
    signs
        Reads the signs.
    patience
        After so many seconds without a sign a worker is lost.
    break_off
        Called with the number of a worker to end the wait; in the thread of `look`.

    Attributes
    ----------
    lost
        Who was lost, and how that is known.

    Examples
    --------
    >>> from torch.distributed import HashStore
    >>> waiting = Waiting(Signs(HashStore(), 2), patience=30, break_off=print)
    >>> waiting.begin([1])
    >>> waiting.look(), waiting.lost  # worker 1 has not come yet, and may be starting
    (None, {})
    """

    def __init__(self, signs: Signs, patience: float, break_off: Callable[[int], None]) -> None:
        self._signs, self._patience, self._break_off = signs, patience, break_off
        self._ranks: Sequence[int] = ()  # a new sequence in each wait
        self._seen_ranks: Sequence[int] = self._ranks
        self._silent: dict[int, _Silence] = {}
        self._looked = 0.0
        self.lost: dict[int, str] = {}

    def begin(self, ranks: Sequence[int]) -> None:
        """Begin to wait for workers."""
        self._ranks = list(ranks)

    def end(self) -> None:
        """Wait no longer."""
        self._ranks = ()

    def look(self) -> None:
        """Read the signs of those that are waited for, every so often; end the wait when one is lost."""
        ranks, now = self._ranks, time.monotonic()
        if ranks is not self._seen_ranks:
            self._seen_ranks, self._silent, self._looked = ranks, {}, now
            return
        if not ranks or self.lost or now - self._looked < _LOOK_EVERY:
            return
        # If this process was itself stopped meanwhile, or its machine asleep, that is not the others' silence.
        passed, self._looked = min(now - self._looked, 2 * _LOOK_EVERY), now
        for rank in ranks:
            self._listen(rank, passed)
        if self._signs.is_alone or self.lost:  # alone: nobody is heard any more
            self._break_off(next(iter(self.lost), ranks[0]))

    def _listen(self, rank: int, passed: float) -> None:
        sign = self._signs.read(rank)
        if sign is None:
            return
        silence = self._silent.setdefault(rank, _Silence(sign))
        if sign != silence.sign:
            self._silent[rank] = _Silence(sign)
            return
        silence.seconds += passed
        if silence.seconds < self._patience:
            return
        if sign.ended:  # though its process goes on
            self.lost[rank] = f"{sign.ended} ({sign})"
        elif sign.state != "running":  # otherwise it is busy in native code: the time-out decides
            state = f"its process {STATES[sign.state]}" if sign.state in STATES else "no sign of life"
            self.lost[rank] = f"{state} for {silence.seconds:.0f} s ({sign})"


def sign_timeout() -> float:
    """Return after how many seconds without a sign of life a worker that is waited for is lost.

    >>> sign_timeout()
    30.0
    """
    seconds = float(config.get("REBIND_SIGN_TIMEOUT"))
    if seconds < 3 * INTERVAL:
        raise ParameterError(
            f"environment variable REBIND_SIGN_TIMEOUT: must be {3 * INTERVAL:g} seconds at least, as signs come every "
            f"{INTERVAL:g} s; got {seconds:g}"
        )
    return seconds
