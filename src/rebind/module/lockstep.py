"""`Lockstep`: the batches of workers that train in step, though one may have fewer than another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import torch
from torch import Tensor

from ..distributed import Job, Tag, Transfer

__all__ = ["Lockstep"]

T = TypeVar("T")


class Lockstep:
    """Lets workers take the same steps.

    Before each step a worker announces to the others, in two bytes, whether it has a batch. One that has continues at
    once, for the step is taken in any case; only a worker that has none waits for the others' announcements.

    Parameters
    ----------
    job
        The workers.

    Attributes
    ----------
    count
        How many steps were taken.
    missing
        How many of them without a batch of this worker.
    stopped
        Whether the steps ended because a worker wanted to end the run.

    Examples
    --------
    >>> from rebind.distributed import current_job
    >>> list(Lockstep(current_job()).steps(iter("ab"), lambda: False))
    ['a', 'b']
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self.count = self.missing = 0
        self.stopped = False
        self._transfer: Transfer | None = None
        self._own = torch.zeros(2, dtype=torch.uint8)  # whether it has a batch, and whether it ends the run
        self._others: list[Tensor] = []

    def steps(self, batches: Iterator[T], stops: Callable[[], bool]) -> Iterator[T | None]:
        """Yield the batches, and None while only others have one.

        Parameters
        ----------
        batches
            This worker's.
        stops
            Returns whether this worker wants to end the run. The others receive that in the next step, which all take.
        """
        self.count = self.missing = 0
        self.stopped = False
        while True:
            self._receive()
            if self.stopped:
                return
            batch = None if stops() else next(batches, None)
            self._announce(batch is not None, stops())
            if batch is None:
                others = self._receive()
                if not others:
                    return
                self.missing += 1
            self.count += 1
            yield batch

    def _announce(self, has_batch: bool, stops: bool) -> None:
        job = self._job
        # New ones each time: the last may still be read by who sends them.
        self._own = torch.tensor([has_batch, stops], dtype=torch.uint8)
        self._others = [torch.zeros_like(self._own) for _ in range(job.size)]
        own = dict.fromkeys(range(job.size), self._own)
        self._transfer = job.transfer(own, dict(enumerate(self._others)), Tag.TURNS)

    def _receive(self) -> bool:
        """Wait for the last announcements; return whether another worker has a batch."""
        if self._transfer is None:
            return False
        transfer, self._transfer = self._transfer, None
        transfer.wait("fit, the next batch")
        others = [each for rank, each in enumerate(self._others) if rank != self._job.rank]
        self.stopped = bool(self._own[1]) or any(bool(each[1]) for each in others)
        return any(bool(each[0]) for each in others)
