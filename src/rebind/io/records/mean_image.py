"""The mean image of record files: read from its file, or computed of all samples and written."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import torch

from ... import ndarray as nd
from ...checks import check_folder
from ...distributed import Job, current_job, first_does
from ...errors import FormatError, ShapeError
from ...ndarray import NDArray
from ..partition import rank_and_size
from .batches import RecordBatches

__all__ = ["mean_image"]

#: Returns the batches of a part of the samples, by `num_parts` and `part_index`.
PartReader: TypeAlias = Callable[[int, int], RecordBatches]

#: The parameter of iterators, as errors say it, and the name of the array in the file.
_WHAT = "mean_img"


def mean_image(
    path: str, data_shape: tuple[int, int, int], part: tuple[int, int], read: PartReader
) -> np.ndarray:
    """Return the mean image in a file, which is written first if it is not there.

    It is that of all samples, whichever part of them is read. Where each worker of a job reads its own part, each adds
    up that, worker 0 writes the file, and the others get what it has: their machines need not have the folder.

    Parameters
    ----------
    path
        The file.
    data_shape
        Channels, height and width.
    part
        Which part of the samples this process reads, as ``(num_parts, part_index)``.
    read
        Returns the batches of a part, not normalized.

    Raises
    ------
    FormatError
        When the file has no array ``'mean_img'``.
    ShapeError
        When that has another shape.
    """
    worker = rank_and_size()
    if worker is not None and part == worker[::-1]:
        return _of_job(current_job(), path, data_shape, lambda: _sums(read(*part)))
    if not os.path.exists(path):
        check_folder(path, _WHAT)
        _write(path, _sums(read(1, 0)), data_shape)
    return _load(path, data_shape)


def _of_job(
    job: Job, path: str, data_shape: tuple[int, int, int], sums: Callable[[], np.ndarray]
) -> np.ndarray:
    """Return the mean image in worker 0's file; all workers must call it."""
    job.agree(_WHAT, "data_shape", list(data_shape))
    if not job.exchange(_WHAT, os.path.exists(path))[0]:
        first_does(job, _WHAT, lambda: check_folder(path, _WHAT))
        whole = torch.from_numpy(sums())
        job.sum(whole)
        first_does(job, _WHAT, lambda: _write(path, whole.numpy(), data_shape))
    mean = torch.empty(data_shape)
    first_does(job, _WHAT, lambda: mean.copy_(torch.from_numpy(_load(path, data_shape))))
    job.broadcast(mean)
    return mean.numpy()


def _sums(batches: RecordBatches) -> np.ndarray:
    """Return the sum of one epoch's samples, and behind it their number, in one array."""
    total, count = np.zeros(batches.provide_data[0].shape[1:]), 0
    for batch in batches:
        rows = batch.data[0].shape[0] - (batch.pad or 0)
        total += batch.data[0].asnumpy()[:rows].sum(0, dtype=np.float64)
        count += rows
    batches.close()
    return np.append(total, count)


def _write(path: str, sums: np.ndarray, data_shape: tuple[int, int, int]) -> None:
    mean = sums[:-1].reshape(data_shape) / max(sums[-1], 1)
    nd.save(path, {_WHAT: nd.array(mean.astype(np.float32))})


def _load(path: str, data_shape: tuple[int, int, int]) -> np.ndarray:
    arrays = nd.load(path)
    mean = arrays.get(_WHAT) if isinstance(arrays, dict) else None
    if not isinstance(mean, NDArray):
        raise FormatError(f"{_WHAT}: the file {path!r} must have an array {_WHAT!r}")
    if mean.shape != data_shape:
        raise ShapeError(
            f"{_WHAT}: the image in {path!r} must have shape {data_shape}, that of data_shape; got {mean.shape}. "
            f"Without the file, it is made again."
        )
    return mean.asnumpy().astype(np.float32)
