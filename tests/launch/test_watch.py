"""The watch over the processes of a job, with processes that need no time to start."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from torch.distributed import HashStore
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, PContext, start_processes

from rebind.distributed import Sign
from rebind.distributed.liveness import Liveness
from rebind.launch import watch as watch_module
from rebind.launch.blame import find_causes
from rebind.launch.plan import Plan, Process
from rebind.launch.stop import StopSignals
from rebind.launch.watch import Watch

needs_signals = pytest.mark.skipif(
    sys.platform != "linux", reason="it looks at processes by /proc and waitid"
)


@pytest.fixture(autouse=True)
def own_handlers() -> Iterator[None]:
    """Put the handlers of signals back, which PyTorch's launcher sets and leaves."""
    with StopSignals():
        yield


def start(folder: Path, *commands: str) -> tuple[Plan, PContext]:
    plan = Plan("sh", [Process(f"worker {n}", n, ("-c", text), {}) for n, text in enumerate(commands)])
    context = start_processes(
        name="process",
        entrypoint="sh",
        args={number: process.arguments for number, process in enumerate(plan.processes)},
        envs={number: {} for number in range(len(commands))},
        logs_specs=DefaultLogsSpecs(log_dir=str(folder)),
    )
    return plan, context


@needs_signals
def test_a_stopped_worker_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_module, "STOPPED_FOR", 0.0)
    monkeypatch.setattr(watch_module, "_READ_EVERY", 0.0)
    plan, context = start(tmp_path, "sleep 100", "sleep 100")
    store = HashStore()
    liveness = Liveness(store, 0, 2)  # worker 0 lives
    pid = context.pids()[1]
    sign = Sign(count=1, doing="push of 'w'", host=liveness.read(0).host, pid=pid)  # type: ignore[union-attr]
    sign = Sign(**(asdict(sign) | {"processes": liveness.read(0).processes}))  # type: ignore[union-attr]
    store.set("sign/1", json.dumps(asdict(sign)))
    watch = Watch(plan, context, store, 2, timeout=100)
    try:
        os.kill(pid, signal.SIGSTOP)
        endings = watch.look()
        while not endings:
            time.sleep(0.01)
            endings = watch.look()
    finally:
        context.close()
        liveness.stop("it has finished")
    [cause] = find_causes(endings)
    assert (cause.name, cause.code) == ("worker 1", -signal.SIGKILL)
    assert cause.hung == "was stopped (SIGSTOP) in push of 'w' for 0 s, and was ended"


@needs_signals
def test_the_first_to_fail_is_known_from_those_that_were_ended_for_it(tmp_path: Path) -> None:
    plan, context = start(tmp_path, "sleep 100", "exit 3")
    watch = Watch(plan, context, HashStore(), 2, timeout=100)
    endings = watch.look()
    while not endings:
        time.sleep(0.01)
        endings = watch.look()
    result = context.wait(0)
    assert result is not None
    assert [(each.name, each.code) for each in find_causes(endings)] == [("worker 1", 3)]
    # Had it not been looked for before the others were ended:
    late = Watch(plan, context, HashStore(), 2, timeout=100)
    assert [(each.name, each.code) for each in find_causes(late.take(result.failures))] == [("worker 1", 3)]
