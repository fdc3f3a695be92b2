"""Batches that are made in the background."""

from __future__ import annotations

import contextlib
import queue
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ArgumentError, ShapeError
from .batch import DataBatch, DataDesc, as_descs
from .iterator import CurrentBatch, DataIter, State

__all__ = ["PrefetchingIter"]

_DEPTH = 2  # batches that wait, each with the memory it takes


class PrefetchingIter(CurrentBatch):
    """Iterators that are read ahead by a thread each, and put together to one.

    The threads start with the first batch of an epoch and end with it, with `reset`, with `close`, or when the
    iterator is no longer used. An exception in one of them is raised by `next`.

    Parameters
    ----------
    iters
        An iterator, or several of the same length and batch size.
    rename_data, rename_label
        For each iterator a dict from its names to the names that this one provides.

    Examples
    --------
    >>> import numpy as np
    >>> from rebind.io import NDArrayIter
    >>> ahead = PrefetchingIter(NDArrayIter(np.arange(6), batch_size=2))
    >>> [batch.data[0].asnumpy().tolist() for batch in ahead]
    [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    """

    def __init__(
        self,
        iters: DataIter | Sequence[DataIter],
        rename_data: Sequence[Mapping[str, str]] | None = None,
        rename_label: Sequence[Mapping[str, str]] | None = None,
    ) -> None:
        self.iters: list[DataIter] = (
            [iters] if hasattr(iters, "next") else list(iters)  # type: ignore[list-item]
        )
        if not self.iters:
            raise ArgumentError("PrefetchingIter: iters must hold at least one iterator; got none")
        for who, names in (("rename_data", rename_data), ("rename_label", rename_label)):
            if names is not None and len(names) != len(self.iters):
                raise ArgumentError(
                    f"PrefetchingIter: {who} must have a dict for each of {len(self.iters)} iterators; "
                    f"got {len(names)}"
                )
        self.n_iter = len(self.iters)
        self.rename_data = rename_data
        self.rename_label = rename_label
        super().__init__(self.provide_data[0].shape[0])
        self._readers: list[_Reader] | None = None
        self._positions: list[State | None] = [None] * self.n_iter
        self._done = False

    @property
    def provide_data(self) -> list[DataDesc]:  # type: ignore[override]
        """Descriptions of a batch's data, of all iterators in turn."""
        names = self.rename_data or [{}] * self.n_iter
        return [
            desc
            for each, new in zip(self.iters, names, strict=True)
            for desc in as_descs(each.provide_data, new)
        ]

    @property
    def provide_label(self) -> list[DataDesc]:  # type: ignore[override]
        """Descriptions of a batch's labels, of all iterators in turn."""
        names = self.rename_label or [{}] * self.n_iter
        return [
            desc
            for each, new in zip(self.iters, names, strict=True)
            for desc in as_descs(each.provide_label, new)
        ]

    def reset(self) -> None:
        """Begin a new epoch; batches that were read ahead are dropped."""
        self.close()
        for each in self.iters:
            each.reset()
        self._positions = [None] * self.n_iter
        self._done = False

    def close(self) -> None:
        """End the threads."""
        if self._readers is not None:
            self._stop()
            self._readers = None

    def iter_next(self) -> bool:
        """Advance to the next batch; return whether there is one."""
        if self._done:
            return False
        if self._readers is None:
            self._readers = [_Reader(each) for each in self.iters]
            # A thread knows its reader only, so that this object can go when nobody else knows it.
            self._stop = weakref.finalize(self, _stop_all, self._readers)
        batches, self._positions = map(list, zip(*(reader.get() for reader in self._readers), strict=True))
        if None in batches:
            self._done = True
            self.close()
            if any(batch is not None for batch in batches):
                raise ShapeError(
                    "PrefetchingIter: iterators must have the same number of batches; one ended first"
                )
            return False
        pads = [batch.pad for batch in batches]
        if len(set(pads)) != 1:
            raise ShapeError(f"PrefetchingIter: iterators must have the same padding; got {pads}")
        self.current_batch = DataBatch(
            [each for batch in batches for each in batch.data],
            [each for batch in batches for each in batch.label or ()],
            pad=pads[0],
            index=batches[0].index,
            bucket_key=batches[0].bucket_key,
            provide_data=self.provide_data,
            provide_label=self.provide_label,
        )
        return True

    def state_dict(self) -> State:
        """Return the position in the data behind the last batch that was handed out, not the last one read ahead."""
        return {
            "iters": [
                each.state_dict() if position is None else position
                for each, position in zip(self.iters, self._positions, strict=True)
            ]
        }

    def load_state_dict(self, state: State) -> None:
        """Go back to a position that `state_dict` returned."""
        self.close()
        for each, position in zip(self.iters, state["iters"], strict=True):
            each.load_state_dict(position)
        self._positions = [None] * self.n_iter
        self._done = False


class _Reader:
    """A thread that reads one iterator ahead."""

    def __init__(self, source: DataIter) -> None:
        self.items: queue.Queue[tuple[Any, Any]] = queue.Queue(_DEPTH)
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._read, args=(source,), name="rebind-prefetch", daemon=True)
        self.thread.start()

    def _read(self, source: DataIter) -> None:
        while not self.stopped.is_set():
            item: Any
            try:
                item = source.next()
            except StopIteration:
                item = None
            except BaseException as error:  # raised again by the one who reads
                item = error
            self._put((item, _position(source)))
            if item is None or isinstance(item, BaseException):
                return

    def _put(self, item: tuple[Any, Any]) -> None:
        while not self.stopped.is_set():
            try:
                return self.items.put(item, timeout=0.1)
            except queue.Full:
                continue

    def get(self) -> tuple[DataBatch | None, Any]:
        item, position = self.items.get()
        if isinstance(item, BaseException):
            raise item
        return item, position


def _position(source: DataIter) -> State | None:
    try:
        return source.state_dict()
    except (NotImplementedError, AttributeError):
        return None


def _stop_all(readers: list[_Reader]) -> None:
    for reader in readers:
        reader.stopped.set()
    for reader in readers:
        while reader.thread.is_alive():  # make room for what it is about to put
            with contextlib.suppress(queue.Empty):
                reader.items.get_nowait()
            reader.thread.join(0.01)
