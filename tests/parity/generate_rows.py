"""Record what MXNet 1.9.1 pulls from stores that rows were pushed to, and ten steps of modules with row_sparse weights.

Run with the Python of an environment that has MXNet 1.9.1::

    python -m tests.parity.generate_rows

It writes ``data/rows.json`` beside this file.
"""

from __future__ import annotations

from typing import Any

from .golden import DATA, write_manifest
from .oracle import mx, origin
from .rows import STORES, TRAINING, pulls, train


def rounded(value: Any) -> Any:
    """Return numbers with seven digits: a float32 has no more."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value


def main() -> None:
    """Make the record."""
    stores = {
        f"{name}, {key}": pulls(mx, "local", name, key)
        for name in STORES
        for key in ("row_sparse", "default")
    }
    runs = [{**run, "steps": train(mx, run)} for run in TRAINING]
    write_manifest(DATA / "rows.json", {"origin": origin(), "stores": rounded(stores), "runs": rounded(runs)})


if __name__ == "__main__":
    main()
