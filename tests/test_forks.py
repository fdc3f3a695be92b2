"""Processes that a program starts after it has computed in several threads, and while threads read ahead."""

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "forking.py"
SECONDS = 100  # a process that waits for ever is an error


@pytest.mark.parametrize(
    "method",
    ["fork", *(pytest.param(each, marks=pytest.mark.slow) for each in ("forkserver", "spawn"))],
)
def test_processes_of_a_program_compute_what_it_does(method, tmp_path):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"there is no {method} on this system")
    done = subprocess.run(
        [sys.executable, "-m", "rebind", "run", str(PROGRAM), method, str(tmp_path)],
        env=os.environ | {"OMP_NUM_THREADS": "2"},  # with one thread nothing waits
        stdout=subprocess.PIPE,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert [line for line in lines if not line.startswith("equal")] == ["ended with 0"] * (method == "fork")
    assert len(lines) == (17 if method == "fork" else 4)
