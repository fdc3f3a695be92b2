"""Index files: a line ``key<tab>position`` for each record of a record file."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from ..errors import FormatError, shown

__all__ = ["read_index"]

_Key = TypeVar("_Key", bound=Hashable)


def read_index(path: str, key_type: Callable[[str], _Key]) -> tuple[list[_Key], list[int]]:
    r"""Return the keys and the positions of an index file, in its order.

    Parameters
    ----------
    path
        The index file.
    key_type
        What turns the text of a key into the key, such as `int`.

    Raises
    ------
    FormatError
        For a line that is not a key and a position. The message has its number.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "two.idx")
    >>> with open(path, "w") as file:
    ...     _ = file.write("7\t0\n9\t48\n")
    >>> read_index(path, int)
    ([7, 9], [0, 48])
    """
    keys: list[_Key] = []
    positions: list[int] = []
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for number, line in enumerate(file, start=1):
            # What follows a second tab is ignored, as MXNet does.
            fields = line.rstrip("\n").split("\t", 2)
            try:
                key, position = key_type(fields[0]), int(fields[1])
            except (IndexError, ValueError):
                raise _not_a_line(path, number, line) from None
            if position < 0:
                raise _not_a_line(path, number, line)
            keys.append(key)
            positions.append(position)
    return keys, positions


def _not_a_line(path: str, number: int, line: str) -> FormatError:
    return FormatError(
        f"index file {path!r}, line {number} must be a key, a tab and a position >= 0; got {shown(line)}. "
        f"'rebind im2rec' writes the index with the record file."
    )
