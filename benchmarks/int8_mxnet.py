"""MXNet's side of `benchmarks.int8`: quantize networks as programs deployed them, and time them there.

Runs in an environment that has MXNet 1.9.1, and neither rebind nor torch.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ["MXNET_MKLDNN_ENABLED"] = "1"  # without oneDNN there are no such layers

import mxnet as mx
import numpy as np


def quantized(symbol: Any, args: Any, aux: Any, data: np.ndarray, batch: int) -> tuple[Any, Any, Any]:
    """Return symbol, arguments and states with ranges that `data` have."""
    result = symbol.list_outputs()[0][: -len("_output")]
    found, args, aux = mx.contrib.quantization.quantize_model(
        symbol.get_backend_symbol("MKLDNN_QUANTIZE"),
        args,
        aux,
        ctx=mx.cpu(),
        calib_mode="naive",
        calib_data=mx.io.NDArrayIter(data, batch_size=batch),
        num_calib_examples=len(data) // batch * batch,
        quantized_dtype="auto",
        excluded_sym_names=[result],  # the softmax
        logger=logging.getLogger("quantize"),
    )
    return found.get_backend_symbol("MKLDNN_QUANTIZE"), args, aux


def samples(parts: dict[str, Any], data: np.ndarray, rounds: int) -> dict[str, list[float]]:
    """Return what batches take in milliseconds, of several networks in turn."""
    executors = {}
    for kind, (symbol, args, aux) in parts.items():
        given = {**args, "data": mx.nd.array(data), "softmax_label": mx.nd.zeros(len(data))}
        executors[kind] = symbol.bind(mx.cpu(), given, grad_req="null", aux_states=aux)
    taken: dict[str, list[float]] = {kind: [] for kind in parts}
    for _ in range(rounds + 3):
        for kind, executor in executors.items():
            begun = time.perf_counter()
            executor.forward(is_train=False)[0].asnumpy()
            taken[kind].append(1000 * (time.perf_counter() - begun))
    return {kind: each[3:] for kind, each in taken.items()}


def main() -> None:
    """Quantize the networks that a file names, and write what their batches take."""
    logging.disable(logging.CRITICAL)
    folder = Path(sys.argv[1])
    found = {}
    for work in json.loads((folder / "work.json").read_text()):
        name, data = work["name"], np.load(str(folder / (work["name"] + ".npy")))
        symbol, args, aux = mx.model.load_checkpoint(str(folder / name), 0)
        made = quantized(symbol, args, aux, data, work["batch"])
        mx.model.save_checkpoint(str(folder / (name + "-int8")), 0, *made)
        parts = {"float32": (symbol.get_backend_symbol("MKLDNN"), args, aux), "int8": made}
        found[name] = samples(parts, data[: work["batch"]], work["rounds"])
    (folder / "times.json").write_text(json.dumps({"version": mx.__version__, "samples": found}))


if __name__ == "__main__":
    main()
