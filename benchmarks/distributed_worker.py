"""One worker of `benchmarks.distributed`; it prints, on worker 0, a JSON list of seconds per step."""

from __future__ import annotations

import json
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import rebind as mx
from rebind.distributed import current_job

from .drivers import DistributedDriver, Driver, ModuleDriver
from .networks import DISTRIBUTED, Row
from .peers_torch import TorchDriver

__all__ = ["ENGINES", "main"]


def _ddp(row: Row, workers: int) -> Driver:
    driver = TorchDriver(row)
    driver.wrap(lambda model: DistributedDataParallel(model, gradient_as_bucket_view=True))
    return driver


#: The engines, and the same work in as many processes that do not communicate.
ENGINES = {
    "rebind": lambda row, workers: DistributedDriver(mx, row, workers),
    "rebind alone": lambda row, workers: ModuleDriver(mx, row),
    "DDP": _ddp,
    "DDP alone": lambda row, workers: TorchDriver(row),
}


def _sent() -> int:
    """Return how many bytes have gone over the loopback interface."""
    with open("/proc/net/dev") as file:
        return next(int(line.split()[1]) for line in file if line.strip().startswith("lo:"))


def main(engine: str, row: str, steps: int, rounds: int) -> None:
    """Time `rounds` of `steps` steps; the first round is not counted."""
    torch.set_num_threads(1)
    job = current_job()
    driver = ENGINES[engine](DISTRIBUTED[row], job.size)
    seconds, sent, busy = [], [], []
    for _ in range(rounds + 1):
        if job.size > 1:
            dist.barrier()
        before, used, start = _sent(), time.process_time(), time.perf_counter()
        driver.run(steps)
        if job.size > 1:
            dist.barrier()
        seconds.append((time.perf_counter() - start) / steps)
        sent.append((_sent() - before) / steps)
        busy.append((time.process_time() - used) / steps)
    if job.rank == 0:
        found = {"seconds": seconds[1:], "busy": busy[1:], "bytes": sorted(sent[1:])[rounds // 2] / job.size}
        print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
