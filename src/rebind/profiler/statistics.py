"""MXNet's tables of a recording: for each category its rows with counts and times, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..errors import ParameterError, shown
from .recording import Recording

__all__ = ["MEMORY", "Statistic", "as_json", "as_table", "check_choice", "statistics"]

#: The category of the memory that devices have in use.
MEMORY = "Device Storage"
#: By what rows can be sorted.
_ORDERS = ("total", "avg", "min", "max", "count")


@dataclass
class Statistic:
    """What is known of all slices, or all values, of one name.

    >>> statistic = Statistic()
    >>> statistic.add(2.0), statistic.add(4.0)
    (None, None)
    >>> statistic.count, statistic.total, statistic.min, statistic.max, statistic.avg
    (2, 6.0, 2.0, 4.0, 3.0)
    """

    count: int = 0
    total: float = 0.0
    min: float = field(default=float("inf"))
    max: float = field(default=float("-inf"))
    sum: float = 0.0

    def add(self, value: float, calls: int = 1) -> None:
        """Count a value; with 0 `calls` it is a later piece of one that is counted."""
        self.count += calls
        self.sum += value
        self.total = self.sum
        self.min, self.max = min(self.min, value), max(self.max, value)

    def set(self, value: float) -> None:
        """Count a value of a counter: its total is the last one, as in MXNet.

        >>> statistic = Statistic()
        >>> statistic.set(3), statistic.set(2)
        (None, None)
        >>> statistic.total, statistic.avg
        (2, 2.5)
        """
        self.add(value)
        self.total = value

    @property
    def avg(self) -> float:
        """The mean."""
        return self.sum / max(1, self.count)


def statistics(recording: Recording) -> dict[str, dict[str, Statistic]]:
    """Return by category, in order, what is known of each name: milliseconds, values, and of memory kilobytes.

    What was recorded before the last `Recording.reset_tables` does not count.

    >>> from .recording import Slice, Value
    >>> recording = Recording()
    >>> recording.slices.append(Slice("operator", "fc1", 0.0, 0.002, "FullyConnected"))
    >>> recording.values.append(Value(MEMORY, "Memory: cpu/0", 0.0, 2048))
    >>> {category: list(rows) for category, rows in statistics(recording).items()}
    {'Device Storage': ['Memory: cpu/0'], 'operator': ['FullyConnected']}
    """
    found: dict[str, dict[str, Statistic]] = {}
    slices, values, instants = recording.uncounted
    for each in recording.slices[slices:]:
        if each.statistic:
            # MXNet's derivative of _mul_scalar is _backward_mul_scalar.
            name = each.statistic.replace("_backward__", "_backward_", 1)
            row = found.setdefault(each.category, {}).setdefault(name, Statistic())
            row.add(1000 * each.seconds, each.calls)
    for value in recording.values[values:]:
        row = found.setdefault(value.category, {}).setdefault(value.name, Statistic())
        row.set(value.value / 1024 if value.category == MEMORY else value.value)
    for instant in recording.instants[instants:]:  # they take no time: a heading without rows, as in MXNet
        found.setdefault(f"{instant.category},instant_marker", {})
    return dict(sorted(found.items()))


def _sorted(
    rows: dict[str, Statistic], sort_by: str, ascending: bool, is_memory: bool
) -> list[tuple[str, Statistic]]:
    key = "max" if is_memory and sort_by == "total" else sort_by  # a sum of bytes in use says nothing
    return sorted(rows.items(), key=lambda row: getattr(row[1], key), reverse=not ascending)


def check_choice(who: str, name: str, value: object, allowed: Sequence[object]) -> None:
    """Raise an error for a value that is not among those that are allowed.

    >>> check_choice("profiler.dumps", "format", "table", ("table", "json"))
    """
    if value not in allowed:
        listed = ", ".join(map(repr, allowed))
        raise ParameterError(f"{who}: {name} must be one of {listed}; got {shown(value)}")


def check_order(sort_by: object, ascending: object) -> None:
    """Raise an error for an order that there is not.

    >>> check_order("total", False)
    """
    check_choice("profiler.dumps", "sort_by", sort_by, _ORDERS)
    check_choice("profiler.dumps", "ascending", ascending, (False, True))


def as_table(recording: Recording, sort_by: str = "total", ascending: bool = False) -> str:
    """Return MXNet's table of a recording.

    >>> from .recording import Slice
    >>> recording = Recording()
    >>> recording.slices.append(Slice("operator", "fc1", 0.0, 0.002, "FullyConnected"))
    >>> print(as_table(recording).rstrip())
    <BLANKLINE>
    Profile Statistics:
        Note the difference in units for different entries.
    operator
    =================
    Name                          Total Count        Time (ms)    Min Time (ms)    Max Time (ms)    Avg Time (ms)
    ----                          -----------        ---------    -------------    -------------    -------------
    FullyConnected                          1           2.0000           2.0000           2.0000           2.0000
    """
    lines = ["", "Profile Statistics:", "\tNote the difference in units for different entries."]
    for category, rows in statistics(recording).items():
        is_memory = category == MEMORY
        times = ("Time (ms)", "Min Time (ms)", "Max Time (ms)", "Avg Time (ms)")
        memory = ("Min Use  (kB)", "Max Use  (kB)", "Avg Use  (kB)")
        headings = ("Name", "Total Count", *(memory if is_memory else times))
        lines += [
            category,
            "=================",
            _line(headings),
            _line(["-" * len(each) for each in headings]),
        ]
        for name, row in _sorted(rows, sort_by, ascending, is_memory):
            numbers = (row.min, row.max, row.avg) if is_memory else (row.total, row.min, row.max, row.avg)
            lines.append(_line((name, str(row.count), *(f"{number:.4f}" for number in numbers))))
        lines.append("")
    return "\n".join([*lines, ""])


def _line(cells: Sequence[str]) -> str:
    name, count, *numbers = cells
    return f"{name:<25}{count:>16}" + "".join(f" {number:>16}" for number in numbers)


def as_json(recording: Recording, sort_by: str = "total", ascending: bool = False) -> str:
    """Return MXNet's JSON of a recording.

    >>> from .recording import Slice
    >>> recording = Recording()
    >>> recording.slices.append(Slice("operator", "fc1", 0.0, 0.002, "FullyConnected"))
    >>> json.loads(as_json(recording))["Time"]["operator"]["FullyConnected"]
    {'Count': 1, 'Total': 2.0, 'Min': 2.0, 'Max': 2.0, 'Avg': 2.0}
    """
    found: dict[str, dict[str, object]] = {"Time": {}, "Memory": {}}
    for category, rows in statistics(recording).items():
        is_memory = category == MEMORY
        names = ("Min", "Max", "Avg") if is_memory else ("Total", "Min", "Max", "Avg")
        found["Memory" if is_memory else "Time"][category] = {
            name: {
                "Count": row.count,
                **{each: float(f"{getattr(row, each.lower()):.4g}") for each in names},
            }
            for name, row in _sorted(rows, sort_by, ascending, is_memory)
        }
    return json.dumps({**found, "Unit": {"Time": "ms", "Memory": "kB"}}, indent=4)
