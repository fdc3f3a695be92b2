"""Record what workers of MXNet 1.9.1 pull from a store ``'dist_async'`` when they push in turns.

Run with the Python of an environment that has MXNet 1.9.1::

    python -m tests.parity.generate_dist_async

It starts real jobs on the loopback address, each with a scheduler, two servers and two workers, and writes
``data/dist_async.json`` beside this file.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from typing import Any

from .dist_async import CASES, WORKERS, push_in_turns
from .golden import DATA, write_manifest

SERVERS = 2
PREFIX = "pulled: "


def run(name: str) -> list[Any]:
    """Run one job, and return what its workers print, by rank."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    job = {
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": str(port),
        "DMLC_NUM_WORKER": str(WORKERS),
        "DMLC_NUM_SERVER": str(SERVERS),
    }
    roles = ["scheduler", *["server"] * SERVERS, *["worker"] * WORKERS]
    # Scheduler and servers take their roles when MXNet is imported.
    commands = {role: [sys.executable, "-c", "import mxnet"] for role in roles}
    commands["worker"] = [sys.executable, "-m", "tests.parity.generate_dist_async", name]
    started = [
        subprocess.Popen(
            commands[role], env=os.environ | job | {"DMLC_ROLE": role}, stdout=subprocess.PIPE, text=True
        )
        for role in roles
    ]
    printed = [process.communicate(timeout=120)[0] for process in started]
    lines = [line for text in printed for line in text.splitlines() if line.startswith(PREFIX)]
    found = dict(json.loads(line.removeprefix(PREFIX)) for line in lines)
    return [found[rank] for rank in range(WORKERS)]


def main() -> None:
    """Make the record; or with the name of a case, be a worker."""
    if len(sys.argv) > 1:
        from .oracle import mx

        print(PREFIX + json.dumps(push_in_turns(mx, CASES[sys.argv[1]])), flush=True)
        return
    version = subprocess.run(
        [sys.executable, "-c", "import mxnet; print(mxnet.__version__)"], capture_output=True, text=True
    )
    runs = {name: run(name) for name in CASES}
    write_manifest(DATA / "dist_async.json", {"origin": {"mxnet": version.stdout.strip()}, "runs": runs})


if __name__ == "__main__":
    main()
