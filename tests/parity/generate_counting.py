"""Record which calls MXNet 1.9.1 makes of a source of batches, in which order, and what it trains on.

Run with the Python of an environment that has MXNet 1.9.1::

    python -m tests.parity.generate_counting

It writes ``data/counting.json`` beside this file: the calls, and the cases in which they are made.
"""

from __future__ import annotations

import logging
import warnings

from .counting import calls, cases
from .golden import DATA, write_manifest
from .oracle import mx, origin


def generate_counting() -> None:
    """Record every case; cases with the same calls share them."""
    warnings.simplefilter("ignore")  # FeedForward says that it is deprecated
    logging.disable(logging.WARNING)  # a module that is bound already says so in a second `fit`
    found: dict[str, list[str]] = {}
    for case in cases():
        found.setdefault(", ".join(calls(mx, case)), []).append(case)
    entries = [{"calls": made, "cases": names} for made, names in found.items()]
    write_manifest(DATA / "counting.json", {"origin": origin(), "recorded": entries})


if __name__ == "__main__":
    generate_counting()
