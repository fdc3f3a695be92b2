"""What is shown and what is written: the table, and every sample as JSON with the machine it was taken on."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from rich.table import Table

from .engines import TITLES
from .networks import ROWS
from .runner import Column, Effort, Ratio

SCHEMA = 1  # of the JSON file; count up when a field changes its meaning


def describe_machine() -> dict[str, Any]:
    """Processor, cores that this process may use, memory, system, and how busy the machine is."""
    return {
        "processor": _processor_name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": _memory_gib(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_average": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
    }


def _processor_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return None


class Report:
    """Collects the rows of one run."""

    def __init__(self, engines: Sequence[str], threads: int, effort: Effort) -> None:
        self.engines = list(engines)
        self.threads = threads
        self.effort = effort
        self.started = datetime.now(timezone.utc)
        self.machine = describe_machine()
        self.rows: dict[str, dict[str, Column]] = {}

    @property
    def versions(self) -> dict[str, str]:
        """Version of every engine that ran."""
        return {name: column.version for columns in self.rows.values() for name, column in columns.items()}

    def ratios(self, row: str) -> dict[str, Ratio]:
        """The first engine over each of the others, by the other's name."""
        columns = self.rows[row]
        first = self.engines[0]
        return {name: Ratio.of(columns[first], columns[name]) for name in self.engines[1:] if name in columns}

    # ------------------------------------------------------------------ on the screen

    def table(self) -> Table:
        first = self.engines[0]
        table = Table(title="ms per step: median (best)", title_justify="left")
        table.add_column("row")
        for name in self.engines:
            table.add_column(TITLES[name], justify="right")
        for name in self.engines[1:]:
            table.add_column(f"{TITLES[first]} / {TITLES[name]}", justify="right")
        for row, columns in self.rows.items():
            ratios = self.ratios(row)
            cells = [_time_cell(columns.get(name)) for name in self.engines]
            cells += [_ratio_cell(ratios.get(name)) for name in self.engines[1:]]
            table.add_row(ROWS[row].title, *cells)
        return table

    def caption(self) -> str:
        """The machine, the versions, and how to read the ratios."""
        machine = self.machine
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        load = f", load {machine['load_average'][0]:.1f} at the start" if machine["load_average"] else ""
        return (
            f"{machine['processor']}, {machine['cores']} cores{load}; Python {machine['python']}; "
            f"{versions}; {self.threads} threads; {self.effort.rounds} rounds.\n"
            "Ratio: median of the rounds' ratios (their quartiles); below 1, the first is faster."
        )

    # ------------------------------------------------------------------ in a file

    def write_json(self, file: Path) -> None:
        """Write machine, versions, every sample and the ratios."""
        content = {
            "schema": SCHEMA,
            "started": self.started.isoformat(timespec="seconds"),
            "machine": {**self.machine, "load_average_at_end": describe_machine()["load_average"]},
            "versions": self.versions,
            "threads": self.threads,
            "effort": asdict(self.effort),
            "rows": [self._row_content(row) for row in self.rows],
        }
        file.write_text(json.dumps(content, indent=1) + "\n")

    def _row_content(self, row: str) -> dict[str, Any]:
        columns = self.rows[row]
        return {
            "name": row,
            "title": ROWS[row].title,
            "batch_size": ROWS[row].batch_size,
            "training": ROWS[row].training,
            "engines": {
                name: {
                    "median_ms": column.median,
                    "best_ms": column.best,
                    "steps_per_round": column.steps_per_round,
                    "prepare_seconds": column.prepare_seconds,
                    "samples_ms": column.samples,
                }
                for name, column in columns.items()
            },
            "ratios": {
                f"{self.engines[0]}/{name}": asdict(ratio) for name, ratio in self.ratios(row).items()
            },
        }


def _time_cell(column: Column | None) -> str:
    return "–" if column is None else f"{_digits(column.median)} ({_digits(column.best)})"


def _ratio_cell(ratio: Ratio | None) -> str:
    return "–" if ratio is None else f"{ratio.median:.2f} ({ratio.lower:.2f}–{ratio.upper:.2f})"


def _digits(milliseconds: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{milliseconds:.{0 if milliseconds >= 100 else 1 if milliseconds >= 10 else 2}f}"
