"""Key-value stores in a profile: what workers wait for, and what servers do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.distributed.workers import run_job

import rebind as mx


def slices(path: Path) -> list[str]:
    return [each["name"] for each in json.loads(path.read_text())["traceEvents"] if each["ph"] == "X"]


def train_with_profiled_servers(folder: str) -> None:
    store = mx.kv.create("dist_async")
    server: Any = {"profile_process": "server"}
    mx.profiler.set_config(filename=f"{folder}/trace.json", continuous_dump=False, **server)
    store.init("w", mx.nd.zeros((3,)))
    store.set_optimizer(mx.optimizer.create("sgd"))
    mx.profiler.set_state("run", **server)
    store.push("w", mx.nd.ones((3,)))
    store.barrier()
    mx.profiler.pause(**server)
    store.push("w", mx.nd.ones((3,)))
    store.barrier()
    mx.profiler.resume(**server)
    found = mx.nd.zeros((3,))
    store.pull("w", out=found)
    mx.profiler.dump(**server)


def test_servers_of_their_own_write_their_traces(tmp_path: Path) -> None:
    run_job(train_with_profiled_servers, 1, str(tmp_path), servers=1)
    found = slices(tmp_path / "rank0_trace.json")
    assert [found.count(name) for name in ("KVStoreServer push", "sgd_update", "KVStoreServer pull")] == [
        1,
        1,
        1,
    ]
    assert not (tmp_path / "trace.json").exists()  # the worker's own


def profile_worker_and_server(folder: str) -> tuple[list[str], list[str]]:
    store = mx.kv.create("dist_async")  # its server is in this process
    server: Any = {"profile_process": "server"}
    for each, name in (({}, "worker.json"), (server, "server.json")):
        mx.profiler.set_config(filename=f"{folder}/{name}", continuous_dump=False, **each)
        mx.profiler.set_state("run", **each)
    store.init("w", mx.nd.zeros((3,)))
    store.set_optimizer(mx.optimizer.create("sgd"))
    store.push("w", mx.nd.ones((3,)))
    store.barrier()
    mx.nd.exp(mx.nd.ones((3,)))
    mx.profiler.dump(**server)
    mx.nd.sin(mx.nd.ones((3,)))
    mx.profiler.dump()
    return slices(Path(folder) / "worker.json"), slices(Path(folder) / "rank0_server.json")


def test_a_server_in_the_process_of_a_worker_has_a_profile_of_its_own(tmp_path: Path) -> None:
    worker, server = run_job(profile_worker_and_server, 1, str(tmp_path))[0]  # type: ignore[misc]
    assert {"exp", "sin"} <= set(worker)
    assert {"KVStoreServer push", "sgd_update"} <= set(server)
    assert all(name.startswith(("KVStoreServer ", "sgd_update")) for name in server)


@pytest.mark.parametrize("kind", ["local", "device", "dist_sync", "dist_async"])
def test_calls_of_a_store_are_rows(kind: str) -> None:
    store, out = mx.kv.create(kind), mx.nd.zeros((3,))
    store.set_optimizer(mx.optimizer.create("sgd"))
    store.init("w", mx.nd.zeros((3,)))
    with mx.profiler.Profile() as profile:
        store.push("w", [mx.nd.ones((3,))] * 2)
        store.pull("w", out=out)
        store.pushpull("w", mx.nd.ones((3,)), out=out)
    found = {row.name: row.calls for row in profile.nodes() if row.name.startswith("KVStore")}
    servers = {name for name in found if name.startswith("KVStoreServer")}
    assert {name: found[name] for name in set(found) - servers} == {
        "KVStorePush": 1, "KVStorePull": 1, "KVStorePushPull": 1,
    }  # fmt: skip


def test_the_exchange_of_a_fit_is_a_row() -> None:
    net = mx.sym.LinearRegressionOutput(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc"), mx.sym.var("label")
    )
    data = mx.io.NDArrayIter(np.ones((8, 3)), np.ones((8, 1)), 2, label_name="label")
    module = mx.mod.Module(net, label_names=["label"], context=[mx.cpu(0), mx.cpu(1)])
    profile = mx.profiler.Profile(skip=0)
    module.fit(data, eval_metric="mse", num_epoch=1, profile=profile)
    found = {row.name: row for row in profile.nodes()}
    assert found["KVStorePushPull"].calls == 4 and found["KVStorePushPull"].forward > 0
