"""Where the workers of one round of ``torchrun`` meet, in a store in which those of earlier rounds have left things."""

from __future__ import annotations

import secrets
import time
from datetime import timedelta

from torch.distributed import PrefixStore, Store

from ..errors import WorkerError

__all__ = ["view_of_round"]

#: How often worker 0 looks who has come, in seconds.
_INTERVAL = 0.01


def view_of_round(store: Store, rank: int, size: int, timeout: float) -> Store:
    """Return what a store holds of the workers that run now.

    ``torchrun`` starts workers again when one is lost, and when a machine joins. Its store holds what the earlier ones
    have left, and its number of restarts does not tell rounds apart: a machine that joins has not counted those before,
    and restarts for it are not counted. So each worker says who it is, and worker 0 answers all that it has not
    answered yet, those of earlier rounds among them. Its answer is the name of the round.

    Parameters
    ----------
    store
        The job's.
    rank, size
        The number of this worker, and how many there are.
    timeout
        How many seconds to wait for the others.

    Raises
    ------
    WorkerError
        When some do not come.

    Examples
    --------
    >>> from torch.distributed import HashStore
    >>> store = HashStore()
    >>> earlier, now = (view_of_round(store, 0, 1, timeout=10) for _ in range(2))
    >>> earlier.set("w", "1")
    >>> now.check(["w"])
    False
    """
    own = secrets.token_hex(8)
    if rank == 0:
        _answer_all(store, own, size, timeout)
        return PrefixStore(own, store)
    store.set(f"worker/{rank}", own)
    try:
        store.wait([f"answer/{own}"], timedelta(seconds=timeout))
    except RuntimeError:  # what PyTorch raises, whatever has happened
        raise _absent([0], size, timeout) from None
    first = store.get(f"answer/{own}").decode()
    store.set(f"{first}/{rank}", "")
    return PrefixStore(first, store)


def _answer_all(store: Store, own: str, size: int, timeout: float) -> None:
    """Answer the other workers, until all have read it."""
    deadline = time.monotonic() + timeout
    answered: set[str] = set()
    absent = list(range(1, size))
    while absent := [rank for rank in absent if not store.check([f"{own}/{rank}"])]:
        for key in (f"worker/{rank}" for rank in absent):
            worker = store.get(key).decode() if store.check([key]) else ""
            if worker and worker not in answered:
                store.set(f"answer/{worker}", own)
                answered.add(worker)
        if time.monotonic() > deadline:
            raise _absent(absent, size, timeout)
        time.sleep(_INTERVAL)


def _absent(ranks: list[int], size: int, timeout: float) -> WorkerError:
    listed = ", ".join(map(str, ranks))
    return WorkerError(
        f"joining: all {size} workers must join within {timeout:g} s (REBIND_TIMEOUT); worker{'s' * (len(ranks) > 1)} "
        f"{listed} never joined, or {'have' if len(ranks) > 1 else 'has'} another REBIND_JOB_TOKEN"
    )
