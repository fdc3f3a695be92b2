"""What a worker of a test does with its batches."""

from __future__ import annotations

from rebind.distributed import current_job
from rebind.module.lockstep import Lockstep

__all__ = ["two_epochs"]


def two_epochs(counts: list[int], stops_at: int | None) -> list[tuple[list[int | None], int, bool]]:
    """Return for each epoch the batches that this worker got, how many it missed, and whether the run was to end."""
    job = current_job()
    lockstep, epochs = Lockstep(job), []
    for _ in range(2):
        taken: list[int | None] = []

        def stops(taken: list[int | None] = taken) -> bool:
            return job.rank == 0 and len(taken) == stops_at

        for batch in lockstep.steps(iter(range(counts[job.rank])), stops):
            taken.append(batch)
            job.barrier()  # a step takes all workers
        epochs.append((taken, lockstep.missing, lockstep.stopped))
    job.barrier()
    return epochs
