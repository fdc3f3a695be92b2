"""The table of `benchmarks.gpu`, from the samples that it wrote."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .peers import PEERS
from .report import digits, text_of_commit, text_of_versions

__all__ = ["gpu_lines", "gpu_section"]


def gpu_section(files: Sequence[Path]) -> str:
    """Return the text between its marks."""
    contents = [json.loads(file.read_text()) for file in files]
    head = ["", "| | ms per step | samples per second | MiB of the GPU |", "| --- | --- | --- | --- |"]
    rows = [
        line for content in contents for row in content["rows"]
        for line in gpu_lines(row, content["machine"]["gpu"])
    ]  # fmt: skip
    return "\n".join([*head, *rows, "", *dict.fromkeys(map(_said, contents)), ""]) if contents else ""


def gpu_lines(row: Mapping[str, Any], gpu: str) -> list[str]:
    """Return the lines of a network: one with its name and the GPU, and one for each engine.

    >>> engine = {"samples_ms": [1.0, 2.0, 3.0], "steps_peak_device_bytes": 2**30}
    >>> gpu_lines({"title": "MLP", "batch_size": 4096, "engines": {"torch": engine}}, "NVIDIA H200")
    ['| **MLP**, NVIDIA H200 | | | |', '| PyTorch eager | 2.00 | 2,048,000 | 1,024 |']
    """
    lines = [f"| **{row['title']}**, {gpu} | | | |"]
    for name, engine in row["engines"].items():
        median = statistics.median(engine["samples_ms"])
        rate = f"{1000 * row['batch_size'] / median:,.0f}"
        memory = f"{engine['steps_peak_device_bytes'] / 2**20:,.0f}"
        lines.append(f"| {PEERS[name].title} | {digits(median)} | {rate} | {memory} |")
    return lines


def _said(content: Mapping[str, Any]) -> str:
    listed = text_of_versions(content["versions"])
    return (
        f"Measured: {content['started'][:10]}, {content['machine']['gpu']}{text_of_commit(content)}; {listed}; "
        f"{content['effort']['rounds']} rounds."
    )
