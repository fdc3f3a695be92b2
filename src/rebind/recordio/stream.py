"""The format of record files: a reader and a writer, each with a position in one file.

A record is one part or several. A part is 4 bytes that are always the same (the magic number), 4 bytes that hold its
kind (3 bits) and its length (29 bits), its payload, and zeros up to a multiple of 4 bytes. Since a reader may look
for the magic number to find where records begin, it never stands within a payload at a multiple of 4: such a
payload is written as several parts, and the magic number between two of them is left out.
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterator
from typing import TypeAlias

from ..errors import ArgumentError, FormatError, ParameterError
from ..tuning import current

__all__ = ["LONGEST", "MAGIC", "Payload", "RecordReader", "RecordWriter", "parts_of", "record_heads"]

#: What a record can be made of.
Payload: TypeAlias = "bytes | bytearray | memoryview"

#: The first 4 bytes of every part.
MAGIC = struct.pack("<I", 0xCED7230A)

#: Bytes of the longest payload: its length has 29 bits. More than that cannot be written as several parts, since a
#: reader puts a magic number between two of them.
LONGEST = 2**29 - 1

_WHOLE, _FIRST, _MIDDLE, _LAST = range(4)
_HEAD = struct.Struct("<II")


def parts_of(payload: bytes) -> Iterator[bytes]:
    r"""Yield what is written for a payload: heads, parts and padding.

    >>> b"".join(parts_of(b"abc"))[4:]
    b'\x03\x00\x00\x00abc\x00'
    >>> len(list(parts_of(MAGIC)))  # two parts without content
    4
    """
    begin = 0
    for end in _aligned_magics(payload):
        yield _head(_MIDDLE if begin else _FIRST, end - begin)
        yield payload[begin:end]
        begin = end + len(MAGIC)
    yield _head(_LAST if begin else _WHOLE, len(payload) - begin)
    yield payload[begin:] if begin else payload
    if len(payload) % 4:
        yield bytes(-len(payload) % 4)


def _aligned_magics(payload: bytes) -> Iterator[int]:
    found = payload.find(MAGIC)
    while found >= 0:
        if found % 4 == 0:
            yield found
        found = payload.find(MAGIC, found + 1)


def _head(kind: int, length: int) -> bytes:
    return _HEAD.pack(0xCED7230A, kind << 29 | length)


class RecordWriter:
    """A new record file, which replaces an older one of that name.

    Every record is handed to the system at once: a killed program has lost none, and a process that was forked from
    it has no copy of them to write again.

    Parameters
    ----------
    path
        The file.

    Attributes
    ----------
    position
        Where the next record will begin.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "two.rec")
    >>> writer = RecordWriter(path)
    >>> writer.write(b"one"), writer.write(b"two"), writer.close()
    (0, 12, None)
    >>> reader = RecordReader(path)
    >>> reader.read(), reader.close()
    (b'one', None)
    """

    def __init__(self, path: str) -> None:
        self._file = io.FileIO(path, "wb")
        self.position = 0

    def write(self, payload: Payload) -> int:
        """Append a record; return its position in the file."""
        if not isinstance(payload, (bytes, bytearray, memoryview)):
            raise ArgumentError(
                f"write: a record must be bytes; got {type(payload).__name__}. Encode text with .encode(), and an "
                f"array with recordio.pack_img or .tobytes()."
            )
        payload = bytes(payload)  # bytes themselves are not copied
        if len(payload) > LONGEST:
            raise ParameterError(f"a record must be at most {LONGEST} bytes long; got {len(payload)}")
        begin = self.position
        content = memoryview(b"".join(parts_of(payload)))
        self.position += len(content)
        while content:  # a write may take less than it is given
            content = content[self._file.write(content) :]
        return begin

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):  # it could be opened
            self.close()


class RecordReader:
    """The records of a file, one after the other or from any position.

    Nothing in the file is trusted: a length is compared with the size of the file before memory is taken.

    Parameters
    ----------
    path
        The file.
    buffering
        How many bytes are read at once; by default a few small records.

    Attributes
    ----------
    position
        Where the next record begins. It stays where it is when a record is broken.
    """

    def __init__(self, path: str, buffering: int | None = None) -> None:
        self.path = path
        self._file = io.BufferedReader(io.FileIO(path), buffering or current().record_buffer_bytes)
        self._size = 0
        self.position = 0
        # Where the file itself stands: asking it would be a call of the system for every record.
        self._stands_at = 0

    def read(self) -> bytes | None:
        """Return the record at `position`, and advance to the next one; None at the end of the file.

        Raises
        ------
        FormatError
            When there is no whole record. The message has the file and the position.
        """
        begun = self._begun()
        if begun is None:
            return None
        kind, length = begun
        part = self._payload(length)
        if kind == _WHOLE:
            self.position = self._stands_at
            return part
        parts = [part]
        while kind != _LAST:
            kind, length = self._continued()
            parts.append(self._payload(length))
        self.position = self._stands_at
        return MAGIC.join(parts)

    def read_head(self, count: int) -> bytes | None:
        """Return the first bytes of the record at `position` without reading the rest; else as `read`.

        Parameters
        ----------
        count
            How many bytes; fewer of a record that is shorter, or whose first part is.
        """
        begun = self._begun()
        if begun is None:
            return None
        kind, length = begun
        head = self._file.read(min(length, count))
        self._skip(length)
        while kind not in (_WHOLE, _LAST):
            kind, length = self._continued()
            self._skip(length)
        self.position = self._stands_at
        return head

    def next_begin(self, position: int) -> int:
        """Return where the next record begins at or after a position; the size of the file where there is none."""
        at = position + -position % 4
        self._file.seek(at)
        self._stands_at = -1
        rest = b""
        while True:
            more = self._file.read(current().record_buffer_bytes)
            window = rest + more
            for found in _aligned_magics(window):
                # The first part of a record, whole or not; what follows it are parts of the same record.
                if found + _HEAD.size <= len(window):
                    _, word = _HEAD.unpack_from(window, found)
                    if word >> 29 in (_WHOLE, _FIRST):
                        return at + found
            if not more:
                return self._length()
            # A head may lie across two reads.
            keep = len(window) % 4 + 4
            at += len(window) - keep
            rest = window[-keep:]

    def _begun(self) -> tuple[int, int] | None:
        """Return the kind and the length of the first part of the record at `position`; None at the end."""
        if self._stands_at != self.position:
            if self.position > self._length():  # the system has its own limit for positions
                return None
            self._file.seek(self.position)
            self._stands_at = self.position
        return self._head(_WHOLE, _FIRST)

    def _continued(self) -> tuple[int, int]:
        """Return the kind and the length of the next part of the record at `position`."""
        found = self._head(_MIDDLE, _LAST)
        if found is None:
            raise self._broken(f"more parts of the record that begins at byte {self.position}", "the end")
        return found

    def _head(self, *kinds: int) -> tuple[int, int] | None:
        """Return the kind and the length of the part that the file stands at; None at the end of the file."""
        head = self._file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            if not head:
                return None
            raise self._broken(f"the {_HEAD.size} bytes that begin a record", f"{len(head)} until the end")
        magic, word = _HEAD.unpack(head)
        kind = word >> 29
        if magic != 0xCED7230A:
            raise self._broken(f"the magic number {MAGIC.hex(' ')} of a record", head[:4].hex(" "))
        if kind not in kinds:
            raise self._broken(f"a part of kind {kinds[0]} or {kinds[1]}", f"kind {kind}")
        return kind, word & LONGEST

    def _payload(self, length: int) -> bytes:
        """Return the payload of the part whose head was read."""
        padding = -length % 4
        end = self._stands_at + _HEAD.size + length + padding
        if end > self._size and end > self._length():
            left = max(self._size - self._stands_at - _HEAD.size, 0)
            raise self._broken(f"a record of {length} bytes", f"{left} until the end of the file")
        payload = self._file.read(length)
        if len(payload) + len(self._file.read(padding)) < length + padding:  # cut off since its size was read
            raise self._broken(f"a record of {length} bytes", f"{len(payload)} until the end of the file")
        self._stands_at = end
        return payload

    def _skip(self, length: int) -> None:
        """Go to the end of the part whose head was read."""
        self._stands_at += _HEAD.size + length + -length % 4
        self._file.seek(self._stands_at)

    def _length(self) -> int:
        """Return the size of the file, which may have grown."""
        self._size = os.fstat(self._file.fileno()).st_size
        return self._size

    def _broken(self, expected: str, found: str) -> FormatError:
        at, self._stands_at = self._stands_at, -1  # to be sought again
        return FormatError(f"{self.path!r} must have {expected} at byte {at}; got {found}")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):  # it could be opened
            self.close()


def record_heads(path: str, count: int) -> Iterator[bytes]:
    """Yield the first bytes of each record of a file, without reading the rest of it.

    Parameters
    ----------
    path
        The file.
    count
        How many bytes of each record, as `RecordReader.read_head` has it.
    """
    # A buffer for the head alone: the next one is far behind it.
    reader = RecordReader(path, buffering=_HEAD.size + count)
    try:
        while (head := reader.read_head(count)) is not None:
            yield head
    finally:
        reader.close()
