"""The tables of docs/performance.md that `python -m benchmarks.kinds` has measured."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .report import digits, text_of_machine

__all__ = ["EAGER", "ENGINES", "KINDS_MARK", "MODES", "PEERS", "failures", "kinds_section", "ratio_to_best"]

KINDS_MARK = "<!-- made by python -m benchmarks.page: networks of many kinds -->"
#: By name in files, the title of a column.
ENGINES = {
    "rebind": "rebind",
    "rebind-inductor": "rebind, inductor",
    "torch": "PyTorch",
    "torch-channels-last": "channels last",
    "torch-compile": "compile",
    "mxnet": "MXNet",
}
#: What needs no compiler.
EAGER = ("torch", "torch-channels-last")
#: For each of rebind's, beside which engines it is to be as fast as the best.
PEERS = {"rebind": (*EAGER, "mxnet"), "rebind-inductor": (*EAGER, "torch-compile", "mxnet")}
MODES = ("training", "inference")


def ratio_to_best(samples: Mapping[str, Sequence[float]], engine: str = "rebind") -> float:
    """Return an engine's time over that of its quickest peer: the median of the ratios within a round.

    >>> samples = {"rebind": [2.0, 3.0], "torch": [4.0, 6.0], "torch-channels-last": [5.0, 5.0]}
    >>> ratio_to_best(samples)
    0.5
    """
    peers = [name for name in PEERS[engine] if name in samples]
    best = min(peers, key=lambda name: statistics.median(samples[name]))
    return statistics.median(one / other for one, other in zip(samples[engine], samples[best], strict=True))


def failures(kinds: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Say which peers could not run a network, and why."""
    for name, kind in kinds.items():
        for mode in MODES:
            for engine, error in kind["failures"][mode].items():
                yield f"The column {ENGINES[engine]!r} lacks {name} in {mode}: it raised `{error}`."


def kinds_section(files: Sequence[Path]) -> str:
    """Return the tables of the files' samples; where several have a network, the last one's counts."""
    found: dict[str, Mapping[str, Any]] = {}
    said = []
    for file in files:
        content = json.loads(file.read_text())
        found.update(content["kinds"])
        said.append(
            f"Measured: {content['started'][:10]}, {text_of_machine(content['machine'])}; torch {content['torch']}; "
            f"{content['threads']} threads, {content['rounds']} rounds in turn, PyTorch in the same process."
        )
    tables = (line for mode in MODES for line in [*_rows(mode, found), ""])
    return "\n".join(["", *tables, *failures(found), *said, ""])


def _rows(mode: str, found: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    engines = [name for name in ENGINES if any(name in kind[mode] for kind in found.values())]
    ours = [name for name in PEERS if name in engines]
    titles = [mode, *(ENGINES[name] for name in engines), *(f"{ENGINES[name]} / best" for name in ours)]
    yield "| " + " | ".join(titles) + " |"
    yield "| " + " | ".join(["---"] * len(titles)) + " |"
    for name, kind in found.items():
        samples = kind[mode]
        times = [digits(statistics.median(samples[each])) if each in samples else "–" for each in engines]
        ratios = [f"{ratio_to_best(samples, each):.2f}" if each in samples else "–" for each in ours]
        yield "| " + " | ".join([f"{name}: {kind['what']}", *times, *ratios]) + " |"
