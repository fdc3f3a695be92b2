"""Starts ``rebind launch`` as a user would, and programs in the place of those that reach other machines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

__all__ = ["PROGRAM", "TOOLS", "launch", "put_tools", "results"]

# What a worker finds of its job, after it has trained in it.
PROGRAM = """
import json, os, sys
import rebind as mx

kv = mx.kv.create("dist_sync")
kv.init("w", mx.nd.zeros((2,)))
kv.push("w", mx.nd.ones((2,)) * (kv.rank + 1))
kv.pull("w", out=(out := mx.nd.zeros((2,))))
names = ("DMLC_ROLE", "DMLC_NUM_SERVER", "LOCAL_RANK", "GIVEN", "TORCHELASTIC_RESTART_COUNT")
found = dict(rank=kv.rank, size=kv.num_workers, sum=float(out.asnumpy().sum()), folder=os.getcwd())
found["variables"] = {name: os.environ.get(name) for name in names}

def listening(pid):
    sockets = set()
    for number in os.listdir(f"/proc/{pid}/fd"):
        try:
            sockets.add(os.readlink(f"/proc/{pid}/fd/{number}"))
        except FileNotFoundError:
            pass
    rows = [line.split() for kind in ("tcp", "tcp6") for line in list(open(f"/proc/{pid}/net/{kind}"))[1:]]
    return [row[1].split(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]

if sys.platform == "linux":
    found["listening"] = {"self": listening(os.getpid()), "parent": listening(os.getppid())}
kv.barrier()
sys.stdout.write(json.dumps(found) + "\\n")  # one write: lines of two workers do not mix
sys.stdout.flush()
"""

# In the place of ssh, mpirun, srun and rsync: they run the command here.
TOOLS = {
    "ssh": """#!/bin/sh
while [ "$1" = -o ] || [ "$1" = -p ]; do shift 2; done
shift
exec sh -c "$*"
""",
    "rsync": """#!/bin/sh
for last; do :; done
cp -r . "${last#*:}"
""",
    "mpirun": f"""#!{sys.executable} -IS
import os, subprocess, sys
words = sys.argv[1:]
if words == ["--version"]:
    sys.exit(print("mpirun (Open MPI) 4.1.4"))
count, prefix = 1, ""
while words and words[0].startswith("-"):
    word = words.pop(0)
    if word == "-n" or word.startswith("--ntasks"):
        count = int(words.pop(0) if word == "-n" else word.partition("=")[2])
    elif word in ("-x", "--hostfile"):
        words.pop(0)
names = ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID")
if "mpirun" in sys.argv[0]:
    names = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK")
started = []
for rank in range(count):
    variables = dict(zip(names, map(str, (rank, count, rank))))
    started.append(subprocess.Popen(words, env=dict(os.environ, **variables)))
codes = [process.wait() for process in started]
sys.exit(max(codes, key=abs) & 255)
""",
}
TOOLS["srun"] = TOOLS["mpirun"]


def launch(
    *arguments: object, cwd: Path, tools: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Return what became of ``rebind launch`` with some flags."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "REBIND_TIMEOUT": "60", **variables}
    if tools is not None:
        put_tools(tools)
        environment["PATH"] = f"{tools}{os.pathsep}{environment['PATH']}"
    command = [sys.executable, "-m", "rebind", "launch", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)


def put_tools(folder: Path) -> None:
    """Write the programs in the place of those that reach other machines."""
    folder.mkdir()
    for name, text in TOOLS.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)


def results(done: subprocess.CompletedProcess[str]) -> list[dict]:
    """Return what the workers printed, by rank."""
    lines = [line[line.index("{") :] for line in done.stdout.splitlines() if "{" in line]
    return sorted(map(json.loads, lines), key=lambda found: found["rank"])
