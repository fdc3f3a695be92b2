"""Tables by node and by iteration, as text."""

from __future__ import annotations

from collections.abc import Sequence

from .machine import Peak, measured_peak
from .nodes import IterationRecord, NodeRecord

__all__ = ["iteration_table", "node_table"]

_CACHE_NOTE = (
    "\nGB/s above 100% of peak: the data came from the processor's caches; the peak is that of main memory."
)


def node_table(records: Sequence[NodeRecord], rows: int | None = None, peak: Peak | None = None) -> str:
    """Return a table of nodes: their times, and how near forward is to what the machine can do.

    Parameters
    ----------
    records
        What is shown.
    rows
        How many of them; the others are summed up in one line. None: all.
    peak
        What the machine can do; by default it is measured.

    Examples
    --------
    >>> record = NodeRecord("fc1", "FullyConnected", (), ((8, 10),), 2, 0.5, 1.0, 1.0, 10**9, 10**9)
    >>> print(node_table([record], peak=Peak(8.0, 4.0)))
    Name Operator       Output Calls Forward ms Backward ms Share MMAdds   MB GFLOP/s of peak GB/s of peak
    fc1  FullyConnected 8x10       2    500.000    1000.000  100%   1000 1000     4.0     50%  2.0     50%
    """
    if not records:
        return "No operator ran."
    peak = peak or measured_peak()
    shown, rest = (records, []) if rows is None else (records[:rows], records[rows:])
    lines = [
        [
            "Name", "Operator", "Output", "Calls", "Forward ms", "Backward ms", "Share", "MMAdds", "MB", "GFLOP/s",
            "of peak", "GB/s", "of peak",
        ]
    ]  # fmt: skip
    lines += [_cells(each, peak) for each in shown]
    if rest:
        more = NodeRecord(
            f"({len(rest)} more)", "", calls=sum(each.calls for each in rest), multiply_adds=None
        )
        more.forward, more.backward = sum(e.forward for e in rest), sum(e.backward for e in rest)
        more.share = sum(each.share for each in rest)
        lines.append([*_cells(more, peak)[:7], *[""] * 6])
    note = _CACHE_NOTE if any(each.gbytes and each.gbytes > peak.gbytes for each in shown) else ""
    return _aligned(lines, left=3) + note


def iteration_table(records: Sequence[IterationRecord]) -> str:
    """Return a table of iterations: the mean, the shortest and the longest; '' without any.

    >>> print(iteration_table([IterationRecord(0, 0.5, 0.0, 0.25), IterationRecord(1, 1.5, 0.5, 0.25)]))
    Iterations: 2 All ms Data ms Forward ms Backward ms Update ms Other ms
    mean        1000.000 250.000    250.000       0.000     0.000  500.000
    shortest     500.000   0.000    250.000       0.000     0.000  250.000
    longest     1500.000 500.000    250.000       0.000     0.000  750.000
    """
    if not records:
        return ""
    names = ("seconds", "data", "forward", "backward", "update", "other")
    headings = [f"Iterations: {len(records)}", "All ms", *(f"{name.capitalize()} ms" for name in names[1:])]
    mean = [sum(getattr(each, name) for each in records) / len(records) for name in names]
    shortest = min(records, key=lambda each: each.seconds)
    longest = max(records, key=lambda each: each.seconds)
    rows = {"mean": mean}
    for name, each in (("shortest", shortest), ("longest", longest)):
        rows[name] = [getattr(each, column) for column in names]
    return _aligned(
        [headings, *([name, *(f"{1000 * each:.3f}" for each in row)] for name, row in rows.items())], left=1
    )


def _cells(each: NodeRecord, peak: Peak) -> list[str]:
    output = "" if not each.outputs or each.outputs[0] is None else "x".join(map(str, each.outputs[0])) or "1"
    cells = [each.name, each.operator, output, str(each.calls)]
    cells += [f"{1000 * each.forward:.3f}", f"{1000 * each.backward:.3f}", f"{each.share:.0%}"]
    cells += [
        "-" if each.multiply_adds is None else _number(each.multiply_adds / 1e6),
        _number(each.nbytes / 1e6) if each.nbytes else "-",
    ]
    for rate, best in ((each.gflops, peak.gflops), (each.gbytes, peak.gbytes)):
        cells += ["-", "-"] if rate is None else [_number(rate), f"{rate / best:.0%}"]
    return cells


def _number(value: float) -> str:
    return (
        f"{value:.0f}" if value >= 1000 else f"{value:.1f}" if value >= 0.1 or not value else f"{value:.2g}"
    )


def _aligned(lines: Sequence[Sequence[str]], left: int) -> str:
    """Return lines of cells with columns of one width, the first `left` of them aligned to the left."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        " ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
