"""The table of docs/performance.md that `python -m benchmarks.operators --sizes small` has measured."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .report import text_of_machine

__all__ = ["CALLS_MARK", "MOST", "calls_section", "medians"]

CALLS_MARK = "<!-- made by python -m benchmarks.page: imperative calls -->"
#: µs that a call should take at most over PyTorch's own.
MOST = 3.0
#: The family whose calls are listed one by one.
_LISTED = "python"


def medians(samples: Mapping[str, Sequence[float]]) -> tuple[float, float, float]:
    """Return µs of a call in rebind and in PyTorch, and those that rebind takes more: medians, the last of differences.

    >>> medians({"rebind": [3.0, 5.0, 4.0], "torch": [1.0, 2.0, 2.0]})
    (4.0, 2.0, 2.0)
    """
    ours, theirs = samples["rebind"], samples["torch"]
    extra = statistics.median(one - other for one, other in zip(ours, theirs, strict=True))
    return statistics.median(ours), statistics.median(theirs), extra


def calls_section(files: Sequence[Path]) -> str:
    """Return what the files' samples say; where several have a call, the last one's counts."""
    found: dict[str, Mapping[str, Any]] = {}
    said = []
    for file in files:
        content = json.loads(file.read_text())
        found.update(content["rows"])
        machine = content["machine"]
        said.append(
            f"Measured: {content['started'][:10]}, {text_of_machine(machine)}; Python {machine['python']}, torch "
            f"{content['torch']}; threads: {content['threads']}."
        )
    extras = {name: medians(row["small"])[2] for name, row in found.items()}
    beyond = {name: extra for name, extra in extras.items() if round(extra, 1) > MOST}
    listed = ", ".join(f"`{name}` {beyond[name]:.1f}" for name in sorted(beyond, key=beyond.__getitem__))
    lines = [
        "| call | PyTorch's own | rebind | more |",
        "| --- | --- | --- | --- |",
        *(
            "| `{}` | {:.1f} | {:.1f} | {:.1f} |".format(name, *(medians(row["small"])[i] for i in (1, 0, 2)))
            for name, row in found.items()
            if row["family"] == _LISTED
        ),
        "",
        f"Of {len(extras)} calls {len(extras) - len(beyond)} take at most {MOST:g} µs more than PyTorch's own; the "
        f"median is {statistics.median(extras.values()):.1f}. The others, µs: {listed or 'none'}.",
    ]
    return "\n".join(["", *lines, "", *said, ""])
