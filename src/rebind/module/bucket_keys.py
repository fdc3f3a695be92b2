"""The file with the keys of a `BucketingModule`'s buckets."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence

import numpy as np

from ..errors import FormatError, ParameterError
from ..files import atomic_write
from ..ndarray import array, load, save

__all__ = ["read_keys", "write_keys"]

#: What MXNet can read: it stores the keys in an array of this type.
_INT32 = range(-(2**31), 2**31)


def write_keys(path: str, keys: Sequence[Hashable]) -> None:
    """Write keys to a file: as MXNet does when all are whole numbers (or tuples of them), else as JSON.

    Raises
    ------
    ParameterError
        For a key that is no number, string or tuple of those.

    Examples
    --------
    >>> import tempfile, rebind as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_keys(f"{folder}/net.buckets", [5, 10])
    ...     mx.nd.load(f"{folder}/net.buckets")[0].asnumpy().tolist()  # what MXNet reads
    [5, 10]
    """
    for key in keys:
        if not _is_plain(key):
            raise ParameterError(
                "BucketingModule.save_checkpoint: a bucket's key must be a number, a string or a tuple of those to be "
                f"saved; got {key!r}"
            )
    # Tuples go into one array, a row for each, and so must be of one length.
    if all(map(_is_int32, keys)) or (
        all(isinstance(key, tuple) and key and all(map(_is_int32, key)) for key in keys)
        and len({len(key) for key in keys if isinstance(key, tuple)}) == 1
    ):
        save(path, [array(np.array(keys, dtype=np.int32), dtype="int32")])
        return
    with atomic_write(path) as file:
        file.write(json.dumps({"buckets": keys}, default=int).encode())  # NumPy's integers are no JSON


def read_keys(path: str) -> list[Hashable]:
    """Return the keys in a file.

    Raises
    ------
    FormatError
        When the file is cut short, or holds something else.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_keys(f"{folder}/net.buckets", [("short", 5), ("long", 50)])
    ...     read_keys(f"{folder}/net.buckets")
    [('short', 5), ('long', 50)]
    """
    # The two forms differ in their first byte: MXNet's files of arrays do not begin with a brace.
    with open(path, "rb") as file:
        start = file.read(1)
        if start == b"{":
            try:
                return [_as_key(each) for each in json.loads(start + file.read())["buckets"]]
            except (ValueError, KeyError, TypeError) as error:
                raise FormatError(f"{path}: must hold the keys of buckets; {error}") from error
    found = load(path)
    if not isinstance(found, list) or len(found) != 1 or found[0].asnumpy().ndim not in (1, 2):
        raise FormatError(f"{path}: must hold one array, the keys of buckets")
    return [_as_key(each) for each in found[0].asnumpy().tolist()]


def _is_int32(key: object) -> bool:
    # True is an int to Python, but would come back as 1.
    return isinstance(key, (int, np.integer)) and not isinstance(key, bool) and int(key) in _INT32


def _is_plain(key: object) -> bool:
    if isinstance(key, tuple):
        return all(map(_is_plain, key))
    return isinstance(key, (int, float, str, np.integer)) and not isinstance(key, bool)


def _as_key(value: object) -> Hashable:
    # JSON and arrays have no tuples; a key must be one to be hashable.
    return tuple(map(_as_key, value)) if isinstance(value, list) else value
