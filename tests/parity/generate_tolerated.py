"""Record what MXNet 1.9.1 computes in programs with slips that it runs to their end.

Run with the Python of an environment that has MXNet 1.9.1::

    python -m tests.parity.generate_tolerated

It writes ``data/tolerated.json`` beside this file.
"""

from __future__ import annotations

import logging

from .golden import DATA, write_manifest
from .oracle import mx, origin
from .tolerated import PROGRAMS


def generate_tolerated() -> None:
    """Record what each program computes."""
    logging.disable(logging.WARNING)
    found = {name: program(mx) for name, (program, _) in PROGRAMS.items()}
    write_manifest(DATA / "tolerated.json", {"origin": origin(), "programs": found})


if __name__ == "__main__":
    generate_tolerated()
