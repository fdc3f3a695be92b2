"""A program that prints how many bytes a push takes on the loopback interface; to be run in a network namespace."""

from __future__ import annotations

import fcntl
import json
import socket
import struct
from pathlib import Path

from tests.distributed.workers import run_job

import rebind as mx

KINDS = ["none", "2bit", "1bit"]
SIZE = 1 << 22
PUSHES = 4


def sent_on_loopback() -> int:
    """Return how many bytes the interface has sent, headers and all."""
    [line] = [
        each for each in Path("/proc/net/dev").read_text().splitlines() if each.lstrip().startswith("lo:")
    ]
    return int(line.split(":")[1].split()[8])


def push(kind: str) -> tuple[int, int]:
    """Push a big array some times; return the bytes on the interface, and those of arrays that this worker sent."""
    store = mx.kv.create("dist_sync")
    store.set_gradient_compression({"type": kind})
    store.init("w", mx.nd.zeros((SIZE,)))
    gradient = mx.nd.ones((SIZE,))
    store.push("w", gradient)  # the first opens connections
    store.barrier()
    before, sent = sent_on_loopback(), store._job.bytes_sent
    store.barrier()
    for _ in range(PUSHES):
        store.push("w", gradient)
        store.pull("w", out=gradient)
    store.barrier()
    after, sent = sent_on_loopback(), store._job.bytes_sent - sent
    store.barrier()
    return after - before, sent


def open_loopback() -> None:
    """Set the loopback interface of a new namespace up."""
    up = 0x1 | 0x8 | 0x40  # IFF_UP, IFF_LOOPBACK, IFF_RUNNING
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", up))  # SIOCSIFFLAGS


if __name__ == "__main__":
    open_loopback()
    print(json.dumps({kind: run_job(push, 2, kind) for kind in KINDS}))
