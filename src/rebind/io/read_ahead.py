"""Reading ahead in a thread, and the iterators that always do."""

from __future__ import annotations

import contextlib
import queue
import threading
import weakref
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from .batch import DataBatch
from .iterator import CurrentBatch, DataIter, State

__all__ = ["ReadAheadIter", "Reader", "ReadingThread", "stop_all"]

#: A batch, None at the end of an epoch, or the exception that was raised instead; and the position after it.
_Item: TypeAlias = "tuple[DataBatch | BaseException | None, State | None]"


class ReadingThread(NamedTuple):
    """What it takes to end a reader's thread: nothing that refers to the reader, or to an error that it has raised."""

    thread: threading.Thread
    stopped: threading.Event
    items: queue.Queue[_Item]


class Reader:
    """A thread that reads one iterator ahead.

    Parameters
    ----------
    source
        The iterator. While the thread runs, nothing else may use it.
    depth
        How many batches wait at most, each with the memory that it takes.

    Attributes
    ----------
    running
        For `stop_all`.
    """

    def __init__(self, source: DataIter, depth: int) -> None:
        self._items: queue.Queue[_Item] = queue.Queue(depth)
        self._stopped = threading.Event()
        self._last: _Item | None = None
        # A daemon: a script that ends in the middle of an epoch must not wait for it.
        thread = threading.Thread(target=self._read, args=(source,), name="rebind-prefetch", daemon=True)
        self.running = ReadingThread(thread, self._stopped, self._items)
        thread.start()

    def _read(self, source: DataIter) -> None:
        while not self._stopped.is_set():
            item: DataBatch | BaseException | None
            try:
                item = source.next()
            except StopIteration:
                item = None
            except BaseException as error:  # raised again by `get`, in the thread that reads
                item = error
            self._put((item, _position(source)))
            if item is None or isinstance(item, BaseException):
                return

    def _put(self, item: _Item) -> None:
        # With a timeout: a thread that waited for room without end could not be stopped.
        while not self._stopped.is_set():
            try:
                return self._items.put(item, timeout=0.1)
            except queue.Full:
                continue

    def get(self) -> tuple[DataBatch | None, State | None]:
        """Return the next batch, None at the end, and the position after it."""
        # The thread ends with the epoch or an exception: asked again, the answer is the same.
        item, position = self._last or self._items.get()
        if item is None or isinstance(item, BaseException):
            self._last = item, position
        if isinstance(item, BaseException):
            raise item
        return item, position


def stop_all(running: Sequence[ReadingThread]) -> None:
    """End the threads of readers; what they have read is dropped."""
    for each in running:
        each.stopped.set()
    for each in running:
        while each.thread.is_alive():  # make room for what it is about to put
            with contextlib.suppress(queue.Empty):
                each.items.get_nowait()
            each.thread.join(0.01)


def _position(source: DataIter) -> State | None:
    # Taken in the thread, right after the batch: later the source is ahead of what was returned.
    try:
        return source.state_dict()
    except (NotImplementedError, AttributeError):
        return None


class ReadAheadIter(CurrentBatch):
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
        """Advance to the next batch; return whether there is one."""
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
            self._stop = weakref.finalize(self, stop_all, [self._reader.running])
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
        """End the thread.

        >>> import numpy as np
        >>> from rebind.io import NDArrayIter
        >>> ahead = ReadAheadIter(NDArrayIter(np.arange(6), batch_size=2), prefetch_buffer=4)
        >>> _ = ahead.next()  # starts the thread
        >>> ahead.close()
        """
        if self._reader is not None:
            self._stop()
            self._reader = None

    def state_dict(self) -> State:
        """Return the position after the last batch that was returned, not the last one that was read ahead."""
        return {
            "source": self._source.state_dict() if self._position is None else self._position,
            "done": self._done,
        }

    def load_state_dict(self, state: State) -> None:
        """Go back to a position that `state_dict` returned."""
        self.close()
        self._source.load_state_dict(state["source"])
        self._position = None
        self._done = bool(state["done"])
