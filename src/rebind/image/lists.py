"""Lists of pictures with their labels, from files and in programs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from ..errors import FormatError, MissingFileError, ParameterError, shown
from ..ndarray import NDArray
from ..recordio.lists import read_list

__all__ = ["Entries", "ListedPicture", "entries_in", "entries_of"]

#: A label, or several, and the path of the file below the root: ``[label, path]``, or ``[label, label, path]``.
ListedPicture: TypeAlias = "Sequence[float | str | Sequence[float] | np.ndarray | NDArray]"

#: Label and path of each picture, by its key.
Entries: TypeAlias = "dict[int | str, tuple[np.ndarray, str]]"


def entries_in(path: str, who: str) -> Entries:
    r"""Return the pictures of a list file; see `recordio.read_list`.

    Raises
    ------
    FormatError
        For a line that is not a number, labels and a path; for a number that is there twice.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "two.lst")
    >>> with open(path, "w") as file:
    ...     _ = file.write("7\t1.0\tcat.png\n9\t0.0\tdog.png\n")
    >>> entries_in(path, "ImageIter")[9]
    (array([0.], dtype=float32), 'dog.png')
    """
    if not os.path.exists(path):
        raise MissingFileError(f"{who}: the image list {path!r} must exist")
    entries: Entries = {}
    for number, labels, name in read_list(path):
        if number in entries:
            # MXNet would read the last of them twice, and the others never.
            raise FormatError(
                f"{who}: image list {path!r} must have a line for each number; got {number} twice"
            )
        entries[number] = (np.array(labels, dtype=np.float32), name)
    return entries


def entries_of(imglist: Sequence[ListedPicture], who: str) -> Entries:
    """Return the pictures of a list in a program; their keys are ``'1'``, ``'2'`` and so on, as in MXNet.

    >>> entries_of([[1, "cat.png"], [0, 2, "dog.png"]], "ImageIter")["2"]
    (array([0., 2.], dtype=float32), 'dog.png')
    """
    entries: Entries = {}
    for number, entry in enumerate(imglist, start=1):
        *labels, name = entry if isinstance(entry, (list, tuple)) and entry else [None]
        values = labels[0] if len(labels) == 1 else labels
        try:
            label = np.asarray(
                values.asnumpy() if isinstance(values, NDArray) else values, dtype=np.float32
            ).reshape(-1)
        except (TypeError, ValueError):
            label = np.empty(0, dtype=np.float32)
        if not label.size or not isinstance(name, str):
            raise ParameterError(
                f"{who}: imglist must have [label, path] for each picture, or [label, ..., path]; "
                f"got {shown(entry)} at place {number}"
            )
        entries[str(number)] = (label, name)
    return entries
