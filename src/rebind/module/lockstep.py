"""`Lockstep`: the batches of workers that train in step, though one may have fewer than another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import torch

from ..distributed import Job, Transfer

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
        # Whether a worker has a batch, and whether one ends the run: this worker's, and then all workers'.
        self._flags = torch.zeros(2, dtype=torch.uint8)

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
                if not self._receive():
                    return
                self.missing += 1
            self.count += 1
            yield batch

    def _announce(self, has_batch: bool, stops: bool) -> None:
        # A collective goes on by itself, and in as many calls with many workers: nobody waits for who is in a step.
        self._flags = torch.tensor([has_batch, stops], dtype=torch.uint8)
        self._transfer = self._job.largest(self._flags)

    def _receive(self) -> bool:
        """Wait for the last announcements; return whether any worker has a batch."""
        if self._transfer is None:
            return False
        transfer, self._transfer = self._transfer, None
        transfer.wait("fit, the next batch")
        any_batch, self.stopped = map(bool, self._flags.tolist())
        return any_batch
