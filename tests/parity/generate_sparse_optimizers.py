"""Record what MXNet 1.9.1's optimizers do with row_sparse gradients in ten steps, and ``.states`` files.

Run with the Python of an environment that has MXNet 1.9.1::

    python -m tests.parity.generate_sparse_optimizers [--check DIR]

``--check`` reads the ``.states`` files that rebind wrote into ``DIR`` (``python -m tests.parity.write_states DIR``),
and goes on from them: the direction from rebind to MXNet.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from .generate_optimizers import layout
from .golden import DATA, Pack, assert_close, group, read_arrays, read_manifest, write_manifest
from .optimizers import MIDDLE, STEPS
from .oracle import mx, origin
from .sparse_optimizers import RUNS, SparseRun


def record(run: SparseRun, pack: Pack) -> dict[str, Any]:
    """Run the steps and return the entry; arrays go into `pack`."""
    weights, updater = run.weights(mx), mx.optimizer.get_updater(run.create(mx))
    index = list(range(len(weights)))
    entry: dict[str, Any] = {"weights": {}}
    for step, grads in enumerate(run.gradients(mx), 1):
        for i in index:  # one by one: lists of row_sparse arrays are for rebind
            updater(i, grads[i], weights[i])
        if step in (MIDDLE, STEPS):
            entry["weights"][str(step)] = [pack.add(each.asnumpy()) for each in weights]
        if step == MIDDLE:
            content = updater.get_states(dump_optimizer=True)
            entry["dumped"] = pack.add(np.frombuffer(content, dtype=np.uint8))
    entry["after"] = [layout(updater.states[i], pack) for i in index]
    return entry


def check(run: SparseRun, stem: Path, ends: list[np.ndarray]) -> None:
    """Read what rebind wrote in the middle of a run, and make the other steps; they lead to `ends`."""
    updater = mx.optimizer.get_updater(run.create(mx))  # of its kind: whether it takes lists is asked here
    updater.set_states(stem.with_suffix(".dumped").read_bytes())
    values = group(read_arrays(stem.with_suffix(".npz")), "weight").values()
    weights = [mx.nd.array(each).tostype(run.stype) for each in values]
    for grads in run.gradients(mx)[MIDDLE:]:
        for i, (grad, weight) in enumerate(zip(grads, weights)):
            updater(i, grad, weight)
    for found, wanted in zip(weights, ends):
        assert_close(found.asnumpy(), wanted, rtol=5 * run.rtol, what=run.name)
    print("read by MXNet:", run.name)


def main() -> None:
    """Make the records, or check files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", type=Path, metavar="DIR")
    folder = parser.parse_args().check
    if folder is None:
        pack = Pack()
        entries = {name: record(run, pack) for name, run in RUNS.items()}
        pack.write(DATA / "sparse_optimizers.npz")
        write_manifest(DATA / "sparse_optimizers.json", {"origin": origin(), "runs": entries})
        return
    entries, pack = (
        read_manifest(DATA / "sparse_optimizers.json")["runs"],
        Pack.read(DATA / "sparse_optimizers.npz"),
    )
    for number, run in enumerate(RUNS.values()):
        check(
            run,
            folder / f"sparse{number}",
            [pack.get(each) for each in entries[run.name]["weights"][str(STEPS)]],
        )


if __name__ == "__main__":
    main()
