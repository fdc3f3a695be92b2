"""How many bytes a push takes, as the sockets of a worker count them."""

from __future__ import annotations

import os
import socket
import stat
import struct

import rebind as mx

SIZE = 1 << 22
PUSHES = 4

#: Where Linux's `struct tcp_info` has the bytes that the other side has confirmed, of data alone.
_BYTES_ACKED = 120


def sent_by_sockets() -> int:
    """Return how many bytes the TCP connections of this process have carried away: no headers, nothing twice."""
    total = 0
    for number in map(int, os.listdir("/proc/self/fd")):
        try:
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
            with socket.socket(fileno=os.dup(number)) as each:
                if each.type == socket.SOCK_STREAM and each.family in (socket.AF_INET, socket.AF_INET6):
                    info = each.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_ACKED + 8)
                    total += struct.unpack_from("Q", info, _BYTES_ACKED)[0]
        except OSError:  # closed meanwhile
            continue
    return total


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
    return sent_by_sockets() - before, store._job.bytes_sent - sent
