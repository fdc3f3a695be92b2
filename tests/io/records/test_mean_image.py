"""`mean_img`: the mean of all samples, for every part of them; over the workers of a job it is written once."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from tests.distributed.workers import run_job

import rebind as mx
from rebind.recordio import MXRecordIO, pack_img

SHAPE = (3, 8, 8)


@pytest.fixture
def folder(tmp_path):
    """A folder with ten pictures, of which the later ones are brighter."""
    random = np.random.RandomState(0)
    with MXRecordIO(str(tmp_path / "a.rec"), "w") as record:
        for i in range(10):
            label = [2, 5, i, 0.1, 0.2, 0.5, 0.8]  # which both iterators can read
            picture = random.randint(0, 100, (8, 8, 3)) + 15 * i
            record.write(pack_img((0, label, i, 0), picture.astype("uint8"), img_fmt=".png"))
    return tmp_path


def batches(kind: str, folder: Path, mean: Path, **given: object) -> object:
    """Return an iterator that subtracts a mean image."""
    labels = {"label_width": 7} if kind == "ImageRecordIter" else {}
    return getattr(mx.io, kind)(
        path_imgrec=str(folder / "a.rec"), data_shape=SHAPE, batch_size=2, verbose=False, mean_img=str(mean),
        **labels, **given,
    )  # fmt: skip


def rows(iterator: object) -> np.ndarray:
    """Return an epoch's pictures."""
    found = [batch.data[0].asnumpy()[: 2 - (batch.pad or 0)] for batch in iterator]
    return np.concatenate(found)


KINDS = ["ImageRecordIter", "ImageDetRecordIter"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_part_has_the_mean_of_all_samples(folder, kind):
    for part in range(3):
        rows(batches(kind, folder, folder / f"{part}.bin", num_parts=3, part_index=part))
    whole = rows(batches(kind, folder, folder / "mean.bin", num_parts=1))
    np.testing.assert_allclose(whole.mean(0), 0, atol=1e-4)
    contents = {(folder / name).read_bytes() for name in ("0.bin", "1.bin", "2.bin", "mean.bin")}
    assert len(contents) == 1


def read_own(kind: str, folder: Path, given: dict[str, object]) -> np.ndarray:
    """Read a worker's part twice, the second time from the file; only worker 0 has the folder of the mean image."""
    rank = mx.distributed.current_job().rank
    mean = folder / "means" / "mean.bin" if rank == 0 else folder / "nowhere" / "mean.bin"
    if rank == 0:
        os.mkdir(mean.parent)
    given = {name: rank if value == "rank" else value for name, value in given.items()}
    first = rows(batches(kind, folder, mean, **given))
    written = os.stat(mean).st_mtime_ns if rank == 0 else None
    np.testing.assert_array_equal(first, rows(batches(kind, folder, mean, **given)))
    assert rank != 0 or os.stat(mean).st_mtime_ns == written
    return first


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("given", [{}, {"num_parts": 3, "part_index": "rank"}], ids=["by rank", "given"])
def test_workers_of_a_job_subtract_the_mean_of_all_samples(folder, kind, given):
    alone = rows(batches(kind, folder, folder / "mean.bin", num_parts=1))
    parts = run_job(read_own, 3, kind, folder, given)
    assert all(len(part) for part in parts)
    np.testing.assert_array_equal(np.concatenate(parts), alone)
    assert (folder / "means" / "mean.bin").read_bytes() == (folder / "mean.bin").read_bytes()


def read_with(shapes: dict[str, tuple[int, ...]], mean: str, folder: Path) -> None:
    """Read a worker's part with one shape or another."""
    shape = shapes.get(str(mx.distributed.current_job().rank), SHAPE)
    mx.io.ImageRecordIter(
        path_imgrec=str(folder / "a.rec"), data_shape=shape, batch_size=2, label_width=7, mean_img=mean
    )


def test_workers_fail_together(folder):
    missing = str(folder / "nowhere" / "mean.bin")
    for shapes, path, kind, says in (
        ({}, missing, "MissingFileError", "mean_img: the folder .* must exist"),
        ({"1": (3, 6, 6)}, missing, "WorkerError", "mean_img: all workers must have the same data_shape"),
        (
            {"0": (3, 6, 6), "1": (3, 6, 6)},
            str(folder / "mean.bin"),
            "ShapeError",
            r"must have shape \(3, 6, 6\)",
        ),
    ):
        batches("ImageRecordIter", folder, folder / "mean.bin")
        first, other = run_job(read_with, 2, shapes, path, folder, may_fail=True)
        assert (first.kind, other.kind) == (kind, "WorkerError")
        assert re.search(says, first.message), first.message
