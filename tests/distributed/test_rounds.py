"""Workers of one round of torchrun, in a store that those of earlier rounds have used."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from torch.distributed import HashStore, Store

from rebind.distributed.rounds import view_of_round
from rebind.errors import WorkerError


def meet(store: Store, size: int) -> list[Store]:
    """Return the views of workers that come in any order, each in a thread."""
    with ThreadPoolExecutor(size) as threads:
        coming = [threads.submit(view_of_round, store, rank, size, 30) for rank in reversed(range(size))]
        return [each.result() for each in coming]


def test_rounds_of_any_number_of_workers_do_not_see_each_other() -> None:
    store = HashStore()
    for number, size in enumerate([2, 4, 3, 1, 4]):
        views = meet(store, size)
        assert not views[0].check(["who"])
        for view in views:
            view.add("who", 1)
        assert [view.get("who") for view in views] == [str(size).encode()] * size, number


@pytest.mark.parametrize(
    ("rank", "says"),
    [
        (0, r"workers 1, 2 never joined, or have another REBIND_JOB_TOKEN"),
        (2, r"worker 0 never joined, or has another REBIND_JOB_TOKEN"),
    ],
)
def test_who_does_not_come_is_named(rank: int, says: str) -> None:
    with pytest.raises(WorkerError, match=rf"joining: all 3 workers must join within 0.1 s .*; {says}"):
        view_of_round(HashStore(), rank, 3, timeout=0.1)
