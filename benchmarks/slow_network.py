"""The command `python -m benchmarks.slow_network`: training over a network with delay, loss and a bounded rate.

Two workers run in network namespaces of their own (`namespaces`; Linux, as root). Each line says how fast the training
is, and whether its weights are, bit for bit, those of the undisturbed run.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from .command import wide
from .namespaces import Link, Switch, start_workers

_STEPS = 150


@dataclass(frozen=True)
class Trial:
    """A network, and when worker 1 is stopped: after so many seconds of training (0: never), and for how long."""

    link: Link
    stop_after: float = 0.0
    stop_for: float = 3.0


TRIALS = (
    Trial(Link("undisturbed")),
    Trial(Link("1 ms", delay=0.001)),
    Trial(Link("20 ms", delay=0.02)),
    Trial(Link("1 ms, 1 % lost", delay=0.001, loss=0.01)),
    Trial(Link("100 Mbit/s", rate=12.5e6)),
    Trial(Link("worker 1 stands still for 3 s"), stop_after=0.5),
    Trial(Link("connection cut", cut_after=0.5)),
)


def _run(trial: Trial, timeout: float) -> tuple[list[dict[str, float | str]], float]:
    """Train over a network; return what each worker printed, and how many seconds it took after the first step."""
    workers = start_workers("benchmarks.slow_network", ["--worker"], 2, {"REBIND_TIMEOUT": str(timeout)})
    switch, stopped, started = Switch(workers, trial.link), 0.0, time.monotonic()
    while any(worker.process.poll() is None for worker in workers):
        switch.turn()
        now = time.monotonic()
        if trial.stop_after and switch.began and not stopped and now - switch.began > trial.stop_after:
            workers[1].process.send_signal(signal.SIGSTOP)
            stopped = now
        if stopped and now - stopped > trial.stop_for:
            workers[1].process.send_signal(signal.SIGCONT)
    printed = []
    for worker in workers:
        out, error = worker.process.communicate()
        os.close(worker.packets)
        said = [line for line in error.splitlines() if "WorkerError" in line]
        printed.append(json.loads(out) if out else {"error": said[-1] if said else error[-300:]})
    return printed, time.monotonic() - (switch.began or started)


def _work() -> None:
    """Train for some steps, as one worker; print seconds per step and a digest of the weights."""
    import hashlib

    import numpy as np

    import rebind as mx

    hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=512, name="one")
    hidden = mx.sym.FullyConnected(mx.sym.Activation(hidden, act_type="relu"), num_hidden=512, name="two")
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=10, name="three"), name="softmax")
    store = mx.kv.create("dist_sync")
    draws = np.random.RandomState(store.rank)
    batch = mx.io.DataBatch(
        [mx.nd.array(draws.rand(32, 256))], [mx.nd.array(draws.randint(0, 10, 32).astype("float32"))]
    )
    mx.random.seed(0)
    module = mx.mod.Module(net)
    module.bind([("data", (32, 256))], [("softmax_label", (32,))])
    module.init_params(mx.init.Xavier())
    module.init_optimizer(store, "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    seconds = []
    for _ in range(_STEPS):
        start = time.perf_counter()
        module.forward_backward(batch)
        module.update()
        seconds.append(time.perf_counter() - start)
    weights = b"".join(array.asnumpy().tobytes() for _, array in sorted(module.get_params()[0].items()))
    print(
        json.dumps(
            {"ms": sorted(seconds)[_STEPS // 2] * 1e3, "weights": hashlib.sha256(weights).hexdigest()[:12]}
        )
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.slow_network", description=__doc__)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(
        "--timeout", type=float, default=20.0, help="REBIND_TIMEOUT of the workers, in seconds"
    )
    given = parser.parse_args(arguments)
    if given.worker:
        _work()
        return 0
    table = Table(title="1.6 MB of gradients a step, two workers")
    for name in ("network", "ms a step", "weights", "s in all"):
        table.add_column(name)
    first = ""
    for trial in TRIALS:
        printed, seconds = _run(trial, given.timeout)
        if all("ms" in each for each in printed):
            digests = {str(each["weights"]) for each in printed}
            first = first or next(iter(digests))
            same = "the same" if digests == {first} else "DIFFERENT"
            table.add_row(trial.link.title, f"{printed[0]['ms']:.0f}", same, f"{seconds:.1f}")
        else:
            table.add_row(
                trial.link.title,
                "-",
                "; ".join(str(each.get("error", "")) for each in printed),
                f"{seconds:.1f}",
            )
    wide(Console()).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
