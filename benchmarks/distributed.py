"""The command `python -m benchmarks.distributed`: training over processes of this machine, beside plain PyTorch.

Each row is trained with ``kvstore='dist_sync'``, with `DistributedDataParallel` and with FSDP2 (`fully_shard`), by the
same numbers of processes with one thread each, in turn; and by as many processes that do not communicate, so that what
communication adds to a step is seen. The batch is that of one worker. All run on the loopback address.
`python -m benchmarks.page` writes the table of the samples in `results/distributed` to docs/scaling.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch

from .command import Names
from .distributed_table import distributed_lines
from .distributed_worker import ALONE, ENGINES
from .jobs import run_job
from .networks import DISTRIBUTED
from .report import commit, describe_machine

_STEPS = 3  # of a round
_ROUNDS = 3  # that a process times


def _run(engine: str, row: str, workers: int) -> dict[str, Any]:
    """Run a job of so many workers, and return what its worker 0 prints."""
    arguments = [engine, row, str(_STEPS), str(_ROUNDS)]
    return json.loads(run_job("benchmarks.distributed_worker", arguments, workers))


def _measure(row: str, workers: int, engines: Sequence[str], rounds: int) -> dict[str, list[dict[str, Any]]]:
    """Return what each engine measured in each round: in turn, so that a change of the machine's load meets all."""
    samples: dict[str, list[dict[str, Any]]] = {}
    for _ in range(rounds):
        for engine in engines:
            samples.setdefault(engine, []).append(_run(engine, row, workers))
    return samples


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distributed", description=__doc__)
    parser.add_argument("--rows", type=Names(DISTRIBUTED), default=list(DISTRIBUTED), metavar="A,B",
                        help=f"some of {', '.join(DISTRIBUTED)}")  # fmt: skip
    parser.add_argument("--engines", type=Names(ENGINES), default=list(ENGINES), metavar="A,B",
                        help=f"some of {', '.join(ENGINES)}")  # fmt: skip
    parser.add_argument("--workers", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2, 4],
                        metavar="N,M", help="numbers of processes (1,2,4)")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each engine; their steps are timed")
    parser.add_argument("--json", type=Path, help="write every sample here")
    given = parser.parse_args(arguments)
    content: dict[str, Any] = {
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"), "commit": commit(),
        "machine": describe_machine(), "torch": torch.__version__, "rows": {},
    }  # fmt: skip
    for row in given.rows:
        samples = content["rows"][row] = {"title": DISTRIBUTED[row].title, "workers": {}}
        for workers in given.workers:
            engines = [*(given.engines if workers > 1 else ()), *ALONE]
            samples["workers"][str(workers)] = _measure(row, workers, engines, given.rounds)
            if given.json:  # now, and the table after each row: all of them take an hour
                given.json.write_text(json.dumps(content, indent=1) + "\n")
        print("\n".join(distributed_lines({row: samples})), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
