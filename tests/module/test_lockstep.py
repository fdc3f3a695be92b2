"""Workers take the same steps, however many batches each has, and however many workers they are."""

from __future__ import annotations

import pytest
from tests.distributed.workers import run_job
from tests.module.lockstep_epochs import two_epochs


@pytest.mark.parametrize("counts", [[2, 0], [1, 3, 3, 0, 2, 3], [0, 0, 0, 0, 0, 0, 0, 1]])
def test_all_take_as_many_steps_as_the_one_that_has_most_batches(counts: list[int]) -> None:
    steps = max(counts)
    for count, epochs in zip(counts, run_job(two_epochs, len(counts), counts, None), strict=True):
        assert epochs == [([*range(count), *[None] * (steps - count)], steps - count, False)] * 2


@pytest.mark.parametrize("workers", [2, 6])
def test_all_stop_after_the_step_in_which_one_says_so(workers: int) -> None:
    for rank, epochs in enumerate(run_job(two_epochs, workers, [5] * workers, 2)):
        # Worker 0 has no batch in the third step, which the others take.
        taken = [0, 1, None if rank == 0 else 2]
        assert epochs == [(taken, int(rank == 0), True)] * 2
