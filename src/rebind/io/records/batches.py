"""Batches of decoded records: threads decode one batch while the next is read."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import torch

from ...checks import warn_user
from ...errors import FormatError, MXNetError, ShapeError
from ...ndarray import NDArray
from ..batch import DataBatch, DataDesc
from ..iterator import DataIter, State
from .buffers import Buffers
from .normalizing import written_dtype
from .source import Record, RecordSource

__all__ = ["RecordBatches", "WriteSample"]


#: Writes a record's picture and label to row `at` of a batch's data and label, and returns the record's number.
WriteSample = Callable[[Record, "np.random.Generator | None", np.ndarray, np.ndarray, int], int]


@dataclass
class _Job:
    """A batch that is being decoded."""

    data: torch.Tensor
    label: torch.Tensor
    index: np.ndarray
    pad: int
    position: State
    futures: list[Future[list[tuple[int, MXNetError]]]] = field(default_factory=list)


class RecordBatches(DataIter):
    """Batches of records, decoded by threads.

    With `round_batch`, records from the start fill the last batch up, and the next epoch begins behind them, as in
    MXNet. Without it, the last batch repeats its own records, and every epoch begins at the first one (MXNet
    leaves the rows as they are in memory, and does not count them). In either case `pad` counts these rows.

    Parameters
    ----------
    source
        Gives the records.
    write
        Writes one into a batch.
    dtype
        Of the data.
    seed
        Of what is left to chance; None where nothing is. Each sample has a generator of its own, from the seed, the
        epoch and the sample's number, so that threads do not change what is drawn.
    threads
        How many decode.
    skip_broken
        Whether a picture that does not decode is replaced by another one of its batch, with a warning; it is an error
        otherwise.
    pinned
        Whether batches are in memory from which copies to a GPU run beside other work.
    ahead
        How many batches wait outside.
    """

    def __init__(
        self,
        source: RecordSource,
        write: WriteSample,
        provide_data: DataDesc,
        provide_label: DataDesc,
        *,
        dtype: torch.dtype,
        round_batch: bool,
        seed: int | None,
        threads: int,
        skip_broken: bool,
        pinned: bool,
        ahead: int,
    ) -> None:
        super().__init__(provide_data.shape[0])
        self.provide_data, self.provide_label = [provide_data], [provide_label]
        self.broken: list[str] = []
        self._source, self._write = source, write
        self._dtype, self._round_batch, self._seed = dtype, round_batch, seed
        self._threads, self._skip_broken, self._pinned = threads, skip_broken, pinned
        self._ahead, self._pid = ahead, os.getpid()
        self._buffers = self._new_buffers()
        self._pool: ThreadPoolExecutor | None = None
        self._jobs: deque[_Job] = deque()
        self._epoch = self._sample = 0
        self._ended = self._carried = False
        self._position: State | None = None  # None before the first batch of an epoch

    def _new_buffers(self) -> Buffers | None:
        # Those that are decoded or wait, the one in use, and one to spare.
        shape, dtype = self.provide_data[0].shape, written_dtype(self._dtype)
        return None if self._pinned else Buffers(shape, dtype, spare=self._ahead + 4)

    def _begin_again_in_child(self) -> None:
        """Leave the threads, in a child of a fork, where they are not, and what they were decoding; nothing is lost."""
        self._pid = os.getpid()
        self._jobs.clear()
        self._pool, self._buffers = None, self._new_buffers()
        self.load_state_dict(self.state_dict())

    def next(self) -> DataBatch:
        if self._pid != os.getpid():
            self._begin_again_in_child()
        # One batch waits while another one is decoded, so that no thread is idle at the end of one.
        while len(self._jobs) < 2 and not self._ended:
            self._submit()
        if not self._jobs:
            raise StopIteration
        job = self._jobs.popleft()
        try:
            broken = [failure for future in job.futures for failure in future.result()]
            if broken:
                self._replace(job, broken)
        except BaseException:
            self._drop()
            raise
        self._position = job.position
        data = job.data.to(dtype=self._dtype)
        return DataBatch([NDArray(data)], [NDArray(job.label)], pad=job.pad, index=job.index)

    def _submit(self) -> None:
        """Read the records of a batch, and have them decoded."""
        records = self._source.read(self.batch_size)
        if not records and not self._sample:
            self._source.reset()  # the epoch before has taken all that were left
            records = self._source.read(self.batch_size)
            if not records:
                paths = "; ".join(self._source.files.paths)
                raise ShapeError(f"{paths} must have at least one record in each part; got none")
        count = len(records)
        if count < self.batch_size:
            self._ended = True
            if not count:
                return
            if self._round_batch:
                self._from_the_start(records)
            else:
                records += [records[i % count] for i in range(self.batch_size - count)]
        data = self._empty()
        label = torch.empty(self.provide_label[0].shape, dtype=torch.float32, pin_memory=self._pinned)
        index = np.zeros(self.batch_size, np.uint64)
        first, self._sample = self._sample, self._sample + self.batch_size
        job = _Job(data, label, index, self.batch_size - count, self._here())
        self._pool = self._pool or ThreadPoolExecutor(self._threads, thread_name_prefix="rebind-decode")
        # Few records a task: all threads end at about the same time, and handing over costs little beside decoding.
        size = max(1, min(8, -(-self.batch_size // self._threads)))
        for at in range(0, self.batch_size, size):
            task = (records[at : at + size], at, first + at, self._epoch, data.numpy(), label.numpy(), index)
            job.futures.append(self._pool.submit(self._decode, *task))
        self._jobs.append(job)

    def _empty(self) -> torch.Tensor:
        if self._buffers is not None:
            return self._buffers.take()
        # torch uses pinned memory again by itself.
        return torch.empty(self.provide_data[0].shape, dtype=written_dtype(self._dtype), pin_memory=True)

    def _from_the_start(self, records: list[Record]) -> None:
        self._carried = True
        while len(records) < self.batch_size:  # more than once where a batch has more rows than there are
            self._source.reset()
            records += self._source.read(self.batch_size - len(records))

    def _decode(
        self,
        records: Sequence[Record],
        at: int,
        sample: int,
        epoch: int,
        data: np.ndarray,
        label: np.ndarray,
        index: np.ndarray,
    ) -> list[tuple[int, MXNetError]]:
        """Write records to the rows from `at` on; return the broken ones when they are to be left out."""
        broken: list[tuple[int, MXNetError]] = []
        for i, record in enumerate(records):
            draws = None
            if self._seed is not None:
                # A sample's numbers come from its own position in the sequence.
                key = np.array([self._seed & 0xFFFF_FFFF_FFFF_FFFF, epoch], np.uint64)
                draws = np.random.Generator(np.random.Philox(key=key, counter=[0, 0, sample + i, 0]))
            try:
                index[at + i] = self._write(record, draws, data, label, at + i)
            except FormatError as error:
                if not self._skip_broken:
                    raise
                broken.append((at + i, error))
        return broken

    def _replace(self, job: _Job, broken: list[tuple[int, MXNetError]]) -> None:
        rows = {row for row, _ in broken}
        good = [row for row in range(self.batch_size) if row not in rows]
        if not good:
            raise FormatError(
                f"a batch must have a picture that decodes; got none, the first error: {broken[0][1]}"
            ) from broken[0][1]
        for at, (row, error) in enumerate(broken):
            other = good[at % len(good)]
            job.data[row], job.label[row], job.index[row] = (
                job.data[other],
                job.label[other],
                job.index[other],
            )
            self.broken.append(str(error))
            warn_user(f"ImageRecordIter: {error}. It is left out ({len(self.broken)} so far).")

    def reset(self) -> None:
        """Begin a new epoch, behind the records that the last batch has taken from the start."""
        self._drop()
        if not self._carried:
            self._source.reset()
        self._carried = self._ended = False
        self._epoch += 1
        self._sample = 0
        self._position = None

    def _drop(self) -> None:
        if self._pid != os.getpid():
            self._begin_again_in_child()
        for job in self._jobs:
            for future in job.futures:
                future.cancel()
        self._jobs.clear()

    def close(self) -> None:
        """End the threads, and close the files."""
        self._drop()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
        self._source.files.close()

    def _here(self) -> State:
        return {
            "source": self._source.state_dict(),
            "epoch": self._epoch,
            "sample": self._sample,
            "ended": self._ended,
            "carried": self._carried,
        }

    def state_dict(self) -> State:
        """Return the position after the last batch that was returned, for `load_state_dict`."""
        return self._here() if self._position is None else self._position

    def load_state_dict(self, state: State) -> None:
        self._drop()
        self._source.load_state_dict(state["source"])
        self._epoch, self._sample = int(state["epoch"]), int(state["sample"])
        self._ended, self._carried = bool(state["ended"]), bool(state["carried"])
        self._position = None
