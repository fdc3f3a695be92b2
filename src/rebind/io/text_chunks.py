"""Text files of any length, read in pieces of whole lines."""

from __future__ import annotations

import contextlib
import glob
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from ..errors import FormatError, MissingFileError
from ..tuning import current
from .iterator import State
from .partition import byte_bounds, check_part

__all__ = ["TextChunk", "TextChunks"]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class TextChunk:
    """Whole lines of a file, the last of which ends like the others, and where in the file they begin."""

    text: bytes
    path: str
    offset: int

    def fail(self, position: int, says: str) -> NoReturn:
        """Raise the error for what is at `position` of the text; `says` what must hold.

        >>> chunk = TextChunk(b"1,2", "no-such-file", 0)
        >>> chunk.fail(2, "must be a number")
        Traceback (most recent call last):
        rebind.errors.FormatError: no-such-file, line 1, column 3: must be a number
        """
        line, column = self._line_and_column(position)
        raise FormatError(f"{self.path}, line {line}, column {column}: {says}")

    def fail_line(self, position: int, says: str) -> NoReturn:
        """Raise the error for the line that `position` of the text is in.

        >>> TextChunk(b"1,2", "no-such-file", 0).fail_line(2, "must have 3 numbers; got 2")
        Traceback (most recent call last):
        rebind.errors.FormatError: no-such-file, line 1: must have 3 numbers; got 2
        """
        raise FormatError(f"{self.path}, line {self._line_and_column(position)[0]}: {says}")

    def _line_and_column(self, position: int) -> tuple[int, int]:
        before = _newlines(self.path, self.offset)  # counted now only, since most files have no mistake
        column = position - self.text.rfind(b"\n", 0, position)
        return before + self.text.count(b"\n", 0, position) + 1, column


class TextChunks:
    """The lines of one or several files, in chunks.

    Parameters
    ----------
    who
        The iterator, for messages.
    paths
        A file; a folder, whose files are read in the order of their names; a regular expression for names in a
        folder; or several of these with ``;`` between them.
    longest
        The most bytes that a line may have, which bounds the memory for a chunk.
    num_parts, part_index
        The part to read, of all bytes of all files; it has whole lines.
    """

    def __init__(self, who: str, paths: str, longest: int, num_parts: int = 1, part_index: int = 0) -> None:
        check_part(who, num_parts, part_index)
        self.paths = paths
        self._longest = longest
        files = [(path, os.path.getsize(path)) for path in _files(who, paths)]
        total = sum(size for _, size in files)
        if not total:
            raise FormatError(f"{who}: {paths} must have at least one line; got {len(files)} empty files")
        self._ranges = list(self._part(files, *byte_bounds(total, num_parts, part_index)))
        self._number = 0
        self._offset = self._ranges[0][1] if self._ranges else 0

    def _part(self, files: list[tuple[str, int]], first: int, last: int) -> Iterator[tuple[str, int, int]]:
        """Yield the files of a part, and where in each its lines begin and end."""
        before = 0
        for path, size in files:
            start, stop = (
                _line_after(path, bound - before) if 0 < bound - before < size else bound - before
                for bound in (first, last)
            )
            if max(start, 0) < min(stop, size):
                yield path, max(start, 0), min(stop, size)
            before += size

    def next(self) -> TextChunk | None:
        """Return the next chunk, None at the end."""
        while self._number < len(self._ranges):
            path, _, stop = self._ranges[self._number]
            if self._offset < stop:
                text, offset = self._read(path, self._offset, stop), self._offset
                self._offset += len(text)
                if offset == 0 and text.startswith(_BYTE_ORDER_MARK):
                    text = b"   " + text[3:]  # as many blanks, so that columns stay right
                return TextChunk(text if text.endswith(b"\n") else text + b"\n", path, offset)
            self._number += 1
            if self._number < len(self._ranges):
                self._offset = self._ranges[self._number][1]
        return None

    def _read(self, path: str, offset: int, stop: int) -> bytes:
        try:
            size = current().text_chunk_bytes
            with open(path, "rb", buffering=0) as file:
                file.seek(offset)
                text = file.read(min(size, stop - offset))
                while text and offset + len(text) < stop and b"\n" not in text[-size:]:
                    if len(text) > self._longest:
                        TextChunk(text, path, offset).fail_line(
                            0, f"must have at most {self._longest} bytes; got more. Is it text, in lines?"
                        )
                    text += file.read(min(size, stop - offset - len(text)))
        except FileNotFoundError:
            raise MissingFileError(f"{path} must exist; it was there before") from None
        if not text:
            raise FormatError(f"{path}: must have {stop} bytes, as when reading began; got {offset}")
        return text if offset + len(text) >= stop else text[: text.rfind(b"\n") + 1]

    def version(self) -> tuple[tuple[int, int], ...]:
        """Return what differs after a file was written: for each its size and the time of the last change.

        >>> import os, tempfile
        >>> with tempfile.NamedTemporaryFile("w") as file:
        ...     _ = file.write("1")
        ...     file.flush()
        ...     chunks = TextChunks("CSVIter", file.name, 100)
        ...     before = chunks.version()
        ...     os.utime(file.name, ns=(0, 0))
        ...     before == chunks.version()
        False
        """
        stamps = []
        for path, _, _ in self._ranges:
            with contextlib.suppress(FileNotFoundError):  # an error when it is read
                now = os.stat(path)
                stamps.append((now.st_size, now.st_mtime_ns))
        return tuple(stamps)

    def rewind(self) -> None:
        """Go back to the first chunk."""
        self._number = 0
        self._offset = self._ranges[0][1] if self._ranges else 0

    def state_dict(self) -> State:
        """Return the position, for `load_state_dict`."""
        return {"file": self._number, "offset": self._offset}

    def load_state_dict(self, state: State) -> None:
        """Go back to a position that `state_dict` returned."""
        self._number, self._offset = int(state["file"]), int(state["offset"])


def _files(who: str, paths: str) -> list[str]:
    files = []
    for path in filter(None, paths.split(";")):
        if os.path.isdir(path):
            files += sorted(
                file for file in glob.glob(os.path.join(glob.escape(path), "*")) if os.path.isfile(file)
            )
        elif os.path.isfile(path):
            files.append(path)
        else:
            matching = _matching(path)
            if not matching:
                raise MissingFileError(
                    f"{who}: {path} must be a file or a folder; there is none of this name"
                )
            files += matching
    if not files:
        raise MissingFileError(f"{who}: {paths or 'the path'} must name a file; got {paths!r}")
    return files


def _matching(path: str) -> list[str]:
    """Return the files of a folder whose names match the last part of `path`, a regular expression."""
    folder, pattern = os.path.split(path)
    try:
        names = [name for name in sorted(os.listdir(folder or ".")) if re.fullmatch(pattern, name)]
    except (OSError, re.error):
        return []
    return [file for name in names if os.path.isfile(file := os.path.join(folder, name))]


def _line_after(path: str, offset: int) -> int:
    """Return where the first line begins that follows the one at `offset`."""
    with open(path, "rb") as file:
        file.seek(offset)
        while block := file.read(current().text_chunk_bytes):
            if (found := block.find(b"\n")) >= 0:
                return file.tell() - len(block) + found + 1
        return file.tell()


def _newlines(path: str, stop: int) -> int:
    count = 0
    if stop:
        with open(path, "rb") as file:
            while stop > 0 and (block := file.read(min(current().text_chunk_bytes, stop))):
                count += block.count(b"\n")
                stop -= len(block)
    return count
