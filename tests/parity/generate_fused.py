"""Record networks that MXNet fused for oneDNN, quantized and not, and all that their nodes compute.

ORACLE_PYTHON -m tests.parity.generate_fused
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from typing import Any

import numpy as np

from .fused import BATCH, NETWORKS, ROWS, Row
from .generate_operators import ONEDNN
from .generate_quantized import drawn
from .golden import FUSED, write_arrays
from .oracle import mx


def quantized(row: Row, symbol: Any, arguments: Any, states: Any, data: np.ndarray) -> Any:
    """Return the symbol, arguments and states that a program of 2021 deploys."""
    found, arguments, states = mx.contrib.quantization.quantize_model(
        symbol.get_backend_symbol("MKLDNN_QUANTIZE"),
        arguments,
        states,
        ctx=mx.cpu(),
        calib_mode=row.calibration,
        calib_data=mx.io.NDArrayIter(data, batch_size=BATCH),
        num_calib_examples=len(data),
        quantized_dtype="auto",
        quantize_granularity=row.granularity,
        logger=logging.getLogger("quantize"),
    )
    return found.get_backend_symbol("MKLDNN_QUANTIZE"), arguments, states


def record(row: Row) -> None:
    """Save a network's symbol, its parameters and the outputs of all its nodes."""
    build, shape, low = NETWORKS[row.network]
    random = np.random.RandomState(11)
    symbol = build(mx)
    arguments, states = drawn(symbol, (BATCH, *shape), random)
    data = random.uniform(low, 1, (4 * BATCH, *shape)).astype("float32")
    batch = mx.nd.array(data[:BATCH])
    floats = symbol.bind(mx.cpu(), {**arguments, "data": batch}, aux_states=states).forward()[0].asnumpy()
    if row.calibration == "float":
        fused = symbol.get_backend_symbol("MKLDNN")
    else:
        fused, arguments, states = quantized(row, symbol, arguments, states, data)
    nodes = fused.get_internals()
    executor = nodes.bind(mx.cpu(), {**arguments, "data": batch}, aux_states=states)
    outputs = {key: value.asnumpy() for key, value in zip(nodes.list_outputs(), executor.forward())}
    # A variable's node has its name.
    outputs |= {key: value.asnumpy() for key, value in states.items()}
    mx.model.save_checkpoint(str(FUSED / row.name), 0, fused, arguments, states)
    write_arrays(FUSED / f"{row.name}.npz", {**outputs, "floats": floats})
    kinds = [node["op"] for node in json.loads(fused.tojson())["nodes"] if node["op"].startswith("_sg_")]
    print(row.name, len(kinds), "fused layers")


def generate_fused() -> None:
    """Record every network, in a process whose MXNet uses oneDNN."""
    if not os.environ.get(ONEDNN):
        command = [sys.executable, "-m", "tests.parity.generate_fused"]
        subprocess.run(command, check=True, env={**os.environ, ONEDNN: "1"})
        return
    FUSED.mkdir(parents=True, exist_ok=True)
    for row in ROWS:
        record(row)


if __name__ == "__main__":
    generate_fused()
