"""How many bytes a push takes, as the sockets of a worker count them."""

from __future__ import annotations

from benchmarks.sockets import sent_by_sockets

import rebind as mx

SIZE = 1 << 22
PUSHES = 4


def push(kind: str, update_every: int = 1) -> tuple[int, int]:
    """Push a big array some times; return the bytes at the sockets, and those of arrays that this worker sent."""
    store = mx.kv.create("dist_sync", update_every=update_every)
    store.set_gradient_compression({"type": kind})
    store.init("w", mx.nd.zeros((SIZE,)))
    store.set_optimizer(mx.optimizer.create("sgd"))
    gradient = mx.nd.ones((SIZE,))
    for _ in range(update_every):
        store.push("w", gradient)  # the first opens connections
    store.barrier()
    before, sent = sent_by_sockets(), store._job.bytes_sent
    for _ in range(PUSHES):
        store.push("w", gradient)
        store.pull("w", out=gradient)
    store.barrier()
    counted = sent_by_sockets() - before, store._job.bytes_sent - sent
    store.barrier()  # a worker that leaves takes its connections along, whose bytes others still count
    return counted
