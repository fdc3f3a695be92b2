"""The tables of `benchmarks.scaling`, from the samples that it wrote."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .exchange_costs import FORMS, Costs, fit
from .report import text_of_run
from .step_model import ENGINES, Cluster, fastest_step
from .step_profile import Profile

__all__ = ["costs_lines", "costs_of", "efficiency_lines", "messages_lines", "scaling_section"]

#: The network and the workers of the table.
RATE, DELAY = 100e9 / 8, 20e-6
SPEED = 20.0
WORKERS = (8, 64, 1024)


def scaling_section(files: Sequence[Path]) -> str:
    """Return the text between its marks."""
    lines = [""]
    for content in (json.loads(file.read_text()) for file in files):
        if "messages" in content:
            lines += [*messages_lines(content), "", _about(content), ""]
        else:
            costs = costs_of(content)
            lines += [
                *costs_lines(costs),
                "",
                _about(content),
                "",
                *efficiency_lines(content["profiles"], costs),
                "",
            ]
    return "\n".join(lines)


def _about(content: Mapping[str, Any]) -> str:
    return f"Measured: {text_of_run(content)}; torch {content['torch']}."


def costs_of(content: Mapping[str, Any]) -> dict[str, Costs]:
    """Return the constants of each form of exchange that a file of samples has."""
    by_form: dict[str, list[Mapping[str, Any]]] = {}
    for each in content["exchanges"]:
        by_form.setdefault(each["form"], []).append(each)
    return {name: fit(FORMS[name], samples) for name, samples in by_form.items()}


def costs_lines(costs: Mapping[str, Costs]) -> list[str]:
    """Return a table of the constants.

    >>> print(
    ...     costs_lines(
    ...         {"weights": Costs(1e-4, 1e-5, 2e-4, 1e-9, 2, 1.05, {"processor": 0.1, "delay": 0.02})}
    ...     )[-1]
    ... )
    | `weights` | 100 | 10 | 200 | 1.00 | 2.0 | 1.05 | 10 %, 2 % |
    """
    lines = [
        "| exchange | µs a call | a stage | a message | ns a byte | delays in a stage | wire | residuals |",
        "|" + " --- |" * 8,
    ]
    for name, cost in costs.items():
        times = [f"{seconds * 1e6:.0f}" for seconds in (cost.call, cost.stage, cost.message)]
        residuals = ", ".join(f"{share:.0%}".replace("%", " %") for share in cost.residuals.values())
        rest = [f"{cost.byte * 1e9:.2f}", f"{cost.delays:.1f}", f"{cost.wire:.2f}", residuals]
        lines.append(f"| {' | '.join([f'`{name}`', *times, *rest])} |")
    return lines


def efficiency_lines(profiles: Mapping[str, Any], costs: Mapping[str, Costs]) -> list[str]:
    """Return the table of efficiencies: the time of a step alone over that with so many workers."""
    titles = ["network", "workers", "at most", *ENGINES, *(f"{name}, by Gloo" for name in ENGINES)]
    lines = [f"| {' | '.join(titles)} |", "|" + " --- |" * len(titles)]
    for content in profiles.values():
        title = content["title"]
        profile = Profile.read(content).faster(SPEED)
        for workers in WORKERS:
            lines.append(f"| {' | '.join([title, str(workers), *_efficiencies(profile, workers, costs)])} |")
            title = ""
    return lines


def _efficiencies(profile: Profile, workers: int, costs: Mapping[str, Costs]) -> Iterator[str]:
    card, gloo = (Cluster(workers, RATE, DELAY, costs, copies) for copies in (False, True))
    yield f"{profile.step / fastest_step(profile, card):.2f}"
    for cluster in (card, gloo):
        for step in ENGINES.values():
            yield f"{profile.step / step(profile, cluster):.2f}"


def messages_lines(content: Mapping[str, Any]) -> list[str]:
    """Return the table of messages that were counted.

    >>> print(messages_lines({"messages": [{"workers": 8, "arrays": 15, "packets": 36.5}]})[-1])
    | 8 | 15 | 36 | 12.2 |
    """
    titles = ("workers", "arrays", "packets", "packets / log2 N")
    lines = [f"| {' | '.join(titles)} |", "|" + " --- |" * len(titles)]
    for each in content["messages"]:
        cells = [f"{each[name]:.0f}" for name in ("arrays", "packets")]
        lines.append(
            f"| {each['workers']} | {' | '.join(cells)} | {each['packets'] / math.log2(each['workers']):.1f} |"
        )
    return lines
