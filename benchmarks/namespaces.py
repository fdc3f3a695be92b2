"""Workers in network namespaces of their own (Linux, as root), with nothing between them but this process.

It passes the packets of one to the other: late, not faster than a rate, or not at all. So the kernels' TCP is real,
with its retransmissions and windows.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import fcntl
import heapq
import os
import random
import secrets
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Link", "Switch", "Worker", "start_workers"]

_CLONE_NEWNET = 0x40000000
_TUNSETIFF, _IFF_TUN_WITHOUT_HEADER = 0x400454CA, 0x1001
#: A packet waits so many seconds for those before it at most; then the queue is full, and it is lost.
_LONGEST_QUEUE = 0.2
#: Packets of more bytes than these carry gradients.
_LARGE_PACKET = 4000


@dataclass(frozen=True)
class Link:
    """What happens to packets on their way.

    Attributes
    ----------
    delay
        Seconds, in each direction.
    loss
        The share of packets that are lost.
    rate
        Bytes per second that each worker can send; 0 is unbounded.
    cut_after
        Seconds after the first large packet from which on no packet passes any more; 0 is never.
    """

    title: str
    delay: float = 0.0
    loss: float = 0.0
    rate: float = 0.0
    cut_after: float = 0.0


class Worker(NamedTuple):
    """A worker in its own network namespace, and the end of its network interface."""

    process: subprocess.Popen[str]
    packets: int


def start_workers(
    module: str, arguments: Sequence[str], count: int, variables: Mapping[str, str] | None = None
) -> list[Worker]:
    """Start ``python -m module`` as each worker of a job, with its standard output and error in pipes."""
    job = {
        "WORLD_SIZE": str(count), "MASTER_ADDR": _address(0), "MASTER_PORT": "29500", "GLOO_SOCKET_IFNAME": "tun0",
        "REBIND_JOB_TOKEN": secrets.token_hex(8), "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    command = [sys.executable, "-m", module, *arguments]
    return [_start(command, rank, {**os.environ, **job, **(variables or {})}) for rank in range(count)]


def _address(rank: int) -> str:
    return f"10.77.0.{rank + 1}"


def _start(command: Sequence[str], rank: int, variables: Mapping[str, str]) -> Worker:
    """Start a worker that has no network but a device whose packets come here."""
    ours, theirs = socket.socketpair()

    def enter() -> None:
        if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "a network namespace needs root")
        device = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH", b"tun0", _IFF_TUN_WITHOUT_HEADER))
        for line in (
            "ip link set lo up",
            f"ip addr add {_address(rank)}/24 dev tun0",
            "ip link set tun0 up mtu 9000",
        ):
            subprocess.run(line.split(), check=True)
        theirs.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [device]))])

    process = subprocess.Popen(
        command, env={**variables, "RANK": str(rank)}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=enter, pass_fds=[theirs.fileno()],
    )  # fmt: skip
    _, control, _, _ = ours.recvmsg(1, socket.CMSG_LEN(4))
    ours.close()
    theirs.close()
    return Worker(process, array.array("i", control[0][2])[0])


class Switch:
    """Passes the packets of workers on.

    Parameters
    ----------
    workers
        In the order of their ranks.
    link
        What happens to packets on their way.

    Attributes
    ----------
    began
        When the first large packet came: gradients are on their way. 0 before that.
    """

    def __init__(self, workers: Sequence[Worker], link: Link) -> None:
        self._link = link
        self._ends = {socket.inet_aton(_address(rank)): worker.packets for rank, worker in enumerate(workers)}
        self._free_at = dict.fromkeys(self._ends.values(), 0.0)
        self._under_way: list[
            tuple[float, int, int, bytes]
        ] = []  # when they arrive, their number, where, and what
        self._count = 0
        self._draws = random.Random(0)
        self.began = 0.0

    def turn(self) -> None:
        """Take the packets that have come, and hand over those that are due; wait for either, 50 ms at most."""
        pause = 0.05
        if self._under_way:
            pause = min(max(self._under_way[0][0] - time.monotonic(), 0.0), pause)
        for source in select.select(list(self._free_at), [], [], pause)[0]:
            with contextlib.suppress(BlockingIOError):
                self._take(source, os.read(source, 65536))
        now = time.monotonic()
        while self._under_way and self._under_way[0][0] <= now:
            _, _, target, packet = heapq.heappop(self._under_way)
            with contextlib.suppress(OSError):  # it has ended
                os.write(target, packet)

    def _take(self, source: int, packet: bytes) -> None:
        link, now = self._link, time.monotonic()
        if not self.began and len(packet) > _LARGE_PACKET:
            self.began = now
        target = self._ends.get(packet[16:20])  # where a packet of IPv4 says where it goes
        cut = link.cut_after and self.began and now - self.began > link.cut_after
        if target is None or cut or self._draws.random() < link.loss:
            return
        # Sent when those before it are, and then under way for the delay.
        sent = max(now, self._free_at[source]) + (len(packet) / link.rate if link.rate else 0.0)
        if sent - now > _LONGEST_QUEUE:
            return
        self._free_at[source] = sent
        self._count += 1
        heapq.heappush(self._under_way, (sent + link.delay, self._count, target, packet))
