"""The command `python -m benchmarks.slow_network`: training over a network with delay, loss and a bounded rate.

Two workers run in network namespaces of their own (Linux, as root), with nothing between them but this process, which
passes the packets of one to the other: late, not faster than a rate, or not at all. So the kernels' TCP is real, with
its retransmissions and windows. Each line says how fast the training is, and whether its weights are, bit for bit,
those of the undisturbed run.
"""

from __future__ import annotations

import argparse
import array
import contextlib
import ctypes
import fcntl
import heapq
import json
import os
import random
import secrets
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from .command import wide

_STEPS = 150
_CLONE_NEWNET = 0x40000000
_TUNSETIFF, _IFF_TUN_WITHOUT_HEADER = 0x400454CA, 0x1001


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
        Bytes per second, in each direction; 0 is unbounded.
    cut_after, stop_after
        Seconds of training after which no packet passes any more, or worker 1 is stopped for `stop_for` seconds.
    """

    title: str
    delay: float = 0.0
    loss: float = 0.0
    rate: float = 0.0
    cut_after: float = 0.0
    stop_after: float = 0.0
    stop_for: float = 3.0


LINKS = (
    Link("undisturbed"),
    Link("1 ms", delay=0.001),
    Link("20 ms", delay=0.02),
    Link("1 ms, 1 % lost", delay=0.001, loss=0.01),
    Link("100 Mbit/s", rate=12.5e6),
    Link("worker 1 stands still for 3 s", stop_after=0.5),
    Link("connection cut", cut_after=0.5),
)


class Worker(NamedTuple):
    """A worker in its own network namespace, and the end of its network interface."""

    process: subprocess.Popen[str]
    packets: int


def _start(rank: int, port: int, token: str, timeout: float) -> Worker:
    """Start a worker that has no network but a device whose packets come here."""
    ours, theirs = socket.socketpair()
    address = f"10.77.0.{rank + 1}"
    variables = {
        "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "10.77.0.1", "MASTER_PORT": str(port),
        "REBIND_JOB_TOKEN": token, "GLOO_SOCKET_IFNAME": "tun0", "REBIND_TIMEOUT": str(timeout),
        "OMP_NUM_THREADS": "1",
    }  # fmt: skip

    def enter() -> None:
        if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "a network namespace needs root")
        device = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH", b"tun0", _IFF_TUN_WITHOUT_HEADER))
        for command in (
            "ip link set lo up",
            f"ip addr add {address}/24 dev tun0",
            "ip link set tun0 up mtu 9000",
        ):
            subprocess.run(command.split(), check=True)
        theirs.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [device]))])

    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.slow_network", "--worker"], env={**os.environ, **variables}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=enter, pass_fds=[theirs.fileno()],
    )  # fmt: skip
    _, control, _, _ = ours.recvmsg(1, socket.CMSG_LEN(4))
    return Worker(process, array.array("i", control[0][2])[0])


def _run(link: Link, timeout: float) -> tuple[list[dict[str, float | str]], float]:
    """Train over a link; return what each worker printed, and how many seconds it took after the first step."""
    token, port = secrets.token_hex(8), 29500
    workers = [_start(rank, port, token, timeout) for rank in range(2)]
    other = {workers[0].packets: workers[1].packets, workers[1].packets: workers[0].packets}
    draws, waiting, free_at, count = random.Random(0), [], dict.fromkeys(other, 0.0), 0
    begun = stopped = 0.0
    started = time.monotonic()
    while any(worker.process.poll() is None for worker in workers):
        now = time.monotonic()
        pause = min(max(waiting[0][0] - now, 0.0), 0.05) if waiting else 0.05
        for source in select.select(list(other), [], [], pause)[0]:
            with contextlib.suppress(BlockingIOError):
                packet, now = os.read(source, 65536), time.monotonic()
                begun = begun or (
                    now if len(packet) > 4000 else 0.0
                )  # large packets: gradients are on their way
                cut = link.cut_after and begun and now - begun > link.cut_after
                if cut or draws.random() < link.loss:
                    continue
                # Sent when those before it are, and then under way for the delay.
                sent = max(now, free_at[source]) + (len(packet) / link.rate if link.rate else 0.0)
                if sent - now > 0.2:
                    continue  # the queue is full
                free_at[source], count = sent, count + 1
                heapq.heappush(waiting, (sent + link.delay, count, other[source], packet))
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, _, target, packet = heapq.heappop(waiting)
            with contextlib.suppress(OSError):  # it has ended
                os.write(target, packet)
        if link.stop_after and begun and not stopped and now - begun > link.stop_after:
            workers[1].process.send_signal(signal.SIGSTOP)
            stopped = now
        if stopped and now - stopped > link.stop_for:
            workers[1].process.send_signal(signal.SIGCONT)
    printed = []
    for worker in workers:
        out, error = worker.process.communicate()
        os.close(worker.packets)
        said = [line for line in error.splitlines() if "WorkerError" in line]
        printed.append(json.loads(out) if out else {"error": said[-1] if said else error[-300:]})
    return printed, time.monotonic() - (begun or started)


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
    for link in LINKS:
        printed, seconds = _run(link, given.timeout)
        if all("ms" in each for each in printed):
            digests = {str(each["weights"]) for each in printed}
            first = first or next(iter(digests))
            same = "the same" if digests == {first} else "DIFFERENT"
            table.add_row(link.title, f"{printed[0]['ms']:.0f}", same, f"{seconds:.1f}")
        else:
            table.add_row(
                link.title, "-", "; ".join(str(each.get("error", "")) for each in printed), f"{seconds:.1f}"
            )
    wide(Console()).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
