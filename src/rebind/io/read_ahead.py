"""Reading ahead in a thread, and the iterators that do."""

from __future__ import annotations

import atexit
import math
import os
import queue
import threading
import time
import weakref
from collections.abc import Sequence
from typing import NamedTuple

from .batch import DataBatch
from .iterator import DataIter, OneArrayBatch, State

__all__ = ["ReadAheadIter", "Reader", "ReadingThread", "stop_all", "stop_with"]

#: Seconds that handing a batch from one thread to another costs both of them, about.
_HANDING_OVER = 1e-4


class _Item(NamedTuple):
    # None at the end of an epoch, or the exception that was raised instead.
    batch: DataBatch | Exception | None
    position: State | None  # after it
    took: float  # seconds


class ReadingThread(NamedTuple):
    """What it takes to end a reader's thread: nothing that refers to the reader, or to an error that it has raised."""

    threads: list[threading.Thread]  # none, or one that has been started: before, it refers to the reader
    stopped: threading.Event
    room: queue.SimpleQueue[None]  # one entry for each batch that may be read


class Reader:
    """Reads one iterator, ahead in a thread wherever that is quicker.

    While a batch is read, the caller can work on the one before; to hand it over costs some 0.1 ms, since each side
    wakes the other and they share the interpreter. So the thread is at work while reading a batch and the caller's work
    on one both take longer than that. Otherwise a batch is read when it is asked for.

    Parameters
    ----------
    source
        The iterator. Until `stop_all`, nothing else may use it.
    depth
        How many batches wait at most, each with the memory that it takes.

    Attributes
    ----------
    running
        For `stop_all`.
    """

    def __init__(self, source: DataIter, depth: int) -> None:
        # Not `queue.Queue`, which takes several locks for an entry, each of which may hand the interpreter over.
        self._items: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        self._source = source
        self._reading = threading.Lock()  # held while a batch is read, and until it waits in its place
        self._depth = depth
        self._room = depth  # what the thread has not been given yet
        self._last: _Item | None = None
        self._returned = -math.inf  # when `get` did
        self.running = ReadingThread([], threading.Event(), queue.SimpleQueue())
        self._pid = os.getpid()
        self._position = _position(source)  # after the batch that was returned last

    def read_ahead(self) -> None:
        """Read wherever there is room, until the end or `stop_all`: what the thread does."""
        _, stopped, room = self.running
        while True:
            room.get()
            with self._reading:
                if stopped.is_set() or self._last:
                    return
                self._items.put(self._read())

    def _read(self) -> _Item:
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
            # The thread ends now: it refers to the error's frames, and so to the caller.
            self.running.room.put(None)
        return item

    def get(self) -> tuple[DataBatch | None, State | None]:
        """Return the next batch, None at the end, and the position after it."""
        if self._pid != os.getpid():
            self._begin_again_in_child()
        away = time.perf_counter() - self._returned
        batch, position, took = self._next()
        self._position = position
        if isinstance(batch, Exception):
            raise batch
        if batch is not None and min(away, took) > _HANDING_OVER:
            self._give_room()
        self._returned = time.perf_counter()
        return batch, position

    def _begin_again_in_child(self) -> None:
        """Read on from the batch that was returned last, in a child of a fork, where the thread is not.

        A source that has no position is taken as it is: what was read ahead comes first, and a batch that the thread
        was in the middle of may be lost.
        """
        self._pid = os.getpid()
        self._reading = threading.Lock()
        self._room = self._depth - self._items.qsize()
        threads, _, room = self.running
        threads.clear()
        while not room.empty():
            room.get()
        if self._position is not None:
            self._items, self._last, self._room = queue.SimpleQueue(), None, self._depth
            self._source.load_state_dict(self._position)

    def _next(self) -> _Item:
        if self._items.empty():
            if self._last is not None:  # asked again after the end or an error, the answer is the same
                return self._last
            # Whoever holds the lock reads a batch, if the thread has been given room for one that has not come yet.
            # Otherwise it has just put one, which was the one before, and lets go of the lock now.
            if self._reading.acquire(blocking=self._room == self._depth):
                try:
                    if self._items.empty():  # still: the thread may just have read one
                        return self._last or self._read()
                finally:
                    self._reading.release()
        item = self._items.get()
        self._room += 1
        return item

    def _give_room(self) -> None:
        threads, _, room = self.running
        for _ in range(self._room):
            room.put(None)
        self._room = 0
        if not threads:
            thread = _Thread(self)
            thread.start()
            threads.append(thread)


def stop_all(running: Sequence[ReadingThread], wait: bool = True) -> None:
    """End the threads of readers, each after the batch that it is reading.

    Parameters
    ----------
    running
        What belongs to the threads.
    wait
        Whether to return when they have ended.
    """
    for each in running:
        each.stopped.set()
        each.room.put(None)  # for one that waits for room
    for each in running if wait else ():
        for thread in each.threads:
            thread.join()


def stop_with(owner: object, running: Sequence[ReadingThread]) -> weakref.finalize[..., object]:
    """End threads when an object is collected that is used no more; ``detach()`` of the answer takes that back."""
    # Without a wait: memory may be collected anywhere, also within `threading`, whose locks joining a thread takes.
    finalizer = weakref.finalize(owner, stop_all, running, wait=False)
    finalizer.atexit = False
    return finalizer


class _Thread(threading.Thread):
    """A reader's thread.

    A daemon: a script that ends in the middle of an epoch must not wait for what it would read.
    """

    def __init__(self, reader: Reader) -> None:
        super().__init__(target=reader.read_ahead, name="rebind-prefetch", daemon=True)
        self.running = reader.running


@atexit.register
def _stop_at_exit() -> None:
    # A thread that is in torch while Python ends aborts the process, also one that has read all: of an iterator that
    # was dropped it has the last reference, and frees arrays. Python lists threads until that is done.
    threads = [each for each in threading.enumerate() if isinstance(each, _Thread)]
    stop_all([each.running for each in threads], wait=False)
    for thread in threads:
        thread.join()


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
            self._reader = Reader(self._source, self._depth)
            # The thread refers to the reader only, so that this object can be collected, which ends the thread. What is
            # registered here must not lead to the reader, whose error has frames that hold this object.
            self._stop = stop_with(self, [self._reader.running])
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
            self._stop.detach()
            stop_all([self._reader.running])
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
