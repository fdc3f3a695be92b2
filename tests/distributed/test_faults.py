"""A worker that dies, hangs, or does not belong to the job: the others say which, and end."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest
import torch
from tests.distributed.workers import Failed, run_job

from rebind.distributed import current_job, liveness
from rebind.distributed import job as job_module
from rebind.distributed.liveness import Liveness

needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")


def lose(victim: int, number: int, where: str) -> str:
    """Give one worker a signal, go on in the others until they notice, and return what they say."""
    if where == "elsewhere":
        liveness.namespace = lambda kind: ""  # as if each were on a machine of its own
        where = "transfer"
    job = current_job()
    pid = int(str(job.exchange("processes", os.getpid())[victim]))
    job.barrier("all know them")
    if job.rank == victim:
        time.sleep(0.2)  # the others have left the barrier, for which they may need the store
        os.kill(os.getpid(), number)
    try:
        for step in range(100):
            if where == "transfer":
                rows = {rank: torch.empty(100_000) for rank in range(job.size)}
                job.transfer(dict.fromkeys(rows, torch.ones(100_000)), rows, step).wait(f"step {step}")
            if where == "sum":
                job.sum(torch.ones(100_000))
            if where == "broadcast":
                job.broadcast(torch.ones(100_000), root=victim)
            job.exchange(f"step {step}", step)
    except ConnectionError as error:
        return str(error)
    finally:
        if job.rank == max(rank for rank in range(job.size) if rank != victim):
            with contextlib.suppress(ProcessLookupError):  # unless it is stopped, it has ended
                os.kill(pid, signal.SIGKILL)
    raise AssertionError("nobody noticed")


@needs_proc
@pytest.mark.parametrize(
    ("victim", "number", "where", "says"),
    [
        (1, signal.SIGKILL, "exchange", r"lost worker 1: its process has ended \(pid \d+ on "),
        (1, signal.SIGKILL, "transfer", r"lost worker 1: its process has ended \(pid \d+ on "),
        (1, signal.SIGSTOP, "exchange", r"lost worker 1: its process is stopped \(pid \d+ on "),
        (1, signal.SIGSTOP, "transfer", r"lost worker 1: its process is stopped for \d+ s \(pid \d+ on "),
        (1, signal.SIGSTOP, "sum", r"sum: .* lost worker 1: its process is stopped for \d+ s \(pid \d+ on "),
        (2, signal.SIGSTOP, "broadcast", r"lost worker 2: its process is stopped for \d+ s \(pid \d+ on "),
        (1, signal.SIGSTOP, "elsewhere", r"lost worker 1: no sign of life for \d+ s \(pid \d+ on "),
        (0, signal.SIGSTOP, "transfer", r"lost worker 0, which held the job's store at 127.0.0.1:\d+"),
        (0, signal.SIGKILL, "exchange", r"lost worker 0, which held the job's store at 127.0.0.1:\d+"),
        (0, signal.SIGKILL, "transfer", r"lost worker 0, which held the job's store at 127.0.0.1:\d+"),
    ],
)
def test_the_others_name_who_is_lost(victim: int, number: int, where: str, says: str) -> None:
    # At the time-out itself, other words would say so.
    limits = {"REBIND_TIMEOUT": "80", "REBIND_SIGN_TIMEOUT": "3"}
    found = run_job(lose, 3, victim, number, where, may_fail=True, environment=limits)
    assert found.pop(victim) is None
    for text in found:
        assert isinstance(text, str), text
        # Of two survivors one may have lost the other, which had lost the victim, killed it and ended.
        other = f"it stopped, since it lost worker {victim}|lost worker {victim}: its process has ended"
        assert re.search(f"{says}|{other}", text)
        assert "rebind launch --max-restarts" in text
    assert any(re.search(says, str(text)) for text in found)


def join_differently(what: str) -> str:
    """Join with something that the others do not have, and return what is said."""
    if os.environ["RANK"] == "1":
        if what == "token":
            os.environ["REBIND_JOB_TOKEN"] = "another"
        else:
            job_module.__version__ = "0.0.1"
    try:
        current_job()
    except ConnectionError as error:
        return str(error)
    raise AssertionError("it was let in")


def test_a_worker_of_another_version_is_refused() -> None:
    one, two = run_job(join_differently, 2, "version")
    assert re.match(
        r"the job: all workers must have the same versions; worker 0 has rebind: .*, and worker 1 has rebind: 0\.0\.1$",
        str(one),
    )
    assert re.search(r"worker 1 has rebind: 0\.0\.1, and worker 0 has rebind: ", str(two))


def test_a_worker_without_the_token_is_not_seen() -> None:
    one, two = run_job(join_differently, 2, "token", environment={"REBIND_TIMEOUT": "3"})
    assert "joining: worker 0 has waited for the others for 3 s (REBIND_TIMEOUT)" in str(one)
    assert "worker 1 never joined, or has another REBIND_JOB_TOKEN" in str(one)
    # Worker 0 held the store, and may have gone first.
    assert re.search("worker 0 never joined, or has another REBIND_JOB_TOKEN|lost worker 0", str(two))


def leave_early() -> None:
    job = current_job()
    if job.rank == 1:
        raise ValueError("sample 17 is broken")
    job.barrier("the end of the epoch")


def test_the_others_say_what_ended_a_worker() -> None:
    first, second = run_job(leave_early, 2, may_fail=True)
    assert isinstance(first, Failed)
    assert first.kind == "WorkerError"
    assert "lost worker 1: ValueError: sample 17 is broken (pid " in first.message
    assert isinstance(second, Failed)
    assert second.kind == "ValueError"


RAISES = """
import sys
from rebind.distributed import current_job

job = current_job()
assert not sys.excepthook.__module__.startswith("rebind")  # PyTorch sets one for process groups
job.barrier("the start")
if job.rank == 1:
    raise ValueError("sample 17 is broken")
job.barrier("the end")
"""


def test_an_error_that_ends_the_program_is_said_without_a_hook() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    job = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "REBIND_TIMEOUT": "60"}
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", RAISES],
            env={**os.environ, **job, "RANK": str(rank), "OMP_NUM_THREADS": "1"},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    first, second = (worker.communicate(timeout=120)[1] for worker in workers)
    assert "WorkerError" in first
    assert "lost worker 1: ValueError: sample 17 is broken (pid " in first
    assert second.splitlines()[-1].endswith("ValueError: sample 17 is broken")


def start_again_in_a_place() -> str:
    """Give signs in the place of worker 1, as one does that a cluster has started again, and return what 0 says."""
    job = current_job()
    job.barrier("joined")
    if job.rank == 1:
        assert job._store is not None
        job.close = lambda ended="": None  # type: ignore[method-assign]  # it is killed, and says nothing
        job._liveness._stop.set()  # type: ignore[union-attr]
        time.sleep(1.5)
        Liveness(job._store, 1, 2)
        time.sleep(6)
        return ""
    try:
        job.barrier("next")
    except ConnectionError as error:
        return str(error)
    raise AssertionError("nobody noticed")


def test_a_worker_that_was_started_again_is_not_the_one_that_has_joined() -> None:
    said, _ = run_job(start_again_in_a_place, 2)
    assert "lost worker 1: it has ended, and was started again (pid " in str(said)
