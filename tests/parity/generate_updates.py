"""Record update operators: what they return, and all arrays after three steps."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from .golden import DATA, Pack, write_manifest
from .oracle import mx, origin, settle, to_mxnet, to_numpy
from .updates import CASES, STEPS, Update


def record(case: Update, pack: Pack) -> dict[str, Any]:
    """Run the steps of a case and return its entry; arrays go into `pack`."""
    random = np.random.RandomState(zlib.crc32(case.name.encode()))
    drawn = case.draw(random)
    arrays = to_mxnet(drawn)
    weights = [arrays[f"weight_{i}"] for i in range(case.count)]
    entry: dict[str, Any] = {"before": pack.add_all(drawn), "gradients": [], "outputs": []}
    for step in range(STEPS if "grad" in case.arrays else 1):
        gradients = case.gradients(random)
        for i, gradient in enumerate(gradients):
            given = mx.nd.array(gradient, dtype=gradient.dtype)
            arrays[f"grad_{i}"] = given.tostype("row_sparse") if case.sparse else given
        out = {"out": weights if case.count > 1 else weights[0]} if case.over else {}
        results = case.function(mx)(*arrays.values(), **case.settings(step), **out)
        settle()
        results = results if isinstance(results, list) else [results]
        entry["gradients"].append([pack.add(gradient) for gradient in gradients])
        entry["outputs"].append([pack.add(result.asnumpy()) for result in results])
    after = {name: value for name, value in arrays.items() if not name.startswith("grad_")}
    entry["after"] = pack.add_all(to_numpy(after))
    return entry


def generate_updates() -> None:
    """Record every case."""
    pack = Pack()
    entries = {name: record(case, pack) for name, case in CASES.items()}
    pack.write(DATA / "updates.npz")
    write_manifest(DATA / "updates.json", {"origin": origin(), "cases": entries})


if __name__ == "__main__":
    generate_updates()
