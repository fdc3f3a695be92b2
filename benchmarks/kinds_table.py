"""The table of docs/performance.md that `python -m benchmarks.kinds` has measured."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .report import digits, text_of_machine

__all__ = ["ENGINES", "KINDS_MARK", "kinds_section", "ratio_to_best"]

KINDS_MARK = "<!-- made by python -m benchmarks.page: networks of many kinds -->"
#: By name in files, the title of a column.
ENGINES = {"rebind": "rebind", "torch": "PyTorch", "torch-channels-last": "channels last"}
_MODES = ("training", "inference")


def ratio_to_best(samples: Mapping[str, Sequence[float]]) -> float:
    """Return rebind's time over that of the quickest other engine: the median of the ratios within a round.

    >>> ratio_to_best({"rebind": [2.0, 3.0], "torch": [4.0, 6.0], "torch-channels-last": [5.0, 5.0]})
    0.5
    """
    best = min(
        (name for name in samples if name != "rebind"), key=lambda name: statistics.median(samples[name])
    )
    return statistics.median(one / other for one, other in zip(samples["rebind"], samples[best], strict=True))


def kinds_section(files: Sequence[Path]) -> str:
    """Return the table of the files' samples; where several have a network, the last one's counts."""
    found: dict[str, Mapping[str, Any]] = {}
    said = []
    for file in files:
        content = json.loads(file.read_text())
        found.update(content["kinds"])
        said.append(
            f"Measured: {content['started'][:10]}, {text_of_machine(content['machine'])}; torch {content['torch']}; "
            f"{content['threads']} threads, {content['rounds']} rounds in turn in one process."
        )
    return "\n".join(["", *_rows(found), "", *said, ""])


def _rows(found: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    titles = [f"{mode}: {title}" for mode in _MODES for title in (*ENGINES.values(), "rebind / best")]
    yield "| " + " | ".join(["network", *titles]) + " |"
    yield "| " + " | ".join(["---"] * (1 + len(titles))) + " |"
    for name, kind in found.items():
        cells = [f"{name}: {kind['what']}"]
        for mode in _MODES:
            samples = kind[mode]
            cells += [
                digits(statistics.median(samples[each])) if each in samples else "–" for each in ENGINES
            ]
            cells.append(f"{ratio_to_best(samples):.2f}")
        yield "| " + " | ".join(cells) + " |"
