"""The command `python -m benchmarks.scaling`: what a step costs on many workers, from parts that were measured here.

Without options it prints the table of the samples in `results/scaling`; `python -m benchmarks.page` writes it to
docs/scaling.md, which explains the model. ``--measure`` takes new samples: what exchanges over workers cost, on the
loopback address and in network namespaces (Linux, as root), and when in a step of one worker gradients become ready.
``--simulate`` counts the messages of jobs of so many processes, and fewer.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch

from .exchange_costs import measure_exchanges
from .networks import DISTRIBUTED
from .report import commit, describe_machine
from .scaling_table import messages_lines, scaling_section
from .step_profile import measure_profile

__all__ = ["main"]

_RESULTS = Path(__file__).parent / "results" / "scaling"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--measure", type=Path, metavar="FILE", help="take samples, and write them here")
    parser.add_argument(
        "--simulate", type=int, metavar="N", help="count the messages of jobs of 2, 4, ... N processes"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the counts of --simulate here")
    given = parser.parse_args(arguments)
    if given.measure:
        given.measure.write_text(json.dumps(_measured(), indent=1) + "\n")
    elif given.simulate:
        print("\n".join(messages_lines(_simulated(given.simulate, given.json))))
    else:
        print(scaling_section(sorted(_RESULTS.glob("*.json"))))
    return 0


def _measured() -> dict[str, Any]:
    def say(what: str) -> None:
        print(f"{datetime.now():%H:%M:%S} {what}", file=sys.stderr, flush=True)

    about = _about()
    profiles = {}
    for name, row in DISTRIBUTED.items():
        say(f"a step of {name}")
        profiles[name] = {"title": row.title, **asdict(measure_profile(row))}
    return {**about, "profiles": profiles, "exchanges": list(measure_exchanges(say))}


def _simulated(most: int, file: Path | None) -> dict[str, Any]:
    from .message_counts import count_messages  # a process of its server imports rebind once for all workers

    counts = [2**power for power in range(1, most.bit_length()) if 2**power <= most]
    content = {**_about(), "messages": []}
    for workers, found in count_messages(counts):
        content["messages"].append({"workers": workers, **asdict(found)})
        print(workers, found, file=sys.stderr, flush=True)
    if file:
        file.write_text(json.dumps(content, indent=1) + "\n")
    return content


def _about() -> dict[str, Any]:
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"started": started, "commit": commit(), "machine": describe_machine(), "torch": torch.__version__}


if __name__ == "__main__":
    sys.exit(main())
