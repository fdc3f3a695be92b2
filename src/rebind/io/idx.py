"""Files in the IDX format of the MNIST data: bytes with a shape, compressed by gzip or not."""

from __future__ import annotations

import gzip
import os
import struct
import zlib
from math import prod
from typing import BinaryIO

import numpy as np

from ..errors import FormatError, MissingFileError

__all__ = ["read_idx"]

_UNSIGNED_BYTES = 0x08
_BEST_COMPRESSION = 1032  # of deflate: bytes from one byte, at most


def read_idx(path: str, axes: int) -> np.ndarray:
    """Return the bytes of an IDX file, as an array with `axes` axes that must not be written to.

    Nothing is read, and no memory taken, before the shape in the file is found to fit the file's size.

    Raises
    ------
    FormatError
        When the file is of another kind or truncated, or its shape does not match its size.
    MissingFileError
        When there is no such file.

    Examples
    --------
    >>> import struct, tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(struct.pack(">4BI", 0, 0, 8, 1, 3) + bytes([7, 8, 9]))
    ...     file.flush()
    ...     read_idx(file.name, axes=1)
    array([7, 8, 9], dtype=uint8)
    """
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            compressed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            if not compressed:
                return _read(path, file, axes, size)
            with gzip.open(file) as inside:
                return _read(path, inside, axes, size * _BEST_COMPRESSION)  # type: ignore[arg-type]  # a GzipFile reads as any file
    except FileNotFoundError:
        raise MissingFileError(f"{path} must exist; there is no such file") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(f"{path} must be a whole gzip file; got {error}") from None


def _read(path: str, file: BinaryIO, axes: int, most: int) -> np.ndarray:
    header = file.read(4 + 4 * axes)
    if len(header) < 4 + 4 * axes:
        raise FormatError(f"{path} must begin with {4 + 4 * axes} bytes that describe it; got {len(header)}")
    magic = struct.unpack_from(">I", header)[0]
    wanted = _UNSIGNED_BYTES << 8 | axes
    if magic != wanted:
        raise FormatError(
            f"{path} must be an IDX file of bytes with {axes} axes, whose magic number is {wanted}; got {magic}"
        )
    shape = struct.unpack_from(f">{axes}I", header, 4)
    length = prod(shape)
    if not length:
        raise FormatError(f"{path} must have at least one sample; got the shape {shape}")
    if length > most:
        raise FormatError(
            f"{path} must have {length} bytes for the shape {shape}; it has fewer. Is it truncated?"
        )
    content = file.read(length + 1)
    if len(content) != length:
        found = "more" if len(content) > length else f"{len(content)}. Is it truncated?"
        raise FormatError(f"{path} must have {length} bytes for the shape {shape}; got {found}")
    return np.frombuffer(content, np.uint8).reshape(shape)
