"""List files of pictures: a line ``number<tab>label[<tab>label...]<tab>path`` for each one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..errors import FormatError, shown
from ..files import atomic_write

__all__ = ["ListItem", "find_pictures", "read_list", "write_list"]


class ListItem(NamedTuple):
    """A line of a list file.

    Attributes
    ----------
    number
        The picture's number, its key in a record file's index.
    labels
        One number or several.
    path
        Where the picture is, from the root folder.
    """

    number: int
    labels: tuple[float, ...]
    path: str


def find_pictures(root: str, extensions: Sequence[str], recursive: bool = False) -> Iterator[ListItem]:
    """Yield the pictures in a folder, by name.

    Parameters
    ----------
    root
        The folder.
    extensions
        Endings of their names, in lower case: ``'.jpg'``, ...
    recursive
        Whether to look in the folders below, too: all pictures of a folder have one label, the folder's number, in
        the order in which folders with pictures are found. Otherwise the label is 0.
    """
    folders = os.walk(root, followlinks=True) if recursive else [next(os.walk(root), (root, [], []))]
    number = label = 0
    for folder, below, names in folders:
        below.sort()  # `os.walk` goes on with this list
        pictures = [name for name in sorted(names) if os.path.splitext(name)[1].lower() in extensions]
        for name in pictures:
            yield ListItem(number, (float(label),), os.path.relpath(os.path.join(folder, name), root))
            number += 1
        label += bool(pictures)


def write_list(path: str, items: Iterable[ListItem]) -> None:
    """Write a list file."""
    with atomic_write(path, "w") as file:
        for item in items:
            labels = "".join(f"{label:f}\t" for label in item.labels)
            file.write(f"{item.number}\t{labels}{item.path}\n")


def read_list(path: str) -> Iterator[ListItem]:
    """Yield the lines of a list file; empty ones are left out.

    Raises
    ------
    FormatError
        For a line that is not a number, labels and a path. The message has the file and the line's number.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "cats.lst")
    >>> write_list(path, [ListItem(3, (0.0, 1.5), "small/cat.jpg")])
    >>> list(read_list(path))
    [ListItem(number=3, labels=(0.0, 1.5), path='small/cat.jpg')]
    """
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for at, line in enumerate(file, start=1):
            if not line.strip():
                continue
            fields = [field.strip() for field in line.split("\t")]
            try:
                number, labels = int(fields[0]), tuple(map(float, fields[1:-1]))
            except ValueError:
                number, labels = -1, ()
            if number < 0 or not labels:
                raise FormatError(
                    f"list file {path!r}, line {at} must be a number >= 0, one or more labels and a path, with tabs "
                    f"between them; got {shown(line)}"
                )
            yield ListItem(number, labels, fields[-1])
