"""The command `python -m benchmarks.scaling`: what a step costs on many workers, from parts that were measured.

It reads the samples of `benchmarks.distributed` (``--json``) and measures what a message costs here. `docs/scaling.md`
explains the model.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from rebind.tuning import current

from .command import wide

__all__ = ["Cost", "Network", "step_cost"]


@dataclass(frozen=True)
class Cost:
    """A step of one worker, as measured.

    Attributes
    ----------
    compute
        Seconds of a step without communication, the update of all weights included.
    update
        Seconds of these that the update takes; over N workers each updates 1/N of the weights.
    gradients
        Bytes of the gradients.
    backward
        The share of `compute` in which gradients become ready one after the other.
    messages
        How many messages go to each other worker for the gradients, and as many for the weights.
    """

    compute: float
    update: float
    gradients: float
    backward: float
    messages: int


@dataclass(frozen=True)
class Network:
    """What connects the workers: bytes per second of each, in each direction; seconds of delay, and of a message."""

    rate: float
    delay: float
    message: float


def step_cost(cost: Cost, network: Network, workers: int) -> dict[str, float]:
    """Return the parts of a step in seconds: ``compute``, ``not hidden`` of what travels, and ``messages``.

    >>> cost = Cost(compute=0.1, update=0.01, gradients=1e8, backward=0.5, messages=4)
    >>> parts = step_cost(cost, Network(rate=1e9, delay=1e-4, message=1e-5), 8)
    >>> {name: round(value, 4) for name, value in parts.items()}
    {'compute': 0.0912, 'not hidden': 0.1252, 'messages': 0.0006}
    """
    share = (workers - 1) / workers / network.rate
    compute = cost.compute - cost.update * (workers - 1) / workers
    # Gradients leave, and weights come back, while backward computes other gradients. Nothing hides those of the last
    # bucket.
    travels, last = (
        2 * size * share for size in (cost.gradients, min(cost.gradients, current().bucket_bytes))
    )
    exposed = max(travels - cost.backward * cost.compute, last) + 2 * network.delay
    messages = 2 * (workers - 1) * cost.messages * network.message
    return {"compute": compute, "not hidden": exposed, "messages": messages}


#: How many messages go to each other worker for the gradients: one for a bucket of small keys, one for a large key.
_MESSAGES = {"wide": 5, "lstm": 3, "resnet18": 6}
NETWORKS = {"10 Gbit/s": (1.25e9, 50e-6), "100 Gbit/s": (12.5e9, 20e-6), "400 Gbit/s": (50e9, 10e-6)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("samples", type=Path, help="the file that benchmarks.distributed --json wrote")
    parser.add_argument(
        "--message", type=float, default=250e-6, help="seconds that a small message costs a worker"
    )
    parser.add_argument(
        "--accelerators", type=float, default=20.0, help="how many times faster a worker computes"
    )
    given = parser.parse_args(arguments)
    samples = json.loads(given.samples.read_text())
    table = Table(
        title=f"Efficiency of a worker that computes {given.accelerators:g} times as fast as one core here"
    )
    for name in ("row", "network", "workers", "compute", "not hidden", "messages", "efficiency"):
        table.add_column(name, justify="left" if name in ("row", "network") else "right")
    for key, found in samples.items():
        row, workers, engine = key.split("/")
        if engine != "rebind alone" or workers != "1":
            continue
        size = max(each["bytes"] for name, each in samples.items() if name.startswith(f"{row}/2/rebind"))
        seconds = statistics.median(found["seconds"]) / given.accelerators
        cost = Cost(seconds, 0.1 * seconds, size, 0.6, _MESSAGES[row])
        for name, (rate, delay) in NETWORKS.items():
            for count in (8, 64, 1024):
                parts = step_cost(cost, Network(rate, delay, given.message), count)
                whole = sum(parts.values())
                shown = [f"{value * 1e3:.1f}" for value in parts.values()]
                table.add_row(row, name, str(count), *shown, f"{seconds / whole:.2f}")
    wide(Console()).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
