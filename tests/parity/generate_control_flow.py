"""Record loops and branches: their JSON, outputs and gradients."""

from __future__ import annotations

import multiprocessing
import zlib
from typing import Any

import numpy as np

from .control_flow import CASES, FORWARD_ONLY, VALUES
from .golden import DATA, Pack, write_manifest
from .oracle import mx, origin, to_mxnet


def build(name: str) -> Any:
    """Return a case's symbol with names that count from zero: MXNet counts its parts for as long as a process lives."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return mx.sym.load_json(pool.apply(_json, (name,)))


def _json(name: str) -> str:
    return CASES[name][0](mx).tojson()


def generate_control_flow() -> None:
    """Record every case."""
    pack, entries = Pack(), {}
    for name, (_, shapes) in CASES.items():
        random = np.random.RandomState(zlib.crc32(name.encode()))
        symbol = build(name)
        arguments = {key: random.standard_normal(shape).astype("float32") for key, shape in shapes.items()}
        for key, value in VALUES.get(name, {}).items():
            arguments[key][:] = value
        gradients = {key: mx.nd.zeros(value.shape) for key, value in arguments.items()}
        request = "null" if name in FORWARD_ONLY else "write"
        executor = symbol.bind(mx.cpu(), to_mxnet(arguments), gradients, request)
        outputs = [output.asnumpy() for output in executor.forward(is_train=request == "write")]
        entry: dict[str, Any] = {
            "json": symbol.tojson(),
            "arguments": pack.add_all(arguments),
            "outputs": [pack.add(output) for output in outputs],
        }
        if request == "write":
            heads = [random.standard_normal(output.shape).astype("float32") for output in outputs]
            executor.backward([mx.nd.array(head) for head in heads])
            entry["heads"] = [pack.add(head) for head in heads]
            entry["gradients"] = pack.add_all({key: value.asnumpy() for key, value in gradients.items()})
        entries[name] = entry
    pack.write(DATA / "control_flow.npz")
    write_manifest(DATA / "control_flow.json", {"origin": origin(), "cases": entries})
