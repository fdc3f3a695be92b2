"""Of the processes that failed, those that are the cause."""

from __future__ import annotations

import pytest

from rebind.launch.blame import Ending, describe, exit_code_of, find_causes


def worker(rank: int, code: int | None = None, **about) -> Ending:
    return Ending(name=f"worker {rank}", rank=rank, pid=100 + rank, code=code, **about)


@pytest.mark.parametrize(
    ("endings", "causes", "exit_code"),
    [
        ([worker(0), worker(1, -9), worker(2)], [1], 137),
        ([worker(0, 1, lost=(1,)), worker(1, -9), worker(2, 1, lost=(1,))], [1], 137),
        # A worker that hangs is found by the others, which fail first.
        ([worker(0, 1, lost=(2,)), worker(1), worker(2)], [2], 1),
        # One lost another, and was itself lost to a third.
        ([worker(0, 1, lost=(1,)), worker(1, 1, lost=(2,)), worker(2, 3)], [2], 3),
        # They lost each other: nobody else is known.
        ([worker(0, 1, lost=(1,)), worker(1, 1, lost=(0,))], [0, 1], 1),
        ([worker(0, 4), worker(1, 4)], [0, 1], 4),
        ([worker(0), worker(1, -9, hung="was stopped")], [1], 137),
        ([Ending(name="server 0", code=-11), worker(0)], ["server 0"], 139),
        ([worker(0, 1, lost=(5,))], [0], 1),
    ],
)
def test_find_causes(endings: list[Ending], causes: list[int | str], exit_code: int) -> None:
    found = find_causes(endings)
    assert [each.rank if each.rank is not None else each.name for each in found] == causes
    assert exit_code_of(found) == exit_code


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (worker(1, -9), "worker 1 (pid 101) was ended by SIGKILL."),
        (worker(1, -99), "worker 1 (pid 101) was ended by signal 99."),
        (worker(1, 2), "worker 1 (pid 101) ended with exit code 2."),
        (
            worker(1, 1, said="ValueError: bad sample", host="node7"),
            "worker 1 (pid 101 on node7) ended with exit code 1: ValueError: bad sample.",
        ),
        (worker(1, -9, hung="was stopped for 9 s"), "worker 1 (pid 101) was stopped for 9 s."),
        (worker(1), "worker 1 (pid 101) was lost."),
        (
            worker(1, -6, last_lines=tuple("abcdefghijklmn")),
            "\n".join(["worker 1 (pid 101) was ended by SIGABRT.", *(f"  worker 1 | {c}" for c in "cdefghijklmn")]),
        ),
    ],
)  # fmt: skip
def test_describe(cause: Ending, text: str) -> None:
    assert describe(cause) == text
