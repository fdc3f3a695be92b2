"""One worker of `benchmarks.distributed`; worker 0 prints what it measured as JSON."""

from __future__ import annotations

import json
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import rebind as mx
from rebind.distributed import current_job

from .drivers import DistributedDriver, Driver, ModuleDriver
from .networks import DISTRIBUTED, Row
from .peers_torch import TorchDriver, parameter_groups
from .sockets import sent_by_sockets
from .worker import forget_peak, peak_memory

__all__ = ["ALONE", "ENGINES", "main"]


def _ddp(row: Row, workers: int) -> Driver:
    driver = TorchDriver(row)
    driver.wrap(lambda model: DistributedDataParallel(model, gradient_as_bucket_view=True))
    return driver


def _fsdp2(row: Row, workers: int) -> Driver:
    mesh = init_device_mesh("cpu", (workers,))

    def shard(model: nn.Module) -> nn.Module:
        for module in parameter_groups(model).values():
            fully_shard(module, mesh=mesh)
        return fully_shard(model, mesh=mesh)

    driver = TorchDriver(row)
    driver.wrap(shard)
    return driver


#: The engines, by name: each makes a driver for a row and a number of workers.
ENGINES = {
    "rebind": lambda row, workers: DistributedDriver(mx, row, workers),
    "DDP": _ddp,
    "FSDP2": _fsdp2,
}
#: The same work in processes that do not communicate.
ALONE = {
    "rebind alone": lambda row, workers: ModuleDriver(mx, row),
    "PyTorch alone": lambda row, workers: TorchDriver(row),
}


def main(engine: str, row: str, steps: int, rounds: int) -> None:
    """Time `rounds` of `steps` steps; the first round is not counted."""
    torch.set_num_threads(1)
    job = current_job()
    driver = {**ENGINES, **ALONE}[engine](DISTRIBUTED[row], job.size)
    seconds, sent, busy = [], [], []
    for number in range(rounds + 1):
        if job.size > 1:
            dist.barrier()
        if number == 1:
            forget_peak()
        before, used, start = sent_by_sockets(), time.process_time(), time.perf_counter()
        driver.run(steps)
        if job.size > 1:
            dist.barrier()
        seconds.append((time.perf_counter() - start) / steps)
        sent.append((sent_by_sockets() - before) / steps)
        busy.append((time.process_time() - used) / steps)
    found = {
        "seconds": seconds[1:], "busy": busy[1:], "bytes": sorted(sent[1:])[rounds // 2],
        "memory": peak_memory(),
    }  # fmt: skip
    if job.rank == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
