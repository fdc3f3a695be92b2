"""How time is measured: rounds of all engines in turn, so that whatever else the machine does hits all.

One round times a run of steps of every engine; the next round goes through them in the opposite order. The
ratio of two engines is taken within each round, and the median over the rounds is what the table shows.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from .busy import Load
from .engines import Engine, EngineError, Options, Preparation, WorkerEngine
from .networks import Row
from .peers import PEERS

# Threads that finished their part of a parallel loop wait busily for the next one for a short while. This
# pause lets those of one engine go to sleep before the next engine is timed.
SETTLE_SECONDS = 0.02


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    rounds: int = 15
    round_seconds: float = 0.4
    warm_up_seconds: float = 0.5


QUICK = Effort(rounds=5, round_seconds=0.1, warm_up_seconds=0.1)


@dataclass
class Column:
    """What one engine did on one row: time per step in milliseconds, one sample a round."""

    preparation: Preparation
    steps_per_round: int
    samples: list[float] = field(default_factory=list)
    busy: dict[str, list[float]] = field(default_factory=dict)  # samples beside each load, by its name
    steps_peak_bytes: int = 0
    steps_peak_device_bytes: int = 0  # of a GPU

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def best(self) -> float:
        return min(self.samples)

    def slowdown(self, load: str) -> float:
        """How many times longer a step takes beside `load`."""
        return statistics.median(self.busy[load]) / self.median


@dataclass(frozen=True)
class Ratio:
    """Time of one engine over that of another, round by round: below 1, the first is faster."""

    median: float
    lower: float
    upper: float

    @classmethod
    def of(cls, first: Column, second: Column) -> Ratio:
        """Median and quartiles of the ratios within each round."""
        pairs = [a / b for a, b in zip(first.samples, second.samples, strict=True)]
        lower, median, upper = statistics.quantiles(pairs, n=4, method="inclusive")
        return cls(median, lower, upper)


@dataclass
class Measured:
    """One row: what each engine did, and why some did nothing."""

    columns: dict[str, Column] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


def measure(
    row: Row,
    engines: Sequence[str],
    options: Options,
    effort: Effort,
    loads: Sequence[Load] = (),
    progress: Callable[[str], None] = lambda text: None,
    at_once: int = 1,
) -> Measured:
    """Time `row` on `engines`; those that do not apply to the row are absent from the answer.

    `at_once` of them are prepared side by side, which for more than one is part of what preparing took.
    """
    measured, made = Measured(), dict[str, Engine]()

    def prepare(name: str) -> None:
        progress(f"{row.name}: prepare {name}")
        try:
            made[name] = WorkerEngine(name, row, options)
        except EngineError as error:
            measured.failures[name] = str(error)

    chosen = [name for name in engines if PEERS[name].applies(row)]
    try:
        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(prepare, chosen))
        made = {name: made[name] for name in chosen if name in made}
        measured.columns = compare(made, effort, lambda text: progress(f"{row.name}: {text}"), loads)
        return measured
    finally:
        for engine in made.values():
            engine.close()


def compare(
    made: Mapping[str, Engine],
    effort: Effort,
    progress: Callable[[str], None] = lambda text: None,
    loads: Sequence[Load] = (),
) -> dict[str, Column]:
    """Time engines in turn, each with its work prepared: on the quiet machine, then beside each load."""
    columns = {}
    for name, engine in made.items():
        progress(f"warm up {name}")
        columns[name] = Column(engine.preparation, _warm_up(engine, effort))
    for name, samples in _rounds(made, columns, effort, progress).items():
        columns[name].samples = samples
        columns[name].steps_peak_bytes, columns[name].steps_peak_device_bytes = made[name].peak_bytes()
    for load in loads:
        progress(f"start {load.name}")
        with load:
            beside = _rounds(made, columns, effort, progress)
        for name, samples in beside.items():
            columns[name].busy[load.name] = samples
    return columns


def _rounds(
    made: Mapping[str, Engine],
    columns: Mapping[str, Column],
    effort: Effort,
    progress: Callable[[str], None],
) -> dict[str, list[float]]:
    """Milliseconds per step of each engine, one sample a round."""
    samples: dict[str, list[float]] = {name: [] for name in made}
    order = list(made)
    for index in range(effort.rounds):
        progress(f"round {index + 1} of {effort.rounds}")
        gc.collect()
        for name in order:
            samples[name].append(_one_round(made[name], columns[name].steps_per_round))
        order.reverse()
    return samples


def _warm_up(engine: Engine, effort: Effort) -> int:
    """Run for a while, and answer how many steps make one round."""
    engine.timed(1)  # memory is taken and kernels are chosen
    steps, spent = 1, 0.0
    while True:
        seconds = engine.timed(steps)
        spent += seconds
        if spent >= effort.warm_up_seconds:
            return max(1, round(effort.round_seconds * steps / seconds))
        steps *= 2


def _one_round(engine: Engine, steps: int) -> float:
    """Milliseconds per step."""
    time.sleep(SETTLE_SECONDS)
    if steps > 1:
        engine.timed(1)  # caches hold another engine's data
    return 1000 * engine.timed(steps) / steps
