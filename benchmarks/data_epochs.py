"""One engine reads files: epochs of one row, timed. Run under the Python of the engine, with one answer as JSON.

    PYTHON -m benchmarks.data_epochs ENGINE ROW FOLDER EPOCHS

It imports neither rebind nor MXNet at the top, since only one of them is there.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from typing import Any

import numpy as np

BATCH = 128


def _image_record(mx: Any, folder: str, threads: int) -> Any:
    return mx.io.ImageRecordIter(
        path_imgrec=f"{folder}/pictures.rec", data_shape=(3, 224, 224), batch_size=BATCH, rand_crop=True,
        rand_mirror=True, mean_r=123.68, mean_g=116.78, mean_b=103.94, std_r=58.4, std_g=57.1, std_b=57.4,
        preprocess_threads=threads, verbose=False,
    )  # fmt: skip


def _csv(mx: Any, folder: str, threads: int) -> Any:
    return mx.io.CSVIter(
        data_csv=f"{folder}/data.csv", data_shape=(100,), label_csv=f"{folder}/label.csv", batch_size=BATCH
    )


def _csv_parsed(mx: Any, folder: str, threads: int) -> Any:
    os.environ["REBIND_KEPT_NUMBERS"] = (
        "0"  # every epoch is as the first one, or one of a file that has no room
    )
    return _csv(mx, folder, threads)


def _csv_whole(mx: Any, folder: str, threads: int) -> Any:
    return mx.io.CSVIter(data_csv=f"{folder}/pixels.csv", data_shape=(784,), batch_size=BATCH)


def _libsvm(mx: Any, folder: str, threads: int) -> Any:
    return mx.io.LibSVMIter(data_libsvm=f"{folder}/data.libsvm", data_shape=(1000,), batch_size=BATCH)


def _libsvm_parsed(mx: Any, folder: str, threads: int) -> Any:
    os.environ["REBIND_KEPT_NUMBERS"] = "0"
    return _libsvm(mx, folder, threads)


def _mnist(mx: Any, folder: str, threads: int) -> Any:
    return mx.io.MNISTIter(
        image=f"{folder}/images.idx",
        label=f"{folder}/labels.idx",
        batch_size=BATCH,
        shuffle=True,
        silent=True,
    )


def _ndarray(mx: Any, folder: str, threads: int, shuffle: bool = False) -> Any:
    data = np.load(f"{folder}/data.npy")
    return mx.io.NDArrayIter(data, np.arange(len(data)), batch_size=BATCH, shuffle=shuffle)


def _ndarray_shuffled(mx: Any, folder: str, threads: int) -> Any:
    return _ndarray(mx, folder, threads, shuffle=True)


#: An iterator for each row.
ROWS = {
    "image-record": _image_record,
    "csv": _csv,
    "csv-parsed": _csv_parsed,
    "csv-whole": _csv_whole,
    "libsvm": _libsvm,
    "libsvm-parsed": _libsvm_parsed,
    "mnist": _mnist,
    "ndarray": _ndarray,
    "ndarray-shuffled": _ndarray_shuffled,
}


def main() -> None:
    """Read the epochs, after one that is not timed; print samples per second, and processor time for each sample."""
    engine, row, folder, epochs, threads = sys.argv[1:]
    mx = importlib.import_module({"rebind": "rebind", "mxnet": "mxnet"}[engine])
    batches = ROWS[row](mx, folder, int(threads))
    answers = []
    for _ in range(1 + int(epochs)):
        samples, start, busy = 0, time.perf_counter(), time.process_time()
        batches.reset()  # timed too: what shuffles moves samples either here or batch by batch
        for batch in batches:
            for array in (*batch.data, *batch.label):
                array.wait_to_read()
            samples += BATCH - (batch.pad or 0)
        answers.append(
            (samples / (time.perf_counter() - start), 1e6 * (time.process_time() - busy) / samples)
        )
    rates, costs = zip(*answers[1:])
    print(json.dumps({"version": mx.__version__, "rates": rates, "microseconds": costs}))


if __name__ == "__main__":
    main()
