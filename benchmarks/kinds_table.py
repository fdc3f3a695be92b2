"""What `python -m benchmarks.kinds` has measured: a summary of it, and the rows of its data file."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .report import text_of_run

__all__ = ["EAGER", "ENGINES", "MODES", "PEERS", "failures", "kinds_data", "kinds_summary", "ratio_to_best"]

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
#: Those that run in rebind's own process, with the same settings.
_IN_THE_SAME_PROCESS = {"rebind": EAGER, "rebind-inductor": (*EAGER, "torch-compile")}
MODES = ("training", "inference")
_SLOWEST = 3

Kinds = Mapping[str, Mapping[str, Any]]


def ratio_to_best(
    samples: Mapping[str, Sequence[float]], engine: str = "rebind", peers: Sequence[str] | None = None
) -> float:
    """Return an engine's time over that of its quickest peer: the median of the ratios within a round.

    >>> samples = {"rebind": [2.0, 3.0], "torch": [4.0, 6.0], "torch-channels-last": [5.0, 5.0]}
    >>> ratio_to_best(samples)
    0.5
    """
    measured = [name for name in peers or PEERS[engine] if name in samples]
    best = min(measured, key=lambda name: statistics.median(samples[name]))
    return statistics.median(one / other for one, other in zip(samples[engine], samples[best], strict=True))


def failures(kinds: Kinds) -> Iterator[str]:
    """Say which peers could not run a network, and why."""
    for name, kind in kinds.items():
        for mode in MODES:
            for engine, error in kind["failures"][mode].items():
                yield f"The column {ENGINES[engine]!r} lacks {name} in {mode}: it raised `{error}`."


def _read(files: Sequence[Path]) -> tuple[dict[str, Mapping[str, Any]], list[str]]:
    """Return the networks, the last file's where several have one, and a sentence for each file."""
    kinds: dict[str, Mapping[str, Any]] = {}
    said = []
    for file in files:
        content = json.loads(file.read_text())
        kinds.update(content["kinds"])
        said.append(
            f"Measured: {text_of_run(content)}; torch {content['torch']}; {content['threads']} threads, "
            f"{content['rounds']} rounds in turn, PyTorch in the same process."
        )
    return kinds, said


def kinds_data(files: Sequence[Path]) -> Iterator[Sequence[object]]:
    """Yield the lines of the data file: ms a step of each engine, and the ratios of rebind's to the best."""
    kinds, _ = _read(files)
    yield "network", "what", "mode", *(f"{name}_ms" for name in ENGINES), *(f"{name}/best" for name in PEERS)
    for name, kind in kinds.items():
        for mode in MODES:
            samples = kind[mode]
            times = [
                f"{statistics.median(samples[each]):.4g}" if each in samples else None for each in ENGINES
            ]
            ratios = [f"{ratio_to_best(samples, each):.2f}" if each in samples else None for each in PEERS]
            yield name, kind["what"], mode, *times, *ratios


def kinds_summary(files: Sequence[Path]) -> str:
    """Return what the page says of the networks: a line for each of rebind's ways and what it is measured against."""
    kinds, said = _read(files)
    lines = [
        "| beside | networks | first quartile of ratios | median | third quartile | up to 1 | slowest |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for engine, own in _IN_THE_SAME_PROCESS.items():
        for peers in (own, ("mxnet",)):
            if ratios := dict(_ratios(kinds, engine, peers)):
                lines.append(_line(engine, peers, ratios))
    return "\n".join(["", *lines, "", *failures(kinds), *said, ""])


def _ratios(kinds: Kinds, engine: str, peers: Sequence[str]) -> Iterator[tuple[str, float]]:
    for name, kind in kinds.items():
        for mode in MODES:
            if engine in kind[mode] and any(peer in kind[mode] for peer in peers):
                yield f"{name} in {mode}", ratio_to_best(kind[mode], engine, peers)


def _line(engine: str, peers: Sequence[str], ratios: Mapping[str, float]) -> str:
    values = [*ratios.values()]
    quartiles = statistics.quantiles(values, method="inclusive") if len(values) > 1 else values * 3
    slowest = sorted(ratios, key=lambda name: -ratios[name])[:_SLOWEST]
    cells = [
        f"{ENGINES[engine]} / the best of {', '.join(ENGINES[peer] for peer in peers)}",
        str(len(values)),
        *(f"{each:.2f}" for each in quartiles),
        str(sum(round(each, 2) <= 1 for each in values)),
        ", ".join(f"{name} {ratios[name]:.2f}" for name in slowest),
    ]
    return f"| {' | '.join(cells)} |"
