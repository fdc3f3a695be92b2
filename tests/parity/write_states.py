"""Write ``.states`` files with rebind, and beside each what it should hold, for MXNet to read and go on from.

python -m tests.parity.write_states DIR
ORACLE -m tests.parity.generate_optimizers --check DIR
ORACLE -m tests.parity.generate_sparse_optimizers --check DIR
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import rebind as mx

from . import sparse_optimizers
from .golden import write_arrays
from .optimizers import MIDDLE, RUNS, Run, flatten


def write(run: Run, stem: Path) -> None:
    """Run the first steps; write the states without and with the optimizer, and weights and states as arrays."""
    weights, grads = run.draw()
    arrays = [mx.nd.array(each, dtype=each.dtype) for each in weights]
    updater: Any = mx.optimizer.get_updater(run.create(mx))
    for step in grads[:MIDDLE]:
        updater(list(range(len(arrays))), [mx.nd.array(each, dtype=each.dtype) for each in step], arrays)
    stem.with_suffix(".states").write_bytes(updater.get_states())
    stem.with_suffix(".dumped").write_bytes(updater.get_states(dump_optimizer=True))
    expected: dict[str, np.ndarray] = {f"weight/{k}": each.asnumpy() for k, each in enumerate(arrays)}
    write_arrays(stem.with_suffix(".npz"), {**expected, **flatten(updater.states)})


def write_sparse(run: sparse_optimizers.SparseRun, stem: Path) -> None:
    """Run the first steps; write the states with the optimizer, and the weights as arrays."""
    weights, updater = run.weights(mx), mx.optimizer.get_updater(run.create(mx))
    for step in run.gradients(mx)[:MIDDLE]:
        updater(list(range(len(weights))), step, weights)
    stem.with_suffix(".dumped").write_bytes(updater.get_states(dump_optimizer=True))
    write_arrays(stem.with_suffix(".npz"), {f"weight/{k}": each.asnumpy() for k, each in enumerate(weights)})


def main() -> None:
    """Write the files of all runs, by number."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number, run in enumerate(RUNS.values()):
        write(run, folder / str(number))
    for number, sparse in enumerate(sparse_optimizers.RUNS.values()):
        write_sparse(sparse, folder / f"sparse{number}")


if __name__ == "__main__":
    main()
