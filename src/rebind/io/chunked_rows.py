"""Rows of text files: parsed chunk by chunk, handed out in any number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from ..errors import ShapeError
from .iterator import State
from .rounding import Rows
from .text_chunks import TextChunk, TextChunks

__all__ = ["ChunkedRows", "FilesInStep"]

Parsed = TypeVar("Parsed", bound=Rows)


class ChunkedRows(Generic[Parsed]):
    """The rows of text files in order.

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
        self._at = chunks.state_dict()  # where the chunk begins that is being handed out
        self._rows: Sequence[Parsed] | None = None
        self._next = 0  # the row of it that comes next

    def read(self, count: int) -> list[Parsed]:
        """Return the next `count` rows of each array, fewer at the end, and an empty list after it."""
        parts: list[list[Parsed]] = []
        while count:
            if self._rows is None or self._next == len(self._rows[0]):
                at = self._chunks.state_dict()
                chunk = self._chunks.next()
                if chunk is None:
                    break
                self._at, self._rows, self._next = at, self._parse(chunk), 0
            stop = min(self._next + count, len(self._rows[0]))
            if stop > self._next:  # a chunk may hold nothing but blank lines
                parts.append([each[self._next : stop] for each in self._rows])
            count -= stop - self._next
            self._next = stop
        return parts[0] if len(parts) == 1 else [self._join(pieces) for pieces in zip(*parts)]

    def rewind(self) -> None:
        """Go back to the first row."""
        self._chunks.rewind()
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
