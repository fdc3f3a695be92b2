"""What `python -m benchmarks.operators_mxnet` has measured: a summary of it, and the rows of its data file.

Where several files have a call with as many threads, the last one's counts. A large call that takes more than `SLOW`
times as long as MXNet's needs a reason in `operator_reasons`.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .operator_reasons import REASONS
from .operators_mxnet import Timed
from .report import text_of_run

__all__ = ["Call", "operators_data", "operators_summary", "read", "slow"]

SLOW = 1.5
BOUNDS = (1.0, SLOW, 2.0)
#: How many of the slow calls, and of the operators that are slow on small arrays, the page names.
_NAMED, _NAMED_SMALL = 8, 12


@dataclass(frozen=True)
class Call:
    """One call in one mode, as measured with each number of threads."""

    size: str
    call: str
    mode: str
    by_threads: Mapping[int, Timed]

    @property
    def operator(self) -> str:
        """MXNet's name of it."""
        return self.call.partition("-")[0]

    @property
    def worst(self) -> float:
        """The greatest ratio."""
        return max(timed.ratio for timed in self.by_threads.values())


def read(files: Sequence[Path]) -> tuple[list[Call], list[str]]:
    """Return the calls of some files, and a sentence for each way and day in which they were measured."""
    found: dict[tuple[str, str, str], dict[int, Timed]] = {}
    commits: dict[str, dict[str, None]] = {}  # by how and where
    for file in files:
        content = json.loads(file.read_text())
        for each in content["calls"]:
            timed = Timed(**each)
            found.setdefault((timed.size, timed.call, timed.mode), {})[content["threads"]] = timed
        how = (
            f"{text_of_run({**content, 'commit': None}, load=False)}; {content['threads']} thread"
            f"{'s' * (content['threads'] > 1)}, by the "
            f"{'clock' if content['clock'] == 'seconds' else 'time of the processor'}, least of the rounds"
        )
        commits.setdefault(how, {})[content.get("commit") or "?"] = None
    said = [f"{how}; rebind at {', '.join(names)}." for how, names in commits.items()]
    return [Call(*key, by_threads) for key, by_threads in found.items()], said


def operators_data(files: Sequence[Path]) -> Iterator[Sequence[object]]:
    """Yield the lines of the data file: each call in each mode with each number of threads, and why it is slow."""
    yield "size", "call", "mode", "threads", "rebind_us", "mxnet_us", "ratio", "why"
    for call in read(files)[0]:
        why = _reason(call) if call.size == "large" and call.worst > SLOW else None
        for threads, timed in sorted(call.by_threads.items()):
            times = min(timed.rebind), min(timed.mxnet)
            yield (
                call.size,
                call.call.removesuffix("-"),
                call.mode,
                threads,
                *times,
                f"{timed.ratio:.2f}",
                why,
            )


def operators_summary(files: Sequence[Path]) -> str:
    """Return what the page says of the calls."""
    calls, said = read(files)
    lines = [
        *_summary(calls),
        "",
        *_slowest(calls),
        *_small(calls),
        "",
        *(f"Measured: {each}" for each in said),
    ]
    return "\n".join(["", *lines, ""])


def slow(calls: Sequence[Call]) -> list[Call]:
    """Return the large calls that are slower than they should be, the slowest first."""
    found = [call for call in calls if call.size == "large" and call.worst > SLOW]
    return sorted(found, key=lambda call: -call.worst)


def _summary(calls: Sequence[Call]) -> Iterator[str]:
    bounds = " | ".join(f"up to {bound:g}" for bound in BOUNDS)
    yield f"| calls | threads | timed | first quartile of ratios | median | third quartile | {bounds} | more |"
    yield f"| --- | --- |{' --- |' * (len(BOUNDS) + 5)}"
    for size, threads in sorted({(call.size, threads) for call in calls for threads in call.by_threads}):
        ratios = [
            call.by_threads[threads].ratio
            for call in calls
            if call.size == size and threads in call.by_threads
        ]
        quartiles = statistics.quantiles(ratios, method="inclusive") if len(ratios) > 1 else ratios * 3
        shown = " | ".join(f"{each:.2f}" for each in quartiles)
        counts = " | ".join(str(sum(ratio <= bound for ratio in ratios)) for bound in BOUNDS)
        more = sum(ratio > BOUNDS[-1] for ratio in ratios)
        yield f"| {size} | {threads} | {len(ratios)} | {shown} | {counts} | {more} |"


def _slowest(calls: Sequence[Call]) -> Iterator[str]:
    """Name the slowest large call of each reason."""
    found: dict[str, Call] = {}
    for call in slow(calls):
        found.setdefault(_reason(call), call)
    if found:
        named = "; ".join(
            f"`{call.operator}` {call.worst:.1f} ({why})" for why, call in [*found.items()][:_NAMED]
        )
        yield f"The slowest on large arrays, one of each reason, as multiples of MXNet's time: {named}."


def _reason(call: Call) -> str:
    reason = REASONS.get(call.operator)
    if reason is None:
        raise ValueError(
            f"{call.call}: a call that takes {call.worst:.2f} times as long as MXNet's must have a reason in "
            "operator_reasons.py; got none. Make it faster, or say why it is slow."
        )
    return reason


def _small(calls: Sequence[Call]) -> Iterator[str]:
    """Name the operators that are slowest on small arrays, with their worst ratio."""
    worst: dict[str, float] = {}
    for call in calls:
        if call.size == "small" and call.worst > SLOW:
            worst[call.operator] = max(worst.get(call.operator, 0.0), call.worst)
    named = sorted(worst, key=lambda name: -worst[name])[:_NAMED_SMALL]
    yield (
        "On the small arrays of the tests a call takes some µs for each function of PyTorch that it is made of, where "
        "MXNet has one kernel. "
        + (
            f"{len(worst)} operators have a call that takes more than {SLOW} times MXNet's time; the slowest (the "
            f"worst of an operator's calls): {', '.join(f'`{name}` {worst[name]:.1f}' for name in named)}."
            if named
            else f"None takes more than {SLOW} times MXNet's."
        )
    )
