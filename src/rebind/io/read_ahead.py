"""Reading ahead in a thread, and the iterators that do."""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from ..tuning import current
from .batch import DataBatch
from .iterator import DataIter, OneArrayBatch, State

__all__ = ["ReadAheadIter", "Reader", "close_readers"]


class _Item(NamedTuple):
    # None at the end of an epoch, or the exception that was raised instead.
    batch: DataBatch | Exception | None
    position: State | None  # after it
    took: float  # seconds


class Reader:
    """Reads one iterator, ahead in a thread wherever that is quicker.

    While a batch is read, the caller can work on the one before; to hand it over costs some 0.3 ms, since each side
    wakes the other and they share the interpreter. So the thread is at work while reading a batch and the caller's work
    on one both take longer than that. Otherwise a batch is read when it is asked for.

    Parameters
    ----------
    source
        The iterator. Until `close`, nothing else may use it.
    depth
        How many batches wait at most, each with the memory that it takes.
    """

    def __init__(self, source: DataIter, depth: int) -> None:
        self._source, self._depth = source, depth
        self._pool: ThreadPoolExecutor | None = None  # one thread, which ends when nothing refers to the pool
        self._ahead: deque[Future[_Item]] = deque()
        self._last: _Item | None = None
        self._returned = -math.inf  # when `get` did
        self._pid = os.getpid()
        self._position = _position(source)  # after the batch that was returned last

    def get(self) -> tuple[DataBatch | None, State | None]:
        """Return the next batch, None at the end, and the position after it."""
        if self._pid != os.getpid():
            self._begin_again_in_child()
        away = time.perf_counter() - self._returned
        # The thread reads nothing while no batch is on its way.
        batch, position, took = self._ahead.popleft().result() if self._ahead else self._read()
        self._position = position
        if batch is None or isinstance(batch, Exception):
            self.close(wait=False)
            if batch is not None:
                raise batch
            return None, position
        if min(away, took) > current().hand_over_seconds:
            self._pool = self._pool or ThreadPoolExecutor(1, "rebind-prefetch")
            while len(self._ahead) < self._depth:
                self._ahead.append(self._pool.submit(self._read_in_thread, self._pool))
        self._returned = time.perf_counter()
        return batch, position

    def _read(self) -> _Item:
        if self._last is not None:  # asked again after the end or an error, the answer is the same
            return self._last
        began = time.perf_counter()
        batch: DataBatch | Exception | None
        try:
            batch = self._source.next()
        except StopIteration:
            batch = None
        except Exception as error:  # raised by `get`, in the thread that asks
            batch = error
        item = _Item(batch, _position(self._source), time.perf_counter() - began)
        if batch is None or isinstance(batch, Exception):
            self._last = item
        return item

    def _read_in_thread(self, pool: ThreadPoolExecutor) -> _Item:
        # At the end of a program a pool runs what it was given, and takes no more: nobody waits for further batches.
        try:
            pool.submit(int)
        except RuntimeError:
            return _Item(None, None, 0.0)
        return self._read()

    def _begin_again_in_child(self) -> None:
        """Read on from the batch that was returned last, in a child of a fork, where the thread is not.

        A source that has no position is taken as it is: what was read ahead comes first, and a batch that the thread
        was in the middle of may be lost.
        """
        self._pid, self._pool = os.getpid(), None
        if self._position is None:
            self._ahead = deque(item for item in self._ahead if item.done())
        else:
            self._ahead.clear()
            self._last = None
            self._source.load_state_dict(self._position)

    def close(self, wait: bool = True) -> None:
        """End the thread after the batch that it is reading; return when it has ended, unless `wait` is false."""
        if self._pool is not None and self._pid == os.getpid():
            self._pool.shutdown(wait, cancel_futures=True)
        self._ahead.clear()


def close_readers(readers: Sequence[Reader]) -> None:
    """End the threads of several readers, at the same time.

    >>> close_readers([])
    """
    for reader in readers:
        reader.close(wait=False)
    for reader in readers:
        reader.close()


def _position(source: DataIter) -> State | None:
    # Taken in the thread, right after the batch: later the source is ahead of what was returned.
    try:
        return source.state_dict()
    except (NotImplementedError, AttributeError):
        return None


class ReadAheadIter(OneArrayBatch):
    """An iterator whose batches another one makes, ahead of the training loop: base of those that read files.

    The thread starts with the first batch of an epoch and ends with it, with `reset`, with `close`, or when the
    iterator is garbage-collected. An exception in it is raised by `next`. Position and `reset` are those of the
    batches that were returned, whatever was read ahead.

    Parameters
    ----------
    source
        Makes the batches; it must have `state_dict` and `load_state_dict`.
    prefetch_buffer
        How many batches wait at most; with 0 nothing is read ahead, and there is no thread.

    Examples
    --------
    >>> import numpy as np
    >>> from rebind.io import NDArrayIter
    >>> ahead = ReadAheadIter(NDArrayIter(np.arange(6), batch_size=2), prefetch_buffer=4)
    >>> [batch.data[0].asnumpy().tolist() for batch in ahead]
    [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    """

    def __init__(self, source: DataIter, prefetch_buffer: int) -> None:
        super().__init__(source.batch_size)
        self.provide_data = source.provide_data
        self.provide_label = source.provide_label
        self._source = source
        self._depth = prefetch_buffer
        self._reader: Reader | None = None
        self._position: State | None = None  # None while it is that of the source
        self._done = False

    def iter_next(self) -> bool:
        if self._done:
            return False
        batch = self._next_ahead() if self._depth else next(self._source, None)
        if batch is None:
            self._done = True
            self.close()
            return False
        self.current_batch = batch
        return True

    def _next_ahead(self) -> DataBatch | None:
        if self._reader is None:
            # It refers to the source only, so that this object can be collected, which ends the thread.
            self._reader = Reader(self._source, self._depth)
        batch, self._position = self._reader.get()
        return batch

    def reset(self) -> None:
        """Begin a new epoch; batches that were read ahead are dropped."""
        self.close()
        if not self._done and self._position is not None:
            self._source.load_state_dict(self._position)
        self._source.reset()
        self._position = None
        self._done = False

    def close(self) -> None:
        """End the thread."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def state_dict(self) -> State:
        """Return the position after the last batch that was returned, not the last one that was read ahead."""
        return {
            "source": self._source.state_dict() if self._position is None else self._position,
            "done": self._done,
        }

    def load_state_dict(self, state: State) -> None:
        self.close()
        self._source.load_state_dict(state["source"])
        self._position = None
        self._done = bool(state["done"])
