"""Workers are killed at random moments; no job is lost, and each gives what it gives undisturbed (``make soak``)."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

KILLS = 20  # at least so many over all jobs
IN_ONE_JOB = 7

# Steps of momentum SGD whose gradients are summed over the workers, and a checkpoint of every twentieth one.
PROGRAM = """
import os, sys
from pathlib import Path

folder = Path(sys.argv[1])
attempt, rank = os.environ["TORCHELASTIC_RESTART_COUNT"], os.environ["RANK"]
(folder / f"{attempt}-{rank}.part").write_text(str(os.getpid()))
os.replace(folder / f"{attempt}-{rank}.part", folder / f"{attempt}-{rank}.pid")

import numpy as np
import rebind as mx

STEPS = 1500
kv = mx.kv.create("dist_sync")
weight, momentum, first = np.zeros(5000), np.zeros(5000), 0
if (folder / "newest.npz").exists():
    state = np.load(folder / "newest.npz")
    weight, momentum, first = state["weight"], state["momentum"], int(state["step"])
kv.init("gradient", mx.nd.zeros((5000,), dtype="float64"))
out = mx.nd.zeros((5000,), dtype="float64")
for step in range(first, STEPS):
    mine = np.random.RandomState([step, kv.rank]).randn(5000)
    kv.push("gradient", mx.nd.array(mine + 0.1 * weight, dtype="float64"))
    kv.pull("gradient", out=out)
    momentum = 0.9 * momentum - 0.01 * out.asnumpy()
    weight = weight + momentum
    if step % 20 == 19 and kv.rank == 0:
        with open(folder / "newest.part", "wb") as file:
            np.savez(file, weight=weight, momentum=momentum, step=step + 1)
        os.replace(folder / "newest.part", folder / "newest.npz")
kv.barrier()
if kv.rank == 0:
    np.save(folder / "result.npy", weight)
"""


class Killer(threading.Thread):
    """Sends signals to workers of the newest attempt, at random moments, until the job has ended."""

    def __init__(self, folder: Path, seed: int, most: int) -> None:
        super().__init__(daemon=True)
        self.folder, self.most = folder, most
        self.random = random.Random(seed)
        self.ended = threading.Event()
        self.killed: list[str] = []

    def run(self) -> None:
        while len(self.killed) < self.most and not self.ended.is_set():
            # From before the import to well into the training.
            if not (newest := self._newest()) or self.ended.wait(self.random.uniform(0, 9)):
                time.sleep(0.05)
                continue
            if self._newest() != newest:
                continue
            victim = self.random.choice(newest)
            how = signal.SIGSTOP if self.random.random() < 0.15 else signal.SIGKILL
            try:
                os.kill(int(victim.read_text()), how)
            except ProcessLookupError:
                continue  # it has just finished
            self.killed.append(f"{victim.stem} by {how.name}")
            while self._newest() == newest and not self.ended.wait(0.05):
                pass

    def _newest(self) -> list[Path]:
        """Return the files of the attempt that was started last, once all its workers run."""
        files = list(self.folder.glob("*.pid"))
        last = max((int(file.stem.split("-")[0]) for file in files), default=0)
        found = sorted(file for file in files if file.stem.startswith(f"{last}-"))
        return found if len(found) == 3 else []


def train(folder: Path, *, seed: int = 0, kills: int = 0) -> tuple[np.ndarray, list[str], str]:
    """Run a job of three workers; return its result, who was killed, and what the launcher said."""
    folder.mkdir()
    (folder / "program.py").write_text(PROGRAM)
    killer = Killer(folder, seed, kills)
    killer.start()
    command = [
        sys.executable,
        "-m",
        "rebind",
        "launch",
        "-n",
        "3",
        "--max-restarts",
        str(kills),
        "--timeout",
        "60",
    ]
    done = subprocess.run(
        [*command, sys.executable, str(folder / "program.py"), str(folder)],
        env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=1200,
    )  # fmt: skip
    killer.ended.set()
    killer.join()
    assert done.returncode == 0, (killer.killed, done.stderr[-5000:])
    return np.load(folder / "result.npy"), killer.killed, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_no_job_is_lost(tmp_path: Path) -> None:
    expected, _, _ = train(tmp_path / "undisturbed")
    all_killed: list[str] = []
    for seed in range(50):
        if len(all_killed) >= KILLS:
            break
        result, killed, said = train(tmp_path / str(seed), seed=seed, kills=IN_ONE_JOB)
        np.testing.assert_array_equal(result, expected)
        for line in killed:
            attempt, rank = line.split()[0].split("-")
            assert f"worker {rank} (pid " in said, (line, said[-5000:])
            print(f"job {seed}: attempt {attempt}, worker {line[line.index('-') + 1 :]}")
        assert said.count("starting all again") == len(killed), said[-5000:]
        all_killed += killed
    assert len(all_killed) >= KILLS
