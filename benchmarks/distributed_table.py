"""The table of `benchmarks.distributed`, from the samples that it wrote."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .report import digits, text_of_run

__all__ = ["distributed_lines", "distributed_section"]

_ENGINES = ("rebind", "DDP", "FSDP2")
_TITLES = ("network", "workers", *(f"ms a step, {name}" if name == "rebind" else name for name in _ENGINES),
           "rebind / the better one", "not hidden, ms, rebind", "DDP", "FSDP2", "MB sent by each, rebind", "DDP",
           "FSDP2", "MB of memory, rebind", "DDP", "FSDP2")  # fmt: skip


def distributed_section(files: Sequence[Path]) -> str:
    """Return the text between its marks."""
    contents = [json.loads(file.read_text()) for file in files]
    tables = [["", *distributed_lines(content["rows"]), "", _about(content)] for content in contents]
    return "".join(f"{line}\n" for table in tables for line in table)


def distributed_lines(rows: Mapping[str, Any]) -> list[str]:
    """Return the table of a run: a line for each network and number of workers.

    >>> sample = {"seconds": [0.2, 0.1, 0.3], "bytes": 4e6, "memory": 2**20}
    >>> rounds = {"rebind": [sample], "DDP": [{**sample, "seconds": [0.25]}], "rebind alone": [sample]}
    >>> print(distributed_lines({"mlp": {"title": "MLP", "workers": {"2": rounds}}})[-1])
    | MLP | 2 | 200 | 250 | – | 0.80 | 0 | – | – | 4.0 | 4.0 | – | 1 | 1 | – |
    """
    lines = ["| " + " | ".join(_TITLES) + " |", "|" + " --- |" * len(_TITLES)]
    for row in rows.values():
        title = row["title"]
        for workers, rounds in row["workers"].items():
            if workers != "1":
                lines.append(f"| {' | '.join([title, workers, *_cells(rounds)])} |")
                title = ""
    return lines


def _cells(rounds: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    """Yield what a line says of a number of workers, by what each engine measured in each round."""
    ms = {engine: _median(rounds, engine) for engine in (*_ENGINES, "rebind alone", "PyTorch alone")}
    yield from (_text(ms[engine]) for engine in _ENGINES)
    yield _ratio(rounds)
    for engine in _ENGINES:
        whole, alone = ms[engine], ms["rebind alone" if engine == "rebind" else "PyTorch alone"]
        yield "–" if whole is None or alone is None else f"{whole - alone:.0f}"
    for name, unit, form in (("bytes", 1e6, ".1f"), ("memory", 2**20, ".0f")):
        for engine in _ENGINES:
            found = [each[name] / unit for each in rounds.get(engine, ())]
            yield f"{statistics.median(found):{form}}" if found else "–"


def _median(rounds: Mapping[str, Sequence[Mapping[str, Any]]], engine: str) -> float | None:
    """Return the milliseconds of a step of an engine, if it was measured."""
    seconds = [second for each in rounds.get(engine, ()) for second in each["seconds"]]
    return statistics.median(seconds) * 1e3 if seconds else None


def _ratio(rounds: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return the time of rebind over that of the better one of the others: the median of the ratios of the rounds."""
    peers = [engine for engine in _ENGINES[1:] if rounds.get(engine)]
    if not peers or not rounds.get("rebind"):
        return "–"

    def of_round(engine: str, number: int) -> float:
        return statistics.median(rounds[engine][number]["seconds"])

    def over(peer: str) -> float:
        return statistics.median(
            of_round("rebind", n) / of_round(peer, n) for n in range(len(rounds["rebind"]))
        )

    return f"{max(map(over, peers)):.2f}"


def _text(milliseconds: float | None) -> str:
    return "–" if milliseconds is None else digits(milliseconds)


def _about(content: Mapping[str, Any]) -> str:
    return f"Measured: {text_of_run(content)}; torch {content['torch']}."
