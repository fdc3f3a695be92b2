"""Batches from the files of the MNIST data."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import torch

from .. import dtypes
from ..device import Device
from ..errors import FormatError, ShapeError
from ..logs import log
from ..ndarray.base import wrap_tensor
from ..params import AtLeast
from .batch import DataBatch, DataDesc
from .idx import read_idx
from .iterator import OneArrayBatch, State
from .partition import check_part, chosen_part, sample_bounds
from .settings import settings
from .shuffling import shuffled_order

__all__ = ["MNISTIter"]


class MNISTIter(OneArrayBatch):
    """Batches of pictures and labels from IDX files such as those of MNIST, compressed by gzip or not.

    Pixels are divided by 256. Samples that do not fill a batch are left out. Shuffling gives MXNet's order, which is
    the same in every epoch. `index` has the numbers of the samples in the file, where MXNet has zeros.

    Parameters
    ----------
    image, label
        The files.
    batch_size
        Samples in a batch.
    shuffle
        Whether to shuffle the samples, once.
    flat
        Whether a sample has one axis, ``(rows * columns,)``, rather than ``(1, rows, columns)``.
    seed
        Of the order of shuffled samples.
    silent
        Whether not to log what was read.
    num_parts, part_index
        The part of the samples to read; without both, that of this worker in a job of several.
    prefetch_buffer, ctx
        Without effect: the samples are in memory.
    dtype
        The type of data and labels, float32 if None, which is the only one that MXNet knows.
    data_name, label_name
        The names in `provide_data` and `provide_label`.

    Raises
    ------
    FormatError
        When a file is of another kind or truncated, or there are more labels than pictures, or fewer.
    ShapeError
        When there are not enough samples for a batch.

    Examples
    --------
    >>> import os, struct, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     image, label = (os.path.join(folder, name) for name in ("images", "labels"))
    ...     with open(image, "wb") as file:
    ...         _ = file.write(struct.pack(">4I", 2051, 3, 2, 2) + bytes(range(12)))
    ...     with open(label, "wb") as file:
    ...         _ = file.write(struct.pack(">2I", 2049, 3) + bytes([7, 8, 9]))
    ...     batches = MNISTIter(image=image, label=label, batch_size=1, shuffle=True, flat=True, silent=True)
    >>> batches.next().data[0].asnumpy() * 256
    array([[0., 1., 2., 3.]], dtype=float32)
    >>> [batch.label[0].item() for batch in batches]
    [9.0, 8.0]
    """

    @settings
    def __init__(
        self,
        *,
        image: str = "./train-images-idx3-ubyte",
        label: str = "./train-labels-idx1-ubyte",
        batch_size: Annotated[int, AtLeast(1)] = 128,
        shuffle: bool = True,
        flat: bool = False,
        seed: int = 0,
        silent: bool = False,
        num_parts: int | None = None,
        part_index: int | None = None,
        prefetch_buffer: Annotated[int, AtLeast(0)] = 4,
        ctx: Literal["cpu", "gpu"] = "gpu",
        dtype: torch.dtype | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
    ) -> None:
        super().__init__(batch_size)
        self.num_parts, self.part_index = chosen_part("MNISTIter", num_parts, part_index)
        check_part("MNISTIter", self.num_parts, self.part_index)
        pictures, labels = read_idx(image, axes=3), read_idx(label, axes=1)
        if len(pictures) != len(labels):
            raise FormatError(
                f"MNISTIter: there must be a label for each picture; "
                f"got {len(labels)} in {label} for {len(pictures)} in {image}"
            )
        first, last = sample_bounds(len(pictures), self.num_parts, self.part_index)
        if last - first < batch_size:
            raise ShapeError(
                f"MNISTIter: batch_size must be at most the number of samples; got {batch_size} for {last - first}"
            )
        order = shuffled_order(last - first, seed) if shuffle else np.arange(last - first)
        self._index = (order + first).astype(np.uint64)
        self._dtype = torch.float32 if dtype is None else dtype
        self._device = Device("cpu", 0)
        _, rows, columns = pictures.shape
        shape = (rows * columns,) if flat else (1, rows, columns)
        # Bytes, a quarter of what MXNet stores: those of a batch become numbers when it is made.
        self._pictures = torch.from_numpy(pictures[order + first]).reshape(-1, *shape)
        self._labels = torch.from_numpy(labels[order + first]).to(dtype=self._dtype)
        given = dtypes.numpy_type(self._dtype)
        self.provide_data = [DataDesc(data_name, (batch_size, *shape), given)]
        self.provide_label = [DataDesc(label_name, (batch_size,), given)]
        self._next = 0  # the first sample of the next batch
        if not silent:
            log().info("MNISTIter: %d samples of shape %s, shuffle=%s", last - first, shape, bool(shuffle))

    def reset(self) -> None:
        self._next = 0

    def iter_next(self) -> bool:
        batch = slice(self._next, self._next + self.batch_size)
        if batch.stop > len(self._labels):
            return False
        self._next = batch.stop
        pictures = self._pictures[batch].to(dtype=torch.float32).mul_(1 / 256)
        if self._dtype != torch.float32:
            pictures = pictures.to(dtype=self._dtype)
        self.current_batch = DataBatch(
            [wrap_tensor(pictures, self._device)],
            [wrap_tensor(self._labels[batch].clone(), self._device)],
            pad=0,
            index=self._index[batch],
        )
        return True

    def state_dict(self) -> State:
        return {"next": self._next}

    def load_state_dict(self, state: State) -> None:
        self._next = int(state["next"])
