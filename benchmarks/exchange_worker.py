"""One worker of `benchmarks.exchange_costs`; worker 0 prints, as JSON, what each form of exchange took.

An exchange is of gradients, which are summed, each part on the worker that updates it, or of weights, which come back.
rebind's is that of buckets; `torch.distributed`'s collectives are those that DDP and FSDP2 use.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist

from rebind.distributed import Job, Mesh, StagedExchange, current_job

from .sockets import sent_by_sockets

__all__ = ["main"]


def _forms(job: Job, elements: int) -> Iterator[tuple[str, Mesh, Callable[[], object]]]:
    """Yield what is timed: the form's name, the mesh of workers, and what exchanges so many elements."""
    whole, gradients = torch.zeros(elements), torch.ones(elements)
    part = torch.zeros(elements // job.size)
    line, grid = Mesh.line_of(job.size), Mesh.over([""] * job.size)
    edges = [row * part.numel() for row in range(job.size + 1)]
    for number, mesh in enumerate(dict.fromkeys([line, grid])):
        exchange = StagedExchange(job, mesh, edges, 2 * number)

        def reduce_scatter(exchange: StagedExchange = exchange) -> None:
            exchange.begin_reduce_scatter(gradients)
            exchange.end_reduce_scatter("")

        def all_gather(exchange: StagedExchange = exchange) -> None:
            exchange.begin_all_gather(whole)
            exchange.end_all_gather("")

        yield "gradients", mesh, reduce_scatter
        yield "weights", mesh, all_gather
    yield "all_reduce", line, lambda: dist.all_reduce(whole)
    yield "reduce_scatter", line, lambda: dist.reduce_scatter_single(part, gradients)
    yield "all_gather", line, lambda: dist.all_gather_single(whole, part)


def _timed(exchange: Callable[[], object], repeats: int) -> dict[str, Any]:
    """Return the seconds of each of some calls, the processor's time of one, and the bytes that it sent."""
    exchange()  # the first opens connections
    dist.barrier()
    seconds = []
    sent, busy = sent_by_sockets(), time.process_time()
    for _ in range(repeats):
        start = time.perf_counter()
        exchange()
        seconds.append(time.perf_counter() - start)
    busy = time.process_time() - busy
    dist.barrier()
    return {"seconds": seconds, "busy": busy / repeats, "sent": (sent_by_sockets() - sent) / repeats}


def main(sizes: list[int], repeats: int) -> None:
    """Time each form of exchange for each number of bytes."""
    torch.set_num_threads(1)
    job = current_job()
    found = [
        {"form": form, "mesh": mesh.sizes, "bytes": size, **_timed(exchange, repeats)}
        for size in sizes
        for form, mesh, exchange in _forms(job, size // 4)
    ]
    if job.rank == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1].split(",")], int(sys.argv[2]))
