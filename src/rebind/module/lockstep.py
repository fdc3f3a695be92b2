"""`Lockstep`: the batches of workers that train in step, though one may have fewer than another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import torch
from torch import Tensor

from ..distributed import Job, Transfer

__all__ = ["Lockstep"]

T = TypeVar("T")


class Lockstep:
    """Lets workers take the same steps.

    Before each step a worker announces to the others, in two bytes, whether it has a batch. One that has continues at
    once, for the step is taken in any case; only a worker that has none waits for the others' announcements, and one
    that is `lead` steps ahead of another one.

    Parameters
    ----------
    job
        The workers.
    lead
        After how many steps a worker reads what the others have announced.

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

    def __init__(self, job: Job, lead: int = 1) -> None:
        self._job, self._lead = job, lead
        self.count = self.missing = 0
        self.stopped = False
        # Of the steps that were not read yet: whether a worker has a batch, and whether one ends the run.
        self._announced: list[tuple[Transfer, Tensor]] = []

    def steps(self, batches: Iterator[T], stops: Callable[[], bool]) -> Iterator[T | None]:
        """Yield the batches, and None while only others have one.

        Parameters
        ----------
        batches
            This worker's.
        stops
            Returns whether this worker wants to end the run. The others read of it after `lead` steps, which all take.
        """
        self.count = self.missing = 0
        self.stopped = False
        while True:
            # Always after the same steps: so all end the run after the same one.
            if self.count % self._lead == 0:
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
        flags = torch.tensor([has_batch, stops], dtype=torch.uint8)
        self._announced.append((self._job.largest(flags), flags))

    def _receive(self) -> bool:
        """Wait for the announcements of the last steps; return whether any worker has a batch in the newest one."""
        announced, self._announced = self._announced, []
        any_batch = False
        for transfer, flags in announced:
            transfer.wait("fit, the next batch")
            any_batch, stops = map(bool, flags.tolist())
            self.stopped = self.stopped or stops
        return any_batch
