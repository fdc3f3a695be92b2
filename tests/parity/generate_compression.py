"""Record what is pulled from MXNet's stores with compressed gradients.

Run with the Python of an environment that has MXNet: ``python -m tests.parity.generate_compression``. Each run has
processes of its own: those of a job are MXNet's scheduler, a server (with two MXNet hangs over the big key), and the
workers. What all workers pulled must be equal.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys

from .compression import RUNS, push_all, workers_of
from .golden import DATA
from .oracle import mx, origin


def start(role: str, environment: dict[str, str], *command: str) -> subprocess.Popen[str]:
    """Start a process of a job."""
    return subprocess.Popen(
        [sys.executable, *command],
        env={**os.environ, **environment, "DMLC_ROLE": role},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def record(name: str) -> object:
    """Run one, and return what its workers pulled."""
    command = ["-m", __spec__.name, "--run", name]
    count = workers_of(name)
    if not count:
        done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True)
        return json.loads(done.stdout.splitlines()[-1])
    for _ in range(5):  # now and then the processes of a job do not find each other
        try:
            found = run_job(command, count)
        except subprocess.TimeoutExpired:
            continue
        assert all(each == found[0] for each in found), name
        return found[0]
    raise SystemExit(f"{name}: gave no result")


def run_job(command: list[str], count: int) -> list[object]:
    """Return what each worker of a job prints."""
    environment = {
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": str(random.randrange(10_000, 30_000)),
        "DMLC_NUM_WORKER": str(count),
        "DMLC_NUM_SERVER": "1",
    }
    others = [start(role, environment, "-c", "import mxnet") for role in ("scheduler", "server")]
    workers = [start("worker", environment, *command) for _ in range(count)]
    try:
        return [json.loads(each.communicate(timeout=60)[0].splitlines()[-1]) for each in workers]
    finally:
        for each in [*others, *workers]:
            each.kill()


def main() -> None:
    """Record all runs, or those that are named."""
    if sys.argv[1:2] == ["--run"]:
        print(json.dumps(push_all(mx, sys.argv[2])))
        return
    path = DATA / "compression.json"
    found = json.loads(path.read_text(encoding="utf-8"))["runs"] if sys.argv[1:] else {}
    for name in sys.argv[1:] or RUNS:
        found[name] = record(name)
        ordered = {each: found[each] for each in RUNS if each in found}
        text = json.dumps({"origin": origin(), "runs": ordered}, indent=1)
        path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
