"""Record unrolled cells: their graphs, outputs and gradients."""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np

from .golden import DATA, Pack, write_manifest
from .oracle import mx, origin, to_mxnet
from .unrolled import CASES, Case


def generate_unrolled() -> None:
    """Record every case."""
    pack = Pack()
    entries = {name: record(name, case, pack) for name, case in CASES.items()}
    pack.write(DATA / "unrolled.npz")
    write_manifest(DATA / "unrolled.json", {"origin": origin(), "cases": entries})


def record(name: str, case: Case, pack: Pack) -> dict[str, Any]:
    """Run one network, and return its entry."""
    random = np.random.RandomState(zlib.crc32(name.encode()))
    with mx.name.NameManager():
        symbol = case.build(mx)
    names, (shapes, _, _) = symbol.list_arguments(), symbol.infer_shape(**case.shapes)
    arguments = {key: random.standard_normal(shape).astype("float32") for key, shape in zip(names, shapes)}
    gradients = {key: mx.nd.zeros(value.shape) for key, value in arguments.items()}
    executor = symbol.bind(mx.cpu(), to_mxnet(arguments), gradients, "write" if case.trains else "null")
    outputs = [output.asnumpy() for output in executor.forward(is_train=case.trains)]
    entry: dict[str, Any] = {
        # Without the spaces that MXNet lays JSON out with: they are most of it.
        "graph": json.dumps(json.loads(symbol.tojson()), separators=(",", ":")),
        "arguments": pack.add_all(arguments),
        "outputs": [pack.add(output) for output in outputs],
    }
    if case.trains:
        heads = [random.standard_normal(output.shape).astype("float32") for output in outputs]
        executor.backward([mx.nd.array(head) for head in heads])
        entry["heads"] = [pack.add(head) for head in heads]
        entry["gradients"] = pack.add_all({key: value.asnumpy() for key, value in gradients.items()})
    return entry
