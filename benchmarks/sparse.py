"""The command `python -m benchmarks.sparse`: products with sparse matrices and steps of sparse training, beside others.

rebind, MXNet, PyTorch and SciPy, each in a process of its own, do the same work in turn, by default with the threads
that PyTorch takes, and the products with one thread too. Steps of training are in new processes, so that the most
memory that they had is theirs. `benchmarks.page` makes the tables of docs/performance.md of the files.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .engines import Options, WorkerProcess, find_mxnet
from .report import commit, describe_machine
from .sparse_table import sparse_lines
from .sparse_work import WORKS, Work, write_file

#: Seconds that the calls of one engine take in a round. Other engines' work has filled the caches before.
_SECONDS = 0.2

Workers = Mapping[str, WorkerProcess]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is the exit status."""
    given = _parser().parse_args(arguments)
    mxnet = find_mxnet(given.mxnet)
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    machine = describe_machine()
    rows: list[dict[str, Any]] = []
    works = [work for work in WORKS.values() if given.only in work.name]
    with tempfile.TemporaryDirectory() as folder:
        if any(work.kind in ("linear", "machine") for work in works):
            write_file(f"{folder}/batches.libsvm")
        for threads in given.threads:
            options = Options(threads or None, mxnet)
            rows += _measured(works, options, given.rounds, folder)
    content = {"started": started, "commit": commit(), "machine": machine, "rows": rows}
    print("\n".join(sparse_lines(content)))
    if given.json:
        given.json.write_text(json.dumps(content, indent=1))
    return 0


def _measured(works: Sequence[Work], options: Options, rounds: int, folder: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each work that these threads are for: steps are for PyTorch's own number only."""
    with _processes(["rebind", "mxnet", "torch", "scipy"], options) as workers:
        for work in works:
            if not work.is_step:
                yield _row(work, options, workers, rounds, folder)
    for work in works:
        if work.is_step and options.threads is None:
            with _processes(work.engines, options) as workers:
                row = _row(work, options, workers, rounds, folder)
                peaks = {engine: worker.ask(do="memory")["peak_bytes"] for engine, worker in workers.items()}
                yield {**row, "peak_bytes": peaks}


@contextmanager
def _processes(engines: Sequence[str], options: Options) -> Iterator[Workers]:
    """Give a process for each engine that there is; SciPy runs in PyTorch's Python."""
    there = [engine for engine in engines if engine != "mxnet" or options.mxnet]
    workers = {
        engine: WorkerProcess("sparse_worker", "torch" if engine == "scipy" else engine, options)
        for engine in there
    }
    try:
        yield workers
    finally:
        for worker in workers.values():
            worker.close()


def _row(work: Work, options: Options, workers: Workers, rounds: int, folder: str) -> dict[str, Any]:
    there = [engine for engine in work.engines if engine in workers]
    counts = {}
    for engine in there:
        workers[engine].ask(
            do="prepare", engine=engine, kind=work.kind, settings=work.settings, folder=folder
        )
        counts[engine] = _count(workers[engine])
    samples: dict[str, list[float]] = {engine: [] for engine in there}
    for index in range(rounds):
        for engine in there[:: -1 if index % 2 else 1]:  # in turn: a machine's pace changes
            seconds = workers[engine].ask(do="run", calls=counts[engine])["seconds"]
            samples[engine].append(round(1000 * seconds / counts[engine], 5))
    return {"name": work.name, "threads": options.threads, "samples_ms": samples}


def _count(worker: WorkerProcess) -> int:
    """Warm up, and return how many calls make one round."""
    count = 1
    while True:
        taken = worker.ask(do="run", calls=count)["seconds"]
        if taken >= _SECONDS / 4 or count >= 1024:
            return max(1, min(1024, round(_SECONDS * count / max(taken, 1e-6))))
        count *= 4


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sparse", description=__doc__)
    parser.add_argument(
        "--mxnet", metavar="PYTHON", help="the Python of MXNet's environment, or REBIND_ORACLE"
    )
    parser.add_argument("--only", default="", help="the works whose names have this text")
    parser.add_argument("--rounds", type=int, default=15, help="how often each engine is timed")
    parser.add_argument(
        "--threads",
        type=int,
        nargs="*",
        default=[0, 1],
        help="numbers of threads; 0: as many as PyTorch takes",
    )
    parser.add_argument("--json", type=Path, help="where to write the samples")
    return parser


if __name__ == "__main__":
    sys.exit(main())
