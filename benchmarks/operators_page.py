"""The command `python -m benchmarks.operators_page`: what docs/performance.md says of operators beside MXNet's.

It is made from files that `python -m benchmarks.operators_mxnet --json FILE` writes; `benchmarks/results/operators` has
those that the page shows. Where several have a call with as many threads, the last one's counts. A large call that
takes more than `SLOW` times as long as MXNet's needs a reason in `operator_reasons`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .operator_reasons import NAMED, REASONS
from .operators_mxnet import Timed
from .page import PAGE, ROOT, with_section
from .report import text_of_machine

__all__ = ["MARK", "RESULTS", "Call", "main", "read", "section"]

RESULTS = ROOT / "benchmarks" / "results" / "operators"
MARK = "<!-- made by python -m benchmarks.operators_page: begin -->"
SLOW = 1.5
BOUNDS = (1.0, SLOW, 2.0)


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
    """Return the calls of some files, and a sentence for each file that says where it was measured."""
    found: dict[tuple[str, str, str], dict[int, Timed]] = {}
    said = []
    for file in files:
        content = json.loads(file.read_text())
        for each in content["calls"]:
            timed = Timed(**each)
            found.setdefault((timed.size, timed.call, timed.mode), {})[content["threads"]] = timed
        calls = content["calls"]
        said.append(
            f"{len(calls)} calls ({', '.join(sorted({each['size'] for each in calls}))}): {content['started'][:10]}, "
            f"{text_of_machine(content['machine'])}; "
            f"{content['threads']} thread{'s' * (content['threads'] > 1)}, by the "
            f"{'clock' if content['clock'] == 'seconds' else 'time of the processor'}; "
            f"least of {len(calls[0]['rebind'])} rounds."
        )
    return [Call(*key, by_threads) for key, by_threads in found.items()], said


def section(calls: Sequence[Call], said: Sequence[str]) -> str:
    """Return the text between the mark and the end."""
    lines = [
        "",
        *_summary(calls),
        "",
        "Operators on regions, for detection, and with an index or a label for each row:",
        "",
        *_table([call for call in calls if call.size == "large" and call.operator in NAMED]),
        "",
        f"Large calls that take more than {SLOW} times as long as MXNet's, and why:",
        "",
        *_table(slow(calls), reasons=True),
        "",
        *_small(calls),
        "",
        *(f"Measured: {each}" for each in said),
        "",
    ]
    return "\n".join(lines)


def slow(calls: Sequence[Call]) -> list[Call]:
    """Return the large calls that are slower than they should be, the slowest first."""
    found = [call for call in calls if call.size == "large" and call.worst > SLOW]
    return sorted(found, key=lambda call: -call.worst)


def _summary(calls: Sequence[Call]) -> Iterator[str]:
    bounds = " | ".join(f"up to {bound:g}" for bound in BOUNDS)
    yield f"| calls | threads | timed | median ratio | {bounds} | more |"
    yield f"| --- | --- |{' --- |' * (len(BOUNDS) + 3)}"
    for size, threads in sorted({(call.size, threads) for call in calls for threads in call.by_threads}):
        ratios = [
            call.by_threads[threads].ratio
            for call in calls
            if call.size == size and threads in call.by_threads
        ]
        counts = " | ".join(str(sum(ratio <= bound for ratio in ratios)) for bound in BOUNDS)
        more = sum(ratio > BOUNDS[-1] for ratio in ratios)
        yield f"| {size} | {threads} | {len(ratios)} | {statistics.median(ratios):.2f} | {counts} | {more} |"


def _table(calls: Sequence[Call], reasons: bool = False) -> Iterator[str]:
    threads = sorted({threads for call in calls for threads in call.by_threads})
    titles = [f"µs, {n} thread{'s' * (n > 1)} | MXNet | ratio" for n in threads]
    yield f"| call | {' | '.join(titles)} |{' why |' * reasons}"
    yield f"| --- |{' --- |' * (3 * len(threads) + reasons)}"
    for call in calls:
        cells = [_cells(call.by_threads.get(n)) for n in threads]
        why = f" {_reason(call)} |" if reasons else ""
        yield f"| {_title(call)} | {' | '.join(cells)} |{why}"


def _title(call: Call) -> str:
    return f"`{call.call.removesuffix('-')}`{', with gradient' if call.mode == 'backward' else ''}"


def _cells(timed: Timed | None) -> str:
    if timed is None:
        return "– | – | –"
    return f"{min(timed.rebind):,.0f} | {min(timed.mxnet):,.0f} | {timed.ratio:.2f}"


def _reason(call: Call) -> str:
    reason = REASONS.get(call.operator)
    if reason is None:
        raise ValueError(
            f"{call.call}: a call that takes {call.worst:.2f} times as long as MXNet's must have a reason in "
            "operator_reasons.py; got none. Make it faster, or say why it is slow."
        )
    return reason


def _small(calls: Sequence[Call]) -> Iterator[str]:
    """Name the operators that are slow on small arrays, with their worst ratio."""
    worst: dict[str, float] = {}
    for call in calls:
        if call.size == "small" and call.worst > SLOW:
            worst[call.operator] = max(worst.get(call.operator, 0.0), call.worst)
    named = ", ".join(f"`{name}` {worst[name]:.1f}" for name in sorted(worst, key=lambda name: -worst[name]))
    yield (
        "On the small arrays of the tests a call takes the time of what stands around the arithmetic: a few µs for "
        "each function of PyTorch that it is made of, where MXNet has one kernel. "
        + (
            f"More than {SLOW} times MXNet's time (the worst of an operator's calls): {named}."
            if named
            else f"None takes more than {SLOW} times MXNet's."
        )
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operators_page", description=__doc__)
    parser.add_argument(
        "files", nargs="*", type=Path, help="files of samples (of benchmarks/results/operators)"
    )
    given = parser.parse_args(arguments)
    text = section(*read(given.files or sorted(RESULTS.glob("*.json"))))
    PAGE.write_text(with_section(PAGE.read_text(), text, MARK))
    print(f"{PAGE.relative_to(ROOT)} is written.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
