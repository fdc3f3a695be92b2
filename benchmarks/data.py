"""The command `python -m benchmarks.data`: samples per second of the iterators that read files, beside MXNet's.

It makes the files: JPEGs of 256 pixels with soft and fine structure, tables and idx files. Every round starts a process
of each engine, in turn, which reads one epoch untimed and then some epochs; the table has the median of all epochs.
The processor's time for each sample says more than the rate on a machine that does other things as well.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import rebind as mx
from rebind.imaging import encode, resize

from .command import Names, wide
from .data_epochs import ROWS
from .engines import find_mxnet


def _picture(draws: np.random.Generator, size: int = 256) -> np.ndarray:
    """Return a picture whose structures of all sizes are about as strong as in photographs."""
    out = np.full((size, size, 3), 128.0, np.float32)
    for cells in (4, 8, 16, 32, 64, 128):
        coarse = draws.normal(0, 40 / np.sqrt(cells / 4), (cells, cells, 3)).astype(np.float32)
        out += resize(coarse, size, size, 2)
    return np.clip(out, 0, 255).astype(np.uint8)


def _make_pictures(folder: Path, count: int, draws: np.random.Generator) -> None:
    with mx.recordio.MXIndexedRecordIO(folder / "pictures.idx", folder / "pictures.rec", "w") as record:
        for i in range(count):
            content = encode(_picture(draws), ".jpg", 95)
            record.write_idx(i, mx.recordio.pack((0, i % 10, i, 0), content))


def _make_tables(folder: Path, count: int, draws: np.random.Generator) -> None:
    data = draws.normal(size=(count, 100)).astype(np.float32)
    np.save(folder / "data.npy", data)
    np.savetxt(folder / "data.csv", data, fmt="%.6g", delimiter=",")
    pixels = draws.integers(0, 256, (count // 4, 784)) * (draws.random((count // 4, 784)) < 0.2)
    np.savetxt(folder / "pixels.csv", pixels, fmt="%d", delimiter=",")
    np.savetxt(folder / "label.csv", np.arange(count) % 10, fmt="%d")
    with open(folder / "data.libsvm", "w") as file:
        for i, row in enumerate(data):
            columns = np.sort(draws.choice(1000, 30, replace=False))
            file.write(f"{i % 10} {' '.join(f'{c}:{v:.6g}' for c, v in zip(columns, row))}\n")
    images = draws.integers(0, 256, (count, 28, 28)).astype(np.uint8)
    for name, array in (("images", images), ("labels", (np.arange(count) % 10).astype(np.uint8))):
        head = np.array([0x800 + array.ndim, *array.shape], ">i4")
        (folder / f"{name}.idx").write_bytes(head.tobytes() + array.tobytes())


def _run(python: str, engine: str, row: str, folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    done = subprocess.run(
        [python, "-m", "benchmarks.data_epochs", engine, row, str(folder), str(given.epochs), str(given.threads)],
        stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": str(given.threads)}, check=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.data", description=__doc__)
    parser.add_argument(
        "--rows", type=Names(ROWS), default=list(ROWS), metavar="A,B", help=f"some of {', '.join(ROWS)}"
    )
    parser.add_argument(
        "--pictures", type=int, default=2048, help="in the record file (default: %(default)s)"
    )
    parser.add_argument(
        "--samples", type=int, default=20000, help="in the other files (default: %(default)s)"
    )
    parser.add_argument(
        "--rounds", type=int, default=3, help="processes of each engine (default: %(default)s)"
    )
    parser.add_argument("--epochs", type=int, default=3, help="that are timed in each (default: %(default)s)")
    parser.add_argument(
        "--threads", type=int, default=os.cpu_count() or 1, help="that decode (default: %(default)s)"
    )
    parser.add_argument(
        "--mxnet", metavar="PYTHON", help="the Python of MXNet's environment, or REBIND_ORACLE"
    )
    given = parser.parse_args(arguments)
    mxnet = find_mxnet(given.mxnet)
    engines = {"rebind": sys.executable, **({"mxnet": str(mxnet)} if mxnet else {})}
    table = Table(
        "row",
        *(f"{engine}, samples/s" for engine in engines),
        *(f"{engine}, µs" for engine in engines),
        "ratio",
    )
    with tempfile.TemporaryDirectory() as name:
        folder, draws = Path(name), np.random.default_rng(0)
        if "image-record" in given.rows:
            _make_pictures(folder, given.pictures, draws)
        _make_tables(folder, given.samples, draws)
        for row in given.rows:
            found: dict[str, list[dict[str, Any]]] = {engine: [] for engine in engines}
            for at in range(given.rounds):
                # The other way round every second time: what slows the machine down meets both.
                for engine in list(engines)[:: -1 if at % 2 else 1]:
                    found[engine].append(_run(engines[engine], engine, row, folder, given))
            table.add_row(row, *_figures(found))
    wide(Console()).print(table)
    return 0


def _figures(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return the cells of a row: rates, processor time for each sample, and the ratio of the rates round by round."""
    rates = [statistics.median(v for each in runs for v in each["rates"]) for runs in found.values()]
    costs = [statistics.median(v for each in runs for v in each["microseconds"]) for runs in found.values()]
    rounds = [[statistics.median(each["rates"]) for each in runs] for runs in found.values()]
    ratio = statistics.median(a / b for a, b in zip(*rounds)) if len(rounds) == 2 else None
    return [
        *(f"{v:,.0f}" for v in rates),
        *(f"{v:,.1f}" for v in costs),
        "" if ratio is None else f"{ratio:.2f}",
    ]


if __name__ == "__main__":
    sys.exit(main())
