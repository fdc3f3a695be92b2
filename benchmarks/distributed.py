"""The command `python -m benchmarks.distributed`: training over processes of this machine, beside plain PyTorch.

Each row is trained with ``kvstore='dist_sync'`` and with `DistributedDataParallel`, by the same numbers of processes
with one thread each, in turn; and by as many processes that do not communicate, so that what communication adds to a
step is seen. The batch is that of one worker. All run on the loopback address.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import socket
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from .command import Names, wide
from .distributed_worker import ENGINES
from .networks import DISTRIBUTED

_STEPS = {"resnet18": 3, "lstm": 3, "wide": 3}


def _run(engine: str, row: str, workers: int, rounds: int) -> dict[str, Any]:
    """Run a job of so many workers, and return what its worker 0 prints."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(workers), "OMP_NUM_THREADS": "1",
              "REBIND_JOB_TOKEN": secrets.token_hex(8)}  # fmt: skip
    command = [
        sys.executable,
        "-m",
        "benchmarks.distributed_worker",
        engine,
        row,
        str(_STEPS[row]),
        str(rounds),
    ]
    started = [
        subprocess.Popen(
            command, env={**os.environ, **shared, "RANK": str(rank)}, text=True,
            stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
        )
        for rank in range(workers)
    ]  # fmt: skip
    printed, _ = started[0].communicate()
    if any(process.wait() for process in started):
        raise RuntimeError(f"{engine}, {row}, {workers} workers: a process failed")
    return json.loads(printed.splitlines()[-1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distributed", description=__doc__)
    parser.add_argument("--rows", type=Names(DISTRIBUTED), default=list(DISTRIBUTED), metavar="A,B",
                        help=f"some of {', '.join(DISTRIBUTED)}")  # fmt: skip
    parser.add_argument("--workers", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2, 4],
                        metavar="N,M", help="numbers of processes (1,2,4)")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each engine; their steps are timed")
    parser.add_argument("--json", type=Path, help="write every sample here")
    given = parser.parse_args(arguments)
    samples: dict[str, dict[str, Any]] = {}
    for row in given.rows:
        for workers in given.workers:
            for _ in range(given.rounds):  # in turn, so that a change of the machine's load meets all engines
                for engine in ENGINES:
                    if workers == 1 and not engine.endswith("alone"):
                        continue
                    found = _run(engine, row, workers, rounds=3)
                    kept = samples.setdefault(
                        f"{row}/{workers}/{engine}", {"seconds": [], "bytes": found["bytes"]}
                    )
                    kept["seconds"] += found["seconds"]
            if given.json:  # now, and the table after each row: all of them take half an hour
                given.json.write_text(json.dumps(samples, indent=1))
        wide(Console()).print(_table([row], given.workers, samples))
    return 0


def _table(rows: Sequence[str], counts: Sequence[int], samples: dict[str, dict[str, Any]]) -> Table:
    table = Table(
        title="Training over processes: medians", caption="ms are of a step; MB are sent by each worker"
    )
    for name in ("row", "workers", "rebind ms", "DDP ms", "DDP / rebind", "samples/s", "efficiency", "DDP's",
                 "not hidden ms", "DDP's", "MB", "DDP's"):  # fmt: skip
        table.add_column(name, justify="left" if name == "row" else "right")

    def median(row: str, workers: int, engine: str) -> float | None:
        found = samples.get(f"{row}/{workers}/{engine}")
        return None if found is None else statistics.median(found["seconds"])

    for row in rows:
        batch = DISTRIBUTED[row].batch_size
        for workers in counts:
            own, peer = (median(row, workers, engine) for engine in ("rebind", "DDP"))
            alone = {engine: median(row, workers, f"{engine} alone") for engine in ("rebind", "DDP")}
            first = {engine: median(row, 1, f"{engine} alone") for engine in ("rebind", "DDP")}
            if own is None or peer is None or alone["rebind"] is None or alone["DDP"] is None:
                one, other = alone["rebind"] or 0, alone["DDP"] or 0
                table.add_row(row, str(workers), f"{one * 1e3:.0f}", f"{other * 1e3:.0f}", f"{other / one:.2f}",
                              f"{batch / one:.0f}")  # fmt: skip
                continue
            efficiency = [
                f"{base / step:.2f}" if base else ""
                for base, step in ((first["rebind"], own), (first["DDP"], peer))
            ]
            table.add_row(
                row, str(workers), f"{own * 1e3:.0f}", f"{peer * 1e3:.0f}", f"{peer / own:.2f}",
                f"{workers * batch / own:.0f}", *efficiency,
                f"{(own - alone['rebind']) * 1e3:.0f}", f"{(peer - alone['DDP']) * 1e3:.0f}",
                f"{samples[f'{row}/{workers}/rebind']['bytes'] / 1e6:.1f}",
                f"{samples[f'{row}/{workers}/DDP']['bytes'] / 1e6:.1f}",
            )  # fmt: skip
    return table


if __name__ == "__main__":
    sys.exit(main())
