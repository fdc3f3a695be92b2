"""Rows of text files: parsed chunk by chunk, handed out in any number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from .. import config
from ..device import Device
from ..errors import ShapeError
from ..ndarray import NDArray
from ..ndarray.base import wrap, wrap_tensor
from ..ndarray.sparse.csr import CSRStorage
from .iterator import State
from .rows import Rows, join_rows, rows_between
from .text_chunks import TextChunk, TextChunks

__all__ = ["ChunkedRows", "FilesInStep"]


@dataclass(frozen=True)
class _Chunk:
    rows: Sequence[Rows]
    end: State  # where the chunk after it begins


class _ChunkCache:
    """The rows of the first chunks, as many as there is room for: parsing is most of what reading a file takes."""

    def __init__(self) -> None:
        self._room = config.get("REBIND_KEPT_NUMBERS") << 20
        self._chunks: dict[tuple[object, ...], _Chunk] = {}
        self._left = self._room

    def get(self, at: State) -> _Chunk | None:
        return self._chunks.get(tuple(at.values()))

    def add(self, at: State, chunk: _Chunk) -> None:
        taken = sum(rows.nbytes for rows in chunk.rows)
        if taken > self._left:
            self._left = 0  # the chunks of the cache follow each other
            return
        self._left -= taken
        for rows in chunk.rows:
            if isinstance(rows, np.ndarray):
                rows.flags.writeable = False
        self._chunks[tuple(at.values())] = chunk

    def clear(self) -> None:
        self._chunks.clear()
        self._left = self._room


class ChunkedRows:
    """The rows of text files in order.

    The numbers of the first chunks are saved for the next epochs, up to the option ``REBIND_KEPT_NUMBERS``, as long as
    the files do not change. Arrays among them are read-only.

    Parameters
    ----------
    chunks
        The text.
    parse
        Returns the rows of a chunk: for each array that the text holds, equally many.
    """

    def __init__(self, chunks: TextChunks, parse: Callable[[TextChunk], Sequence[Rows]]) -> None:
        self._chunks = chunks
        self._parse = parse
        self._cache = _ChunkCache()
        self._version = chunks.version()  # of the files, when the cache was filled
        self._at = chunks.state_dict()  # where the chunk begins that is being handed out
        self._rows: Sequence[Rows] | None = None
        self._next = 0  # the row of it that comes next

    def read(self, count: int) -> list[Rows]:
        """Return the next `count` rows of each array, fewer at the end, and an empty list after it."""
        parts: list[list[Rows]] = []
        while count:
            if self._rows is None or self._next == self._rows[0].shape[0]:
                at = self._chunks.state_dict()
                chunk = self._next_chunk(at)
                if chunk is None:
                    break
                self._at, self._rows, self._next = at, chunk.rows, 0
            stop = min(self._next + count, self._rows[0].shape[0])
            if stop > self._next:  # a chunk may hold nothing but blank lines
                parts.append([rows_between(rows, self._next, stop) for rows in self._rows])
            count -= stop - self._next
            self._next = stop
        return parts[0] if len(parts) == 1 else [join_rows(pieces) for pieces in zip(*parts)]

    def _next_chunk(self, at: State) -> _Chunk | None:
        chunk = self._cache.get(at)
        if chunk is not None:
            self._chunks.load_state_dict(chunk.end)
            return chunk
        text = self._chunks.next()
        if text is None:
            return None
        chunk = _Chunk(self._parse(text), self._chunks.state_dict())
        self._cache.add(at, chunk)
        return chunk

    def rewind(self) -> None:
        """Go back to the first row."""
        self._chunks.rewind()
        if (version := self._chunks.version()) != self._version:
            self._cache.clear()
            self._version = version
        self._at, self._rows, self._next = self._chunks.state_dict(), None, 0

    def state_dict(self) -> State:
        """Return the position, for `load_state_dict`."""
        return {"chunk": self._at, "row": self._next}

    def load_state_dict(self, state: State) -> None:
        """Go back to a position that `state_dict` returned."""
        self._chunks.load_state_dict(state["chunk"])
        self._at, self._rows, self._next = state["chunk"], None, 0
        self.read(int(state["row"]))


class FilesInStep:
    """Reads files of data and of labels in step.

    Parameters
    ----------
    who
        The iterator, for messages.
    files
        The rows of the data, with the labels of their lines; and those of the labels if they are in files of their own;
        by the parameters that name them.
    shapes
        Of a sample and of its label.
    dtype
        Of the arrays of a batch.
    """

    def __init__(
        self,
        who: str,
        files: Mapping[str, ChunkedRows],
        shapes: tuple[tuple[int, ...], tuple[int, ...]],
        dtype: torch.dtype,
    ) -> None:
        self.shapes, self.dtype = shapes, dtype
        self._who, self._files = who, files
        self._device = Device("cpu", 0)

    def read(self, count: int) -> list[Rows]:
        """Return the next `count` rows of data and of labels, fewer at the end, and an empty list after it."""
        by_file = [file.read(count) for file in self._files.values()]
        lengths = [rows[0].shape[0] if rows else 0 for rows in by_file]
        if len(set(lengths)) > 1:
            data, label = self._files
            shorter, longer = (data, label) if lengths[0] < lengths[1] else (label, data)
            raise ShapeError(
                f"{self._who}: {label} must have a line for each of {data}; {shorter} ends before {longer}"
            )
        return by_file[0] if len(by_file) == 1 or not lengths[0] else [rows[0] for rows in by_file]

    def arrays(self, rows: Sequence[Rows]) -> tuple[NDArray, NDArray]:
        """Return the arrays of a batch, which may be written into: of storage type csr where its rows are."""
        data, label = (self._array(part, shape) for part, shape in zip(rows, self.shapes))
        return data, label

    def _array(self, rows: Rows, shape: tuple[int, ...]) -> NDArray:
        if isinstance(rows, CSRStorage):
            return wrap(rows.with_data(rows.data.to(self.dtype)), self._device)
        numbers = rows if rows.flags.writeable else rows.copy()  # those of the cache are not
        tensor = torch.from_numpy(numbers).to(dtype=self.dtype)
        return wrap_tensor(tensor.reshape(len(rows), *shape), self._device)

    def rewind(self) -> None:
        """Go back to the first row."""
        for file in self._files.values():
            file.rewind()

    def state_dict(self) -> State:
        """Return the position, for `load_state_dict`."""
        return {name: file.state_dict() for name, file in self._files.items()}

    def load_state_dict(self, state: State) -> None:
        """Go back to a position that `state_dict` returned."""
        for name, file in self._files.items():
            file.load_state_dict(state[name])
