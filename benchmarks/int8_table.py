"""The table of `benchmarks.int8`, from the samples that it wrote."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .report import digits, text_of_run

__all__ = ["int8_lines", "int8_section"]

_COLUMNS = {
    "rebind, float32": ("rebind", "float32"),
    "rebind, int8": ("rebind", "int8"),
    "MXNet, float32": ("mxnet", "float32"),
    "MXNet, int8": ("mxnet", "int8"),
}


def int8_section(files: Sequence[Path]) -> str:
    """Return the text between its marks."""
    return "\n".join([*(line for file in files for line in int8_lines(json.loads(file.read_text()))), ""])


def int8_lines(content: Mapping[str, Any]) -> list[str]:
    """Return the table of a run: what a batch takes in both types, and how many digits are read right."""
    titles = [*_COLUMNS, "int8 / float32", "read right, float32", "int8"]
    listed = ", ".join(f"{name} {version}" for name, version in content["versions"].items())
    return [
        "",
        f"| ms a batch | {' | '.join(titles)} |",
        f"|{' --- |' * (len(titles) + 1)}",
        *map(_line, content["rows"]),
        "",
        f"Measured: {text_of_run(content)}; {listed}.",
    ]


def _line(row: Mapping[str, Any]) -> str:
    samples = row["samples_ms"]
    times = [digits(statistics.median(samples[engine][kind])) for engine, kind in _COLUMNS.values()]
    pairs = zip(samples["rebind"]["int8"], samples["rebind"]["float32"], strict=True)
    ratio = statistics.median(one / two for one, two in pairs)
    right = row.get("right")
    shares = [f"{right[kind]:.4f}" if right else "–" for kind in ("float32", "int8")]
    return f"| {' | '.join([row['name'], *times, f'{ratio:.2f}', *shares])} |"
