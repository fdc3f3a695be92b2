"""The tables of `benchmarks.sparse`, from the samples that it wrote."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .report import digits, text_of_run

__all__ = ["sparse_lines", "sparse_section"]

_ENGINES = {"rebind": "rebind", "mxnet": "MXNet", "torch": "PyTorch", "scipy": "SciPy"}
_ABSENT = "–"


def sparse_section(files: Sequence[Path]) -> str:
    """Return the text between its marks."""
    return "\n".join([*(line for file in files for line in sparse_lines(json.loads(file.read_text()))), ""])


def sparse_lines(content: Mapping[str, Any]) -> list[str]:
    """Return the table of a run: milliseconds of each engine, and the ratio to the quickest other one."""
    titles = [
        "ms",
        "threads",
        *_ENGINES.values(),
        "rebind / quickest other",
        "peak of rebind, MB",
        "of MXNet",
    ]
    return [
        "",
        f"| {' | '.join(titles)} |",
        f"|{' --- |' * len(titles)}",
        *map(_line, content["rows"]),
        "",
        f"Measured: {text_of_run(content)}.",
    ]


def _line(row: Mapping[str, Any]) -> str:
    times = {engine: statistics.median(samples) for engine, samples in row["samples_ms"].items()}
    others = [time for engine, time in times.items() if engine != "rebind"]
    ratio = f"{times['rebind'] / min(others):.2f}" if others else _ABSENT
    peaks = row.get("peak_bytes", {})
    memory = [f"{peaks[engine] / 1e6:.0f}" if engine in peaks else _ABSENT for engine in ("rebind", "mxnet")]
    shown = [digits(times[engine]) if engine in times else _ABSENT for engine in _ENGINES]
    threads = "default" if row["threads"] is None else str(row["threads"])
    return f"| {' | '.join([row['name'], threads, *shown, ratio, *memory])} |"
