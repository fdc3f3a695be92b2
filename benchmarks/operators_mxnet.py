"""The command `python -m benchmarks.operators_mxnet`: all operators beside MXNet's, forward and backward.

Each engine is a process of its own; both make the same arrays from the same samples. In every round each runs its
calls once, one engine after the other, the next round in the opposite order; a ratio is that of the least times, since
what else the machine does only adds to them. On a busy machine the processor's time says more than the clock: with
`--clock processor` table and file go by it. `benchmarks.page` makes a data file of such files, and
the summary of docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from tests.ops.sample import Sample

from .command import Names, wide
from .engines import EngineError, Options, WorkerProcess, find_mxnet
from .operator_samples import SIZES, samples
from .operator_worker import as_json
from .report import commit, describe_machine

ENGINES = ("rebind", "mxnet")
MODES = ("forward", "backward")
CLOCKS = ("seconds", "processor")
SECONDS = {"small": 0.004, "large": 0.02}  # that one round of calls takes


@dataclass(frozen=True)
class Timed:
    """One call in one mode: microseconds that it took in each round."""

    size: str
    call: str
    mode: str
    rebind: Sequence[float]
    mxnet: Sequence[float]

    @property
    def ratio(self) -> float:
        """How many times as long rebind takes, by the least times."""
        return min(self.rebind) / max(min(self.mxnet), 1e-3)


class _Pair:
    """The processes of both engines; one that a call has ended is started again."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._workers: dict[str, WorkerProcess] = {}

    def ask(self, engine: str, **request: Any) -> dict[str, Any]:
        worker = self._workers.get(engine)
        if worker is None or worker.ended:
            if worker is not None:
                worker.close()
            worker = self._workers[engine] = WorkerProcess("operator_worker", engine, self._options)
        return worker.ask(**request)

    def close(self) -> None:
        for worker in self._workers.values():
            worker.close()


def measure(pair: _Pair, size: str, sample: Sample, rounds: int, clock: str) -> list[Timed]:
    """Time one sample in the modes that both engines have."""
    described = as_json(sample)
    known = [pair.ask(engine, do="prepare", sample=described)["modes"] for engine in ENGINES]
    return [
        Timed(size, str(sample), mode, **_rounds(pair, mode, SECONDS[size], rounds, clock))
        for mode in MODES
        if all(mode in modes for modes in known)
    ]


def _rounds(pair: _Pair, mode: str, seconds: float, rounds: int, clock: str) -> dict[str, list[float]]:
    counts = {engine: _count(pair, engine, mode, seconds) for engine in ENGINES}
    found: dict[str, list[float]] = {engine: [] for engine in ENGINES}
    for index in range(rounds):
        for engine in ENGINES[:: -1 if index % 2 else 1]:
            answer = pair.ask(engine, do="run", mode=mode, calls=counts[engine])
            found[engine].append(round(1e6 * answer[clock] / counts[engine], 1))
    return found


def _count(pair: _Pair, engine: str, mode: str, seconds: float) -> int:
    """Warm up, and return how many calls make one round."""
    count = 1
    while True:
        taken = pair.ask(engine, do="run", mode=mode, calls=count)["processor"]
        if taken >= seconds / 4 or count >= 1024:
            return max(1, min(1024, round(seconds * count / max(taken, 1e-6))))
        count *= 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is the exit status."""
    given = _parser().parse_args(arguments)
    mxnet = find_mxnet(given.mxnet)
    if mxnet is None:
        sys.exit("name the Python of an environment with MXNet: --mxnet PYTHON, or REBIND_ORACLE")
    machine = describe_machine()
    console = Console()
    chosen = [
        (size, sample)
        for size in given.sizes
        for sample in samples(size)
        if not given.operators or sample.name in given.operators
    ]

    started = datetime.now(timezone.utc).isoformat(timespec="seconds")

    def write(timed: Sequence[Timed]) -> None:
        if given.json:
            about = {
                "started": started,
                "commit": commit(),
                "machine": machine,
                "threads": given.threads,
                "clock": given.clock,
            }
            given.json.write_text(as_text(about, timed))

    pair = _Pair(Options(given.threads, mxnet))
    try:
        with console.status("") as status:
            timed, failures = _measure_all(pair, chosen, given, status.update, write)
    finally:
        pair.close()
    wide(console).print(_table(timed, given.clock, given.least))
    for failure in failures:
        console.print(failure, highlight=False, markup=False, soft_wrap=True)
    slow = sum(each.ratio > 1.5 for each in timed)
    console.print(
        f"{machine['processor']}, {machine['cores']} cores, load {machine['load_average']}; {given.threads} threads; "
        f"{len(timed)} timed, {slow} above 1.5, {len(failures)} not timed",
        highlight=False,
        soft_wrap=True,
    )
    write(timed)
    return 0


def as_text(about: dict[str, Any], timed: Sequence[Timed]) -> str:
    """Return the content of a file of samples, with a line for each call."""
    calls = ",\n".join(json.dumps(vars(each)) for each in timed)
    return f'{json.dumps(about)[:-1]},\n"calls": [\n{calls}\n]}}\n'


def _measure_all(
    pair: _Pair,
    chosen: Sequence[tuple[str, Sample]],
    given: argparse.Namespace,
    progress: Callable[[str], None],
    write: Callable[[Sequence[Timed]], None],
) -> tuple[list[Timed], list[str]]:
    timed: list[Timed] = []
    failures: list[str] = []
    for number, (size, sample) in enumerate(chosen):
        progress(f"{size}: {sample}")
        if number % 100 == 99:
            write(timed)  # what there is, should the run be broken off
        try:
            timed += measure(pair, size, sample, given.rounds, given.clock)
        except EngineError as error:
            failures.append(f"{size}: {sample}: {str(error).splitlines()[0].rpartition('}: ')[2][:160]}")
    return timed, failures


def _table(timed: Sequence[Timed], clock: str, least: float) -> Table:
    table = Table(title=f"µs per call ({clock}), the slowest beside MXNet first", title_justify="left")
    for name in ("size", "call", "mode"):
        table.add_column(name)
    for name in ("rebind", "MXNet", "ratio"):
        table.add_column(name, justify="right")
    for each in sorted(timed, key=lambda each: -each.ratio):
        if each.ratio >= least:
            times = (f"{min(samples):,.1f}" for samples in (each.rebind, each.mxnet))
            table.add_row(each.size, each.call[:110], each.mode, *times, f"{each.ratio:.2f}")
    return table


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operators_mxnet", description=__doc__)
    parser.add_argument(
        "--operators", type=lambda text: text.split(","), metavar="A,B", help="some of them, by MXNet's name"
    )
    parser.add_argument(
        "--sizes", type=Names(SIZES), default=list(SIZES), metavar="A,B", help="small, large, or both (default)"
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="of each call (default: 5)")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads (default: 1)")
    parser.add_argument(
        "--clock", choices=CLOCKS, default="seconds", help="what the times are of (default: seconds)"
    )
    parser.add_argument(
        "--least", type=float, default=1.0, metavar="R", help="show ratios from here on (default: 1)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample to FILE")
    parser.add_argument(
        "--mxnet", metavar="PYTHON", help="the Python of MXNet's environment, or REBIND_ORACLE"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
