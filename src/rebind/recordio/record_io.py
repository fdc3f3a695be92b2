"""`MXRecordIO` and `MXIndexedRecordIO`: record files as MXNet's programs open them."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TextIO

from ..checks import FUNCTION, PATH, check_folder, check_kind, refuses_unknown
from ..errors import (
    FormatError,
    MissingFileError,
    ParameterError,
    RecordKeyError,
    StateError,
    near_names,
    shown,
)
from .index import read_index
from .stream import Payload, RecordReader, RecordWriter

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["MXIndexedRecordIO", "MXRecordIO"]


class MXRecordIO:
    """A record file that is read, or written, from start to end.

    It is a context manager. In a process that was forked from the one that opened it, a reader opens the file again,
    at its start, and a writer refuses to write. A reader can be pickled, with its position (in MXNet, the copy
    begins at the start); an open writer cannot, since opening the file again would empty it.

    Parameters
    ----------
    uri
        Path of the file.
    flag
        ``'r'`` to read, ``'w'`` to write a new file.

    Attributes
    ----------
    is_open
        Whether the file is open.
    writable
        Whether `flag` is ``'w'``.
    handle
        The `RecordReader` or `RecordWriter`; None when closed.
    pid
        The process that opened the file; None when closed.

    Raises
    ------
    FileNotFoundError
        When the file to be read, or the folder of the file to be written, does not exist.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "some.rec")
    >>> record = MXRecordIO(path, "w")
    >>> for i in range(3):
    ...     record.write(b"record_%d" % i)
    >>> record.close()
    >>> record = MXRecordIO(path, "r")
    >>> record.read(), record.read(), record.read(), record.read()
    (b'record_0', b'record_1', b'record_2', None)
    >>> record.close()
    """

    @refuses_unknown
    def __init__(self, uri: str | os.PathLike[str], flag: str) -> None:
        check_kind(self._who, PATH, uri=uri)
        self.uri = os.fspath(uri)
        self.flag = flag
        self.pid: int | None = None
        self.is_open = False
        self.writable = flag == "w"
        self.handle: RecordReader | RecordWriter | None = None
        self.open()

    def open(self) -> None:
        """Open the file: for reading at its start, for writing as a new one."""
        if self.flag not in ("r", "w"):
            raise ParameterError(f"{self._who}: flag must be 'r' or 'w'; got {self.flag!r}")
        if self.flag == "w":
            check_folder(self.uri, self._who)
            self.handle = RecordWriter(self.uri)
        else:
            self._check_file(self.uri, "record")
            self.handle = RecordReader(self.uri)
        self.pid = os.getpid()
        self.is_open = True

    def close(self) -> None:
        """Close the file; a second time does nothing."""
        if self.handle is not None:
            self.handle.close()
        self.handle = None
        self.pid = None
        self.is_open = False

    def reset(self) -> None:
        """Go back to the start. A file that is being written is emptied.

        >>> import os, tempfile
        >>> record = MXRecordIO(os.path.join(tempfile.mkdtemp(), "some.rec"), "w")
        >>> record.write(b"forgotten")
        >>> record.reset()
        >>> os.path.getsize(record.uri)
        0
        """
        self.close()
        self.open()

    def write(self, buf: Payload) -> None:
        """Append a record.

        Parameters
        ----------
        buf
            Up to 2**29 - 1 bytes.
        """
        self._writer().write(buf)

    def read(self) -> bytes | None:
        """Return the next record; None at the end of the file.

        Raises
        ------
        FormatError
            For a record that is truncated or corrupted. The message has the file and the position.
        """
        return self._reader().read()

    def _reader(self) -> RecordReader:
        self._check_pid(allow_reset=True)
        if not isinstance(self.handle, RecordReader):
            raise StateError(f"{self._who}: {self.uri!r} must be open for reading; it is being written")
        return self.handle

    def _writer(self) -> RecordWriter:
        self._check_pid(allow_reset=False)
        if not isinstance(self.handle, RecordWriter):
            raise StateError(f"{self._who}: {self.uri!r} must be open for writing; it is being read")
        return self.handle

    def _check_pid(self, allow_reset: bool = False) -> None:
        """Raise an error unless this process has the file open, or may open it again."""
        if not self.is_open:
            raise StateError(f"{self._who}: {self.uri!r} must be open; it is closed. Call open() first.")
        if self.pid == os.getpid():
            return
        if not allow_reset or self.writable:
            raise StateError(
                f"{self._who}: {self.uri!r} must be written by the process that opened it, {self.pid}; "
                f"this is process {os.getpid()}"
            )
        self.reset()

    @property
    def _who(self) -> str:
        return type(self).__name__

    def _check_file(self, path: str, kind: str) -> None:
        if not os.path.exists(path):
            raise MissingFileError(f"{self._who}: the {kind} file {path!r} must exist")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        # An object whose file could not be opened has no handle.
        if getattr(self, "handle", None) is not None:
            self.close()

    def __getstate__(self) -> dict[str, Any]:
        if self.is_open and self.writable:
            raise StateError(
                f"{self._who}: a file that is being written, {self.uri!r}, cannot be pickled. Call close() first."
            )
        position = self.handle.position if self.handle is not None else 0
        return {**self.__dict__, "handle": None, "pid": None, "position": position}

    def __setstate__(self, state: dict[str, Any]) -> None:
        position = state.pop("position", 0)
        self.__dict__.update(state)
        if self.is_open:
            self.open()
            assert self.handle is not None
            self.handle.position = position


class MXIndexedRecordIO(MXRecordIO):
    """A record file with an index, whose records are read in any order by their keys.

    Parameters
    ----------
    idx_path
        Path of the index file: a line ``key<tab>position`` for each record.
    uri
        Path of the record file.
    flag
        ``'r'`` to read, ``'w'`` to write new files.
    key_type
        Type of the keys.

    Attributes
    ----------
    idx
        The position of each key.
    keys
        The keys, in the order of the index file.
    fidx
        The index file while it is written; None when files are read, or closed.

    Raises
    ------
    FormatError
        For an index file that has a line other than a key and a position. The message has its number.

    Examples
    --------
    >>> import os, tempfile
    >>> prefix = os.path.join(tempfile.mkdtemp(), "some")
    >>> with MXIndexedRecordIO(prefix + ".idx", prefix + ".rec", "w") as record:
    ...     for i in range(5):
    ...         record.write_idx(i, b"record_%d" % i)
    ...     record.tell()
    80
    >>> record = MXIndexedRecordIO(prefix + ".idx", prefix + ".rec", "r")
    >>> record.keys, record.read_idx(3)
    ([0, 1, 2, 3, 4], b'record_3')
    >>> record.close()
    """

    @refuses_unknown
    def __init__(
        self,
        idx_path: str | os.PathLike[str],
        uri: str | os.PathLike[str],
        flag: str,
        key_type: Callable[[str], Any] = int,
    ) -> None:
        check_kind(self._who, PATH, idx_path=idx_path)
        check_kind(self._who, FUNCTION, key_type=key_type)
        self.idx_path = os.fspath(idx_path)
        self.idx: dict[Any, int] = {}
        self.keys: list[Any] = []
        self.key_type = key_type
        self.fidx: TextIO | None = None
        super().__init__(uri, flag)

    def open(self) -> None:
        """Open both files: for reading at the start, for writing as new ones."""
        if self.flag == "w":
            check_folder(self.idx_path, self._who)
            super().open()
            self.idx, self.keys = {}, []
            # A line is written at once, as records are.
            self.fidx = open(self.idx_path, "w", buffering=1, encoding="utf-8", newline="\n")  # noqa: SIM115
            return
        super().open()
        try:
            self._check_file(self.idx_path, "index")
            self.keys, positions = read_index(self.idx_path, self.key_type)
        except BaseException:
            self.close()
            raise
        self.idx = dict(zip(self.keys, positions))

    def close(self) -> None:
        """Close both files; a second time does nothing."""
        if self.fidx is not None:
            self.fidx.close()
            self.fidx = None
        super().close()

    def seek(self, idx: Hashable) -> None:
        """Go to the record with a key, for `read`.

        Raises
        ------
        KeyError
            For a key that is not in the index.
        """
        reader = self._reader()
        try:
            reader.position = self.idx[idx]
        except (KeyError, TypeError):
            raise RecordKeyError(
                f"{self._who}: {self.idx_path!r} has no key {shown(idx)}{self._near(idx)}"
            ) from None

    def _near(self, idx: object) -> str:
        """Return the end of a sentence that says which key may be meant."""
        if any(str(key) == str(idx) for key in self.keys):
            return f"; did you mean {idx} of type {self._key_name}?"
        return near_names(str(idx), map(str, self.keys)) if len(self.keys) < 1000 else "."

    def tell(self) -> int:
        """Return the position at which the next record will be written.

        When files are read (MXNet refuses then), the position of the record that `read` returns next.
        """
        self._check_pid(allow_reset=not self.writable)
        assert self.handle is not None
        return self.handle.position

    def read_idx(self, idx: Hashable) -> bytes:
        """Return the record with a key.

        Raises
        ------
        KeyError
            For a key that is not in the index.
        FormatError
            When there is no whole record at the position that the index has. The message has the file and the position.
        """
        self.seek(idx)
        record = self.read()
        if record is None:
            raise FormatError(
                f"{self.uri!r} must have a record at byte {self.idx[idx]}, as {self.idx_path!r} says for key "
                f"{idx!r}; got the end of the file. 'rebind im2rec' writes both files."
            )
        return record

    def write_idx(self, idx: Hashable, buf: Payload) -> None:
        """Append a record, and its key to the index.

        Parameters
        ----------
        idx
            The key. One that is given again stands for the newer record; both are in the file.
        buf
            Up to 2**29 - 1 bytes.

        Raises
        ------
        ParameterError
            For a key that cannot be converted to `key_type`, or that has a tab or a line break.
        """
        writer = self._writer()
        assert self.fidx is not None
        try:
            key = self.key_type(idx)  # type: ignore[arg-type]  # `int` takes what is not text, too
        except (ValueError, TypeError):
            raise ParameterError(
                f"{self._who}: idx must be a key of type {self._key_name}; got {shown(idx)}"
            ) from None
        if not {"\t", "\n", "\r"}.isdisjoint(str(key)):
            raise ParameterError(f"{self._who}: idx must have no tab and no line break; got {shown(key)}")
        position = writer.write(buf)
        self.fidx.write(f"{key}\t{position}\n")
        self.idx[key] = position
        self.keys.append(key)

    @property
    def _key_name(self) -> str:
        return getattr(self.key_type, "__name__", repr(self.key_type))
