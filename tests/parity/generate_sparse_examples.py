"""Record ten steps of each program in `examples/sparse`, run with MXNet 1.9.1.

Run with the Python of an environment that has MXNet 1.9.1::

    python -m tests.parity.generate_sparse_examples

It writes ``data/sparse_examples.json`` and ``data/sparse_examples.npz`` beside this file: each parameter after the last
step, with its storage type, and the outputs of that step. Of a long parameter some rows are recorded (`sample`).
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from .golden import Pack, write_manifest
from .oracle import mx, origin
from .sparse_examples import RECORD, RUNS, run, sample


def record(pack: Pack, name: str) -> dict[str, Any]:
    """Run one example."""
    with tempfile.TemporaryDirectory() as folder:
        params, outputs = run(mx, name, Path(folder))
    return {
        "storage types": {key: value.stype for key, value in params.items()},
        "parameters": pack.add_all({key: sample(value.asnumpy()) for key, value in params.items()}),
        "outputs": [pack.add(value.asnumpy()) for value in outputs],
    }


def main() -> None:
    """Make the record."""
    pack = Pack()
    manifest = {"origin": origin(), "runs": {name: record(pack, name) for name in RUNS}}
    pack.write(RECORD.with_suffix(".npz"))
    write_manifest(RECORD.with_suffix(".json"), manifest)


if __name__ == "__main__":
    main()
