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

# `fit` with dropout and samples in another order for each epoch, from its newest checkpoint where there is one.
PROGRAM = """
import os, sys
from pathlib import Path

folder = Path(sys.argv[1])
attempt, rank = os.environ["TORCHELASTIC_RESTART_COUNT"], os.environ["RANK"]
(folder / f"{attempt}-{rank}.part").write_text(str(os.getpid()))
os.replace(folder / f"{attempt}-{rank}.part", folder / f"{attempt}-{rank}.pid")

import numpy as np
import rebind as mx

net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=64, name="one")
net = mx.sym.Dropout(mx.sym.Activation(net, act_type="tanh"), p=0.3)
net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=4, name="two"), name="softmax")
kv = mx.kv.create("dist_sync")
samples = np.random.RandomState(kv.rank)
data = samples.randn(800, 20).astype("float32")
np.random.seed(kv.rank)
mx.random.seed(kv.rank)
module = mx.mod.Module(net)
module.fit(
    mx.io.NDArrayIter(data, samples.randint(0, 4, 800).astype("float32"), 8, shuffle=True),
    num_epoch=12,
    kvstore=kv,
    optimizer="adam",
    optimizer_params={"learning_rate": 0.01},
    checkpoint=mx.checkpoint.Checkpoint(folder / "run", every_n_batches=25),
)
kv.barrier()
if kv.rank == 0:
    np.savez(folder / "result.npz", **{name: array.asnumpy() for name, array in module.get_params()[0].items()})
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


def train(folder: Path, *, seed: int = 0, kills: int = 0) -> tuple[dict[str, np.ndarray], list[str], str]:
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
    with np.load(folder / "result.npz") as result:
        return dict(result), killer.killed, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_no_job_is_lost(tmp_path: Path) -> None:
    expected, _, _ = train(tmp_path / "undisturbed")
    all_killed: list[str] = []
    for seed in range(50):
        if len(all_killed) >= KILLS:
            break
        result, killed, said = train(tmp_path / str(seed), seed=seed, kills=IN_ONE_JOB)
        assert result.keys() == expected.keys()
        for name in expected:
            np.testing.assert_array_equal(result[name], expected[name], name)
        for line in killed:
            attempt, rank = line.split()[0].split("-")
            assert f"worker {rank} (pid " in said, (line, said[-5000:])
            print(f"job {seed}: attempt {attempt}, worker {line[line.index('-') + 1 :]}")
        assert said.count("restarting all processes") == len(killed), said[-5000:]
        all_killed += killed
    assert len(all_killed) >= KILLS
