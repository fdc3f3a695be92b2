"""MXNet's job files: scheduler, servers and workers are started with the same command."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from torch.distributed import HashStore

from rebind.distributed import Sign, wait_for_workers
from rebind.errors import WorkerError

PROGRAM = """
import json, rebind as mx
kv = mx.kv.create("dist_sync")
kv.init("w", mx.nd.zeros((2,)))
kv.push("w", mx.nd.ones((2,)) * (kv.rank + 1))
kv.pull("w", out=(out := mx.nd.zeros((2,))))
found = [kv.rank, kv.num_workers, float(out.asnumpy().sum())]
kv = mx.kv.create("dist_async")
from optimizer_of_a_user import Tenfold  # the server comes not so far, and imports it by its name
kv.init("w", mx.nd.zeros((2,)))
kv.set_optimizer(Tenfold())
kv.push("w", mx.nd.ones((2,)) * (kv.rank + 1))
kv.barrier()
kv.pull("w", out=out)
print(json.dumps([*found, float(out.asnumpy().sum())]))
"""
OPTIMIZER = """
import rebind as mx
@mx.optimizer.register
class Tenfold(mx.optimizer.Optimizer):
    def create_state(self, index, weight):
        return mx.contrib and None
    def update(self, index, weight, grad, state):
        self._update_count(index)
        weight += 10 * grad
"""


def test_a_job_file_of_mxnet(tmp_path: Path) -> None:
    (tmp_path / "optimizer_of_a_user.py").write_text(OPTIMIZER)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    shared = {
        **os.environ, "DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": str(port), "DMLC_NUM_WORKER": "2",
        "DMLC_NUM_SERVER": "1", "OMP_NUM_THREADS": "1", "REBIND_TIMEOUT": "120",
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
    }  # fmt: skip
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM], env={**shared, "DMLC_ROLE": role}, stdout=subprocess.PIPE, text=True
        )
        for role in ("worker", "server", "scheduler", "worker")  # in any order; nobody has a number
    ]  # fmt: skip
    try:
        outputs = [process.communicate(timeout=200)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0, 0, 0]
    one, server, scheduler, two = outputs
    assert (server, scheduler) == ("", "")
    assert sorted(map(json.loads, (one, two))) == [[0, 2, 6.0, 60.0], [1, 2, 6.0, 60.0]]


def put(store: HashStore, rank: int, **sign: object) -> None:
    store.set(f"sign/{rank}", json.dumps(asdict(Sign(**sign))))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("signs", "says"),
    [
        ([{"ended": "it has finished"}, {"ended": "ValueError: 17"}], None),
        ([{"ended": "it has finished"}], r"all 2 workers must join within 0.2 s .*; workers \[1\] did not"),
    ],
)  # fmt: skip
def test_wait_for_workers(signs: list[dict[str, object]], says: str | None) -> None:
    store = HashStore()
    for rank, sign in enumerate(signs):
        put(store, rank, **sign)
    if says is None:
        wait_for_workers(store, 2, timeout=0.2)
        return
    with pytest.raises(WorkerError, match=says):
        wait_for_workers(store, 2, timeout=0.2)
