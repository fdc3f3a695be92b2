"""What `python -m benchmarks.operators --sizes small` has measured: a summary of it, and the rows of its data file."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .report import text_of_run

__all__ = ["MOST", "calls_data", "calls_summary", "medians"]

#: µs that a call should take at most over PyTorch's own.
MOST = 3.0
#: How many of the calls beyond that are named.
_NAMED = 5


def medians(samples: Mapping[str, Sequence[float]]) -> tuple[float, float, float]:
    """Return µs of a call in rebind and in PyTorch, and those that rebind takes more: medians, the last of differences.

    >>> medians({"rebind": [3.0, 5.0, 4.0], "torch": [1.0, 2.0, 2.0]})
    (4.0, 2.0, 2.0)
    """
    ours, theirs = samples["rebind"], samples["torch"]
    extra = statistics.median(one - other for one, other in zip(ours, theirs, strict=True))
    return statistics.median(ours), statistics.median(theirs), extra


def _read(files: Sequence[Path]) -> tuple[dict[str, Mapping[str, Any]], list[str]]:
    """Return the rows by the call, the last file's where several have one, and a sentence for each file."""
    rows: dict[str, Mapping[str, Any]] = {}
    said = []
    for file in files:
        content = json.loads(file.read_text())
        rows.update(content["rows"])
        said.append(
            f"Measured: {text_of_run(content)}; Python {content['machine']['python']}, torch {content['torch']}; "
            f"threads: {content['threads']}."
        )
    return rows, said


def calls_data(files: Sequence[Path]) -> Iterator[Sequence[object]]:
    """Yield the lines of the data file: µs of each call in rebind and in PyTorch."""
    yield "family", "call", "torch_us", "rebind_us", "more_us"
    for name, row in _read(files)[0].items():
        ours, theirs, extra = medians(row["small"])
        yield row["family"], name, f"{theirs:.2f}", f"{ours:.2f}", f"{extra:.2f}"


def calls_summary(files: Sequence[Path]) -> str:
    """Return what the page says of the calls."""
    rows, said = _read(files)
    extras = {name: medians(row["small"])[2] for name, row in rows.items()}
    beyond = [
        name for name in sorted(extras, key=lambda name: -extras[name]) if round(extras[name], 1) > MOST
    ]
    named = ", ".join(f"`{name}` {extras[name]:.1f}" for name in beyond[:_NAMED])
    text = (
        f"Of {len(extras)} calls {len(extras) - len(beyond)} take at most {MOST:g} µs more than PyTorch's own; the "
        f"median is {statistics.median(extras.values()):.1f}. The most, µs: {named or 'none'}."
    )
    return "\n".join(["", text, "", *said, ""])
