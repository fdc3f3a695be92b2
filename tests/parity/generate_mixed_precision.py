"""Record what MXNet's `contrib.amp` makes of networks, and what those networks give in float32.

On the CPU MXNet has no matrix product of float16, so that it cannot run what it makes.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from mxnet.contrib import amp

from .golden import DATA, Arrays, join, write_arrays, write_manifest
from .mixed_precision import CASES, Case
from .oracle import mx, origin


def record(case: Case, seed: int) -> tuple[dict[str, Any], Arrays]:
    random = np.random.RandomState(seed)
    symbol = amp.convert_symbol(case.build(mx), **case.settings)
    original = case.build(mx)
    shapes, _, _ = original.infer_shape(**case.shapes)
    inputs = {
        name: (random.standard_normal(shape) / 2).astype(np.float32)
        for name, shape in zip(original.list_arguments(), shapes)
    }
    executor = original.simple_bind(mx.cpu(), grad_req="null", **case.shapes)
    for name, value in inputs.items():
        executor.arg_dict[name][:] = value
    outputs = [out.asnumpy() for out in executor.forward(is_train=True)]
    entry = {
        "nodes": json.loads(symbol.tojson(remove_amp_cast=False))["nodes"],
    }
    return entry, {**join("input", inputs), **join("output", {str(i): v for i, v in enumerate(outputs)})}


def main() -> None:
    """Write the record."""
    manifest: dict[str, Any] = {**origin(), "cases": {}}
    arrays: Arrays = {}
    for seed, (name, case) in enumerate(CASES.items()):
        manifest["cases"][name], found = record(case, seed)
        arrays.update(join(name, found))
    write_manifest(DATA / "mixed_precision.json", manifest)
    write_arrays(DATA / "mixed_precision.npz", arrays)


if __name__ == "__main__":
    main()
