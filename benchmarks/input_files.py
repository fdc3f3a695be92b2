"""Samples per second of the iterators over files and arrays, in either package.

``python -m benchmarks.input_files``, and the same with a Python that has MXNet 1.9.1. It makes its files, reads each
several times, and prints the best pass; run both at the same time of the same machine.
"""

from __future__ import annotations

import os
import struct
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

try:
    import mxnet as mx
except ImportError:
    import rebind as mx

BATCH = 128
PASSES = 5


def make_files(folder: str) -> dict[str, str]:
    """Write the files and return their paths."""
    rng = np.random.default_rng(0)
    paths = {name: os.path.join(folder, name) for name in ("pixels", "numbers", "sparse", "images", "labels")}
    pixels = rng.integers(0, 256, (8000, 784)) * (rng.random((8000, 784)) < 0.2)
    np.savetxt(paths["pixels"], pixels, fmt="%d", delimiter=",")
    np.savetxt(paths["numbers"], rng.standard_normal((100_000, 20)), fmt="%.6f", delimiter=",")
    with open(paths["sparse"], "w", encoding="utf-8") as file:
        for i in range(50_000):
            columns = np.sort(rng.choice(1000, 30, replace=False))
            file.write(f"{i % 2} " + " ".join(f"{c}:{v:.6f}" for c, v in zip(columns, rng.random(30))) + "\n")
    with open(paths["images"], "wb") as file:
        file.write(struct.pack(">4I", 2051, 60_000, 28, 28) + rng.bytes(60_000 * 784))
    with open(paths["labels"], "wb") as file:
        file.write(struct.pack(">2I", 2049, 60_000) + rng.bytes(60_000))
    return paths


def best(make: Callable[[], Any]) -> float:
    """Return the samples per second of the best pass of an iterator."""
    batches = make()
    found = 0.0
    for _ in range(PASSES):
        start, count = time.perf_counter(), 0
        for batch in batches:
            batch.data[0].wait_to_read()
            count += BATCH
        found = max(found, count / (time.perf_counter() - start))
        batches.reset()
    return found


def main() -> None:
    """Print a line for each iterator."""
    with tempfile.TemporaryDirectory() as folder:
        paths = make_files(folder)
        data, label = np.random.rand(60_000, 784).astype("float32"), np.zeros(60_000)
        rows: dict[str, Callable[[], Any]] = {
            "CSVIter, 784 whole numbers": lambda: mx.io.CSVIter(
                data_csv=paths["pixels"], data_shape=(784,), batch_size=BATCH
            ),
            "CSVIter, 20 decimals": lambda: mx.io.CSVIter(
                data_csv=paths["numbers"], data_shape=(20,), batch_size=BATCH
            ),
            "LibSVMIter, 30 of 1000 columns": lambda: mx.io.LibSVMIter(
                data_libsvm=paths["sparse"], data_shape=(1000,), batch_size=BATCH
            ),
            "MNISTIter": lambda: mx.io.MNISTIter(
                image=paths["images"], label=paths["labels"], batch_size=BATCH, silent=True
            ),
            "NDArrayIter": lambda: mx.io.NDArrayIter(data, label, BATCH),
            "NDArrayIter, shuffled": lambda: mx.io.NDArrayIter(data, label, BATCH, shuffle=True),
        }
        for name, make in rows.items():
            print(f"{mx.__name__:8} {name:32} {best(make):12,.0f} samples/s", flush=True)


if __name__ == "__main__":
    main()
