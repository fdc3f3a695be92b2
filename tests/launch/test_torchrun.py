"""Jobs that PyTorch's own launcher starts, and workers whose program has made a process group."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
from tests.distributed.workers import run_job

import rebind as mx
from rebind.io.partition import rank_and_size

TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]

# An old program, one of whose workers is killed the first time.
DIES_ONCE = """
import os, signal, sys
import mxnet as mx

kv = mx.kv.create("dist_sync")
kv.init("w", mx.nd.zeros((2,)))
for step in range(3):
    kv.push("w", mx.nd.ones((2,)) * (kv.rank + 1))
    kv.pull("w", out=(out := mx.nd.zeros((2,))))
    if step == 1 and kv.rank == 1 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        os.kill(os.getpid(), signal.SIGKILL)
sys.stdout.write(f"{kv.rank} of {kv.num_workers}: {out.asnumpy().tolist()}\\n")
"""


def environment(**variables: str) -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "REBIND_TIMEOUT": "60", **variables}


def test_an_old_program_under_torchrun_is_started_again(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text(DIES_ONCE)
    flags = ["--standalone", "--nproc-per-node", "2", "--max-restarts", "1", "-m", "rebind", "run"]
    done = subprocess.run(
        [*TORCHRUN, *flags, "old.py"], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=300
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["0 of 2: [3.0, 3.0]", "1 of 2: [3.0, 3.0]"]


# Trains alone until a machine joins, with it until that leaves, alone until one joins again, and with that to the end.
ELASTIC = """
import pathlib, sys, time
import numpy as np
import rebind as mx

kv = mx.kv.create("dist_sync")
joined, left = pathlib.Path("joined"), pathlib.Path("left")

def wait(epoch, *_):
    while kv.num_workers == 1 and epoch > 0 and sys.argv[1] == "elastic":
        if joined.exists():
            left.touch()
        time.sleep(0.1)  # until torchrun ends this worker, since a machine joins
    while kv.num_workers == 2 and epoch == 3 and not left.exists():
        joined.touch()
        kv.barrier()  # until the other worker is lost
        time.sleep(0.1)

random = np.random.RandomState(0)
samples = random.randn(48, 5).astype("float32")
labels = (samples.sum(1) > 0).astype("float32")
data = mx.io.NDArrayIter(samples[kv.rank :: kv.num_workers], labels[kv.rank :: kv.num_workers], 12 // kv.num_workers)
output = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
module = mx.mod.Module(mx.sym.SoftmaxOutput(output, name="softmax"))
mx.random.seed(0)
module.fit(data, num_epoch=6, kvstore=kv, checkpoint=f"{sys.argv[1]}-run", epoch_end_callback=wait)
if kv.rank == 0:
    module.save_params(f"{sys.argv[1]}.params")
"""


@pytest.mark.slow
def test_machines_join_and_leave(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(ELASTIC)
    plain = subprocess.run(
        [sys.executable, "train.py", "plain"], cwd=tmp_path, env=environment(), check=False
    )
    assert plain.returncode == 0
    with socket.create_server(("127.0.0.1", 0)) as free:
        at = f"127.0.0.1:{free.getsockname()[1]}"
    flags = [
        *("--nnodes", "1:2", "--nproc-per-node", "1", "--max-restarts", "3", "--local-addr", "127.0.0.1"),
        *("--rdzv-backend", "c10d", "--rdzv-endpoint", at, "--rdzv-conf", "last_call_timeout=1"),
    ]
    command = [*TORCHRUN, *flags, "train.py", "elastic"]
    # Without it torchrun's agents do not find each other when one joins.
    variables = environment(TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1")
    with (
        (tmp_path / "first.log").open("w") as log,
        subprocess.Popen(command, cwd=tmp_path, env=variables, stdout=log, stderr=log) as first,
    ):
        try:
            wait_for(tmp_path / "elastic-run-0001-000000.run", first)
            with subprocess.Popen(command, cwd=tmp_path, env=variables) as second:
                wait_for(tmp_path / "joined", first)
                second.terminate()
            wait_for(tmp_path / "left", first)
            # It has seen no restarts, of which the first one has counted one.
            third = subprocess.run(command, cwd=tmp_path, env=variables, timeout=120, check=False)
            assert (third.returncode, first.wait(120)) == (0, 0), (tmp_path / "first.log").read_text()
        finally:
            first.terminate()
    expected, found = (mx.nd.load(str(tmp_path / f"{name}.params")) for name in ("plain", "elastic"))
    for name, array in expected.items():
        np.testing.assert_allclose(found[name].asnumpy(), array.asnumpy(), atol=1e-6, err_msg=name)


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until there is a file, as long as a process runs."""
    deadline = time.monotonic() + 120
    while not path.exists():
        assert process.poll() is None and time.monotonic() < deadline, path
        time.sleep(0.05)


def make_group(made_by: str) -> int:
    """Make a process group as a program does; by itself, without variables of a launcher. Return the rank."""
    rank = int(os.environ["RANK"])
    if made_by == "itself":
        at = f"tcp://127.0.0.1:{os.environ['MASTER_PORT']}"
        for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "DMLC_NUM_WORKER"):
            del os.environ[name]
        dist.init_process_group("gloo", init_method=at, rank=rank, world_size=2)
    else:
        dist.init_process_group("gloo")
    return rank


def push_in_a_group(made_by: str) -> tuple[int, int, list[float]]:
    """Train in a process group that is there."""
    rank = make_group(made_by)
    assert rank_and_size() == (rank, 2)
    kv = mx.kv.create("dist_sync")
    kv.init("w", mx.nd.zeros((2,)))
    kv.push("w", mx.nd.ones((2,)) * (kv.rank + 1))
    kv.pull("w", out=(out := mx.nd.zeros((2,))))
    total = torch.ones(1)
    dist.all_reduce(total)  # the program's own group is as it was
    assert total.item() == 2
    return kv.rank, kv.num_workers, out.asnumpy().tolist()


@pytest.mark.parametrize("made_by", ["torch's variables", "itself"])
def test_a_process_group_that_is_there_is_the_job(made_by: str) -> None:
    found = run_job(push_in_a_group, 2, made_by)
    assert found == [(0, 2, [3.0, 3.0]), (1, 2, [3.0, 3.0])]


def lose_in_a_group(victim: int) -> str:
    """Kill one worker in a process group that is there; return what the other one says."""
    rank = make_group("itself")
    kv = mx.kv.create("dist_sync")
    if rank == victim:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        kv.barrier()
    except ConnectionError as error:
        return str(error)
    raise AssertionError("it did not notice")


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.parametrize(
    ("victim", "says"),
    [(0, "lost worker 0, which held the job's store. Restart"), (1, "lost worker 1: its process has ended")],
)
def test_who_is_lost_in_a_process_group_is_named(victim: int, says: str) -> None:
    found = run_job(lose_in_a_group, 2, victim, may_fail=True)
    assert says in str(found[1 - victim])
