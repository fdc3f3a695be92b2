"""Jobs of several processes on this machine's loopback address."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Sequence

__all__ = ["run_job"]


def run_job(module: str, arguments: Sequence[str], workers: int) -> str:
    """Run ``python -m module`` as each worker of a job, with one thread; return the last line that worker 0 prints."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(workers), "OMP_NUM_THREADS": "1",
              "REBIND_JOB_TOKEN": secrets.token_hex(8)}  # fmt: skip
    started = [
        subprocess.Popen(
            [sys.executable, "-m", module, *arguments], env={**os.environ, **shared, "RANK": str(rank)}, text=True,
            stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
        )
        for rank in range(workers)
    ]  # fmt: skip
    printed, _ = started[0].communicate()
    if any(process.wait() for process in started):
        raise RuntimeError(f"{module} {' '.join(arguments)}, {workers} workers: a process failed")
    return printed.splitlines()[-1]
