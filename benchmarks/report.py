"""What is shown and what is written: the table, and every sample as JSON with the machine it was taken on."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from rich.table import Table

from .networks import row_named
from .peers import PEERS
from .runner import Column, Effort, Measured, Ratio

SCHEMA = 3  # of the JSON file; count up when a field changes its meaning


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


def text_of_machine(machine: Mapping[str, Any]) -> str:
    """Return what `describe_machine` found as text: the processor, how many cores, and how busy they were.

    >>> text_of_machine({"processor": "AMD EPYC", "cores": 2, "load_average": [0.51, 0.4, 0.3]})
    'AMD EPYC, 2 cores, load 0.5 at the start'
    """
    load = machine["load_average"]
    return f"{machine['processor']}, {machine['cores']} cores{f', load {load[0]:.1f} at the start' if load else ''}"


def commit() -> str | None:
    """The commit of this checkout, abbreviated; None where there is no git."""
    try:
        said = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=Path(__file__).parent, capture_output=True
        )
    except OSError:
        return None
    return said.stdout.decode().strip() or None


def text_of_run(content: Mapping[str, Any], load: bool = True) -> str:
    """Return when and where a file's samples were taken, and of which commit.

    >>> machine = {"processor": "AMD EPYC", "cores": 2, "load_average": [0.51, 0.4, 0.3]}
    >>> text_of_run({"started": "2026-11-27T01:41:11+00:00", "commit": "bbfd120", "machine": machine})
    '2026-11-27, AMD EPYC, 2 cores, load 0.5 at the start; rebind at bbfd120'
    """
    machine = content["machine"] if load else {**content["machine"], "load_average": None}
    return f"{content['started'][:10]}, {text_of_machine(machine)}{text_of_commit(content)}"


def text_of_commit(content: Mapping[str, Any]) -> str:
    """Return at which commit a file's samples were taken, if that is known.

    >>> text_of_commit({"commit": "bbfd120"}), text_of_commit({"commit": None})
    ('; rebind at bbfd120', '')
    """
    return f"; rebind at {content['commit']}" if content.get("commit") else ""


def text_of_versions(versions: Mapping[str, Mapping[str, str]]) -> str:
    """Return the packages of all engines as text.

    >>> text_of_versions({"torch": {"torch": "2.13.0"}, "jax": {"jax": "0.11.2", "jaxlib": "0.11.2"}})
    'torch 2.13.0, jax 0.11.2, jaxlib 0.11.2'
    """
    packages = {name: version for each in versions.values() for name, version in each.items()}
    return ", ".join(f"{name} {version}" for name, version in packages.items())


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
    """Collects the rows of one run, in which all engines are tuned (`rebind.tune`), or none."""

    def __init__(
        self,
        engines: Sequence[str],
        threads: int | None,
        effort: Effort,
        loads: Sequence[str] = (),
        tuned: bool = False,
    ) -> None:
        self.engines = list(engines)
        self.tuned = tuned
        self.threads = threads
        self.effort = effort
        self.loads = list(loads)
        self.started = datetime.now(timezone.utc)
        self.machine = describe_machine()
        self.rows: dict[str, Measured] = {}

    @property
    def versions(self) -> dict[str, dict[str, str]]:
        """Versions of the packages of every engine that ran."""
        return {
            name: column.preparation.versions
            for row in self.rows.values()
            for name, column in row.columns.items()
        }

    def ratios(self, row: str) -> dict[str, Ratio]:
        """The first engine over each of the others, by the other's name."""
        columns = self.rows[row].columns
        first = columns.get(self.engines[0])
        if first is None:
            return {}
        return {name: Ratio.of(first, columns[name]) for name in self.engines[1:] if name in columns}

    @property
    def setting(self) -> str:
        """Whether the processes are tuned, in a word."""
        return "tuned" if self.tuned else "plain"

    # ------------------------------------------------------------------ on the screen

    def tables(self) -> Iterator[Table]:
        """A table of times for each row, and one of what preparation and memory took."""
        for row, measured in self.rows.items():
            if measured.columns:
                yield self._times(row)
        yield self._costs()

    def _times(self, row: str) -> Table:
        columns, ratios = self.rows[row].columns, self.ratios(row)
        medians = [column.median for name, column in columns.items() if not PEERS[name].is_limit]
        fastest = min(medians, default=None)
        table = Table(title=f"{row_named(row).title}; {self.setting}", title_justify="left")
        table.add_column("engine")
        table.add_column("ms per step (best)", justify="right")
        table.add_column(f"{PEERS[self.engines[0]].title} / it (quartiles)", justify="right")
        for load in self.loads:
            table.add_column(f"slower beside {load}", justify="right")
        for name, column in columns.items():
            title = PEERS[name].title + (" *" if column.median == fastest else "")
            slower = [f"{column.slowdown(load):.2f}" for load in self.loads]
            table.add_row(title, _time_cell(column), _ratio_cell(ratios.get(name)), *slower)
        return table

    def _costs(self) -> Table:
        table = Table(
            title=f"Until the first step is done, and memory at its peak; {self.setting}",
            title_justify="left",
        )
        for heading in ("row", "engine"):
            table.add_column(heading)
        for heading in ("import s", "prepare s", "MiB until then", "MiB in the steps"):
            table.add_column(heading, justify="right")
        for row, measured in self.rows.items():
            table.add_section()
            for name, column in measured.columns.items():
                took = column.preparation
                seconds = (f"{took.import_seconds:.2f}", f"{took.prepare_seconds:.2f}")
                memory = (f"{bytes_ / 2**20:.0f}" for bytes_ in (took.peak_bytes, column.steps_peak_bytes))
                table.add_row(row, PEERS[name].title, *seconds, *memory)
        return table

    def caption(self) -> str:
        """The machine, the versions, and how to read the ratios."""
        machine = self.machine
        versions = text_of_versions(self.versions)
        threads = f"threads: {self.threads or 'as many as each engine takes by itself'}"
        failures = "".join(
            f"\n{row}: {PEERS[name].title} failed: {reason}"
            for row, measured in self.rows.items()
            for name, reason in measured.failures.items()
        )
        return (
            f"{text_of_machine(machine)}; Python {machine['python']}; "
            f"{versions}; {threads}; {self.effort.rounds} rounds.\n"
            "Ratio: median of the rounds' ratios (their quartiles); below 1, the first is faster. "
            f"* is the fastest of its row.{failures}"
        )

    # ------------------------------------------------------------------ in a file

    def row_content(self, row: str) -> dict[str, Any]:
        """What a file has of a row: every sample and the ratios."""
        return {
            "name": row,
            "setting": self.setting,
            "title": row_named(row).title,
            "batch_size": row_named(row).batch_size,
            "training": row_named(row).training,
            "engines": {name: _column_content(column) for name, column in self.rows[row].columns.items()},
            "failures": self.rows[row].failures,
            "ratios": {
                f"{self.engines[0]}/{name}": asdict(ratio) for name, ratio in self.ratios(row).items()
            },
        }


def write_json(file: Path, *reports: Report) -> None:
    """Write machine, versions, every sample and the ratios of one run, which may have a report for each setting."""
    first = reports[0]
    content = {
        "schema": SCHEMA,
        "started": first.started.isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": {**first.machine, "load_average_at_end": describe_machine()["load_average"]},
        "versions": first.versions,
        "threads": first.threads,
        "effort": asdict(first.effort),
        "rows": [report.row_content(row) for report in reports for row in report.rows],
    }
    file.write_text(json.dumps(content, indent=1) + "\n")


def _column_content(column: Column) -> dict[str, Any]:
    took = column.preparation
    return {
        "median_ms": column.median,
        "best_ms": column.best,
        "steps_per_round": column.steps_per_round,
        "import_seconds": took.import_seconds,
        "prepare_seconds": took.prepare_seconds,
        "prepare_peak_bytes": took.peak_bytes,
        "steps_peak_bytes": column.steps_peak_bytes,
        "steps_peak_device_bytes": column.steps_peak_device_bytes,
        "samples_ms": column.samples,
        "busy": {
            load: {"slowdown": column.slowdown(load), "samples_ms": samples}
            for load, samples in column.busy.items()
        },
    }


def _time_cell(column: Column) -> str:
    return f"{digits(column.median)} ({digits(column.best)})"


def _ratio_cell(ratio: Ratio | None) -> str:
    return "–" if ratio is None else f"{ratio.median:.2f} ({ratio.lower:.2f}–{ratio.upper:.2f})"


def digits(milliseconds: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{milliseconds:.{0 if milliseconds >= 100 else 1 if milliseconds >= 10 else 2}f}"
