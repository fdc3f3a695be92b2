"""Rows of text files: parsed chunk by chunk, handed out in any number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from .. import config
from ..errors import ShapeError
from .iterator import State
from .rounding import Rows
from .text_chunks import TextChunk, TextChunks

__all__ = ["ChunkedRows", "FilesInStep", "writable"]


class ParsedRows(Rows, Protocol):
    """Rows in memory."""

    @property
    def nbytes(self) -> int:
        """How much they take."""


Parsed = TypeVar("Parsed", bound=ParsedRows)


def writable(rows: np.ndarray) -> np.ndarray:
    """Return rows that `ChunkedRows` has returned, or a copy of those that it keeps, for who may write into them.

    >>> kept = np.ones((4, 2), np.float32)
    >>> kept.flags.writeable = False
    >>> writable(kept[1:3]).flags.writeable
    True
    """
    return rows if rows.flags.writeable else rows.copy()


@dataclass(frozen=True)
class _Chunk(Generic[Parsed]):
    rows: Sequence[Parsed]
    end: State  # where the chunk after it begins


class _Kept(Generic[Parsed]):
    """The rows of the first chunks, as many as there is room for: parsing is most of what reading a file takes."""

    def __init__(self) -> None:
        self._room = config.get("REBIND_KEPT_NUMBERS") << 20
        self._chunks: dict[tuple[object, ...], _Chunk[Parsed]] = {}
        self._left = self._room

    def find(self, at: State) -> _Chunk[Parsed] | None:
        return self._chunks.get(tuple(at.values()))

    def add(self, at: State, chunk: _Chunk[Parsed]) -> None:
        taken = sum(each.nbytes for each in chunk.rows)
        if taken > self._left:
            self._left = 0  # those that follow each other are kept
            return
        self._left -= taken
        for each in chunk.rows:
            if isinstance(each, np.ndarray):
                each.flags.writeable = False
        self._chunks[tuple(at.values())] = chunk

    def clear(self) -> None:
        self._chunks.clear()
        self._left = self._room


class ChunkedRows(Generic[Parsed]):
    """The rows of text files in order.

    The numbers of the first chunks are kept for the next epochs, up to the option ``REBIND_KEPT_NUMBERS``, as long as
    the files do not change. Arrays among them are read-only: see `writable`.

    Parameters
    ----------
    chunks
        The text.
    parse
        Returns the rows of a chunk: for each array that the text holds, equally many.
    join
        Returns several pieces of one array as one.
    """

    def __init__(
        self,
        chunks: TextChunks,
        parse: Callable[[TextChunk], Sequence[Parsed]],
        join: Callable[[Sequence[Parsed]], Parsed],
    ) -> None:
        self._chunks = chunks
        self._parse = parse
        self._join = join
        self._kept: _Kept[Parsed] = _Kept()
        self._version = chunks.version()  # that what is kept is of
        self._at = chunks.state_dict()  # where the chunk begins that is being handed out
        self._rows: Sequence[Parsed] | None = None
        self._next = 0  # the row of it that comes next

    def read(self, count: int) -> list[Parsed]:
        """Return the next `count` rows of each array, fewer at the end, and an empty list after it."""
        parts: list[list[Parsed]] = []
        while count:
            if self._rows is None or self._next == len(self._rows[0]):
                at = self._chunks.state_dict()
                chunk = self._next_chunk(at)
                if chunk is None:
                    break
                self._at, self._rows, self._next = at, chunk.rows, 0
            stop = min(self._next + count, len(self._rows[0]))
            if stop > self._next:  # a chunk may hold nothing but blank lines
                parts.append([each[self._next : stop] for each in self._rows])
            count -= stop - self._next
            self._next = stop
        return parts[0] if len(parts) == 1 else [self._join(pieces) for pieces in zip(*parts)]

    def _next_chunk(self, at: State) -> _Chunk[Parsed] | None:
        found = self._kept.find(at)
        if found is not None:
            self._chunks.load_state_dict(found.end)
            return found
        text = self._chunks.next()
        if text is None:
            return None
        found = _Chunk(self._parse(text), self._chunks.state_dict())
        self._kept.add(at, found)
        return found

    def rewind(self) -> None:
        """Go back to the first row."""
        self._chunks.rewind()
        if (version := self._chunks.version()) != self._version:
            self._kept.clear()
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


class FilesInStep(Generic[Parsed]):
    """Reads files of data and of labels in step.

    Parameters
    ----------
    who
        The iterator, for messages.
    files
        The rows of the data, and of the labels if they are in files of their own, by the parameters that name them.
    """

    def __init__(self, who: str, files: Mapping[str, ChunkedRows[Parsed]]) -> None:
        self._who = who
        self._files = files

    def read_files(self, count: int) -> list[list[Parsed]]:
        """Return the next `count` rows of each file, equally many, which may be none."""
        found = [file.read(count) for file in self._files.values()]
        lengths = [len(rows[0]) if rows else 0 for rows in found]
        if len(set(lengths)) > 1:
            data, label = self._files
            shorter, longer = (data, label) if lengths[0] < lengths[1] else (label, data)
            raise ShapeError(
                f"{self._who}: {label} must have a line for each of {data}; {shorter} ends before {longer}"
            )
        return found if lengths[0] else []

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
