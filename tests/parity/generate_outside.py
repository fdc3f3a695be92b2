"""Record what MXNet 1.9.1 computes for labels that are no class.

Run with the Python of an environment that has MXNet 1.9.1::

    python -m tests.parity.generate_outside

It writes ``data/outside.json`` and ``data/outside.npz`` beside this file.
"""

from __future__ import annotations

from .golden import DATA, Pack, write_manifest
from .oracle import mx, origin
from .outside import LABELLED, METRICS, OPERATORS, ROWS, RUNS, computed, measured, rows, trained


def generate_outside() -> None:
    """Record operators, metrics and runs."""
    pack = Pack()
    found = {name: pack.add_all(computed(mx, name)) for name in OPERATORS}
    found |= {name: pack.add_all(rows(mx, name)) for name in ROWS}
    runs = {}
    for name in RUNS:
        figures: list[float] = []
        runs[name] = {"params": pack.add_all(trained(mx, name, figures.append)), "figures": figures}
    figures_of = {f"{name}: {labels}": measured(mx, name, labels) for name in METRICS for labels in LABELLED}
    pack.write(DATA / "outside.npz")
    write_manifest(
        DATA / "outside.json",
        {"origin": origin(), "operators": found, "metrics": figures_of, "runs": runs},
    )


if __name__ == "__main__":
    generate_outside()
