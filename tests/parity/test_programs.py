"""Programs written for MXNet run as they are under ``rebind run``: the same words, files and figures as there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .programs import PROGRAMS, RECORD, RUNS, said

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}

# The command's arguments, the folder to run in, and files for what it writes; returns the exit code.
Runner = Callable[[list[str], Path, Path, Path], int]


def run_alone(command: list[str], folder: Path, out: Path, err: Path) -> int:
    """Run the command in a process of its own."""
    with out.open("w") as stdout, err.open("w") as stderr:
        process = [sys.executable, "-m", "rebind", *command]
        return subprocess.call(
            process, cwd=folder, env=ENVIRONMENT, stdout=stdout, stderr=stderr, timeout=300
        )


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    if not hasattr(os, "fork"):
        yield run_alone
        return
    host = subprocess.Popen(
        [sys.executable, "-m", "tests.parity.program_host"],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert host.stdin is not None and host.stdout is not None
    stdin, stdout = host.stdin, host.stdout

    def run_forked(command: list[str], folder: Path, out: Path, err: Path) -> int:
        paths = {"folder": str(folder), "out": str(out), "err": str(err)}
        stdin.write(json.dumps({"command": command, **paths}) + "\n")
        stdin.flush()
        return int(stdout.readline())

    yield run_forked
    stdin.close()
    assert host.wait(timeout=60) == 0
    stdout.close()


@pytest.mark.parametrize("name", RUNS)
def test_program(name: str, runner: Runner, tmp_path: Path) -> None:
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))["runs"][name]
    run = RUNS[name]
    folder, out, err = tmp_path / "run", tmp_path / "out", tmp_path / "err"
    folder.mkdir()
    code = runner(["run", str(PROGRAMS / run.script), *run.arguments], folder, out, err)
    assert code == 0, err.read_text()
    figures = run.figures(out.read_text())
    if run.tolerance is not None:
        assert figures == pytest.approx(recorded["figures"], rel=run.tolerance)
    wanted = [line for line in recorded["said"] if not (run.unsaid and re.match(run.unsaid, line))]
    assert said(out.read_text(), err.read_text()) == wanted
    assert sorted(os.listdir(folder)) == recorded["files"]
