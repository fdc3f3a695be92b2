"""The `.params` format of MXNet: lists and dicts of arrays in one binary file.

All numbers are little-endian::

    uint64 0x112, uint64 0                      the magic number
    uint64 n, n times an array                  arrays
    uint64 m, m times (uint64 length, bytes)    names: m is n for a dict, 0 for a list

An array (version 2, which is what is written)::

    uint32 0xF993FAC9, int32 storage type (0: dense)
    int32 axes, int64 for each axis             the shape; without axes nothing more
    int32 device kind, int32 device number, int32 type of elements, the elements

Of a storage of several tensors the shape of the one with the numbers comes before that of the array, and type and shape
of each other one before the elements, which follow in the same order. What a storage type consists of, the registry of
`storage` knows.

Version 3 (0xF993FACA) is the same, and may hold arrays without axes or elements. Version 1 (0xF993FAC8) has no
storage type; the oldest files begin an array with its number of axes, and have uint32 sizes.
Lengths are checked against the file's size before any memory is taken.
"""

from __future__ import annotations

import io
import os
import stat
import struct
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, BinaryIO, TypeAlias

import torch
from torch import Tensor

from .. import config, dtypes, files
from ..checks import PATH, check_kind
from ..errors import ArgumentError, DTypeError, FormatError, MXNetError, shown
from ..mode import mode
from .base import wrap
from .mapping import map_elements
from .ndarray import NDArray
from .storage import DenseStorage, Storage, storage_kind_by_number

__all__ = ["array_from_bytes", "array_pieces", "array_to_bytes", "load", "load_frombuffer", "save"]

_MAGIC = 0x112
_VERSION_1, _VERSION_2, _VERSION_3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
_MAX_AXES = 32

#: How files begin that have the name of one with arrays, and what they are instead.
_NO_ARRAYS = {
    b"<!docty": "a web page (HTML), as a failed download leaves it. Download the file again.",
    b"<html": "a web page (HTML), as a failed download leaves it. Download the file again.",
    b"version": "a pointer of Git LFS. Get the file with 'git lfs pull'.",
}

Piece: TypeAlias = "bytes | memoryview"


def save(fname: str | os.PathLike, data: NDArray | Sequence[NDArray] | Mapping[str, NDArray]) -> None:
    """Write arrays to a file, byte for byte as MXNet does; the file appears whole or not at all.

    Parameters
    ----------
    fname
        The path.
    data
        An array, a list of arrays, or a dict from name to array.

    Examples
    --------
    >>> import rebind as mx, tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.params")
    ...     mx.nd.save(path, {"w": mx.nd.ones((2,))})
    ...     list(mx.nd.load(path))
    ['w']
    """
    check_kind("nd.save", PATH, fname=fname)
    names: list[str] = []
    if isinstance(data, NDArray):
        arrays = [data]
    elif isinstance(data, Mapping):
        names, arrays = list(data), list(data.values())
        for name in names:
            if not isinstance(name, str):
                raise ArgumentError(f"nd.save: names must be strings; got {name!r}")
    elif isinstance(data, (list, tuple)):
        arrays = list(data)
    else:
        raise ArgumentError(f"nd.save: data must be an NDArray, a list or a dict of them; got {shown(data)}")
    for i, array in enumerate(arrays):
        if not isinstance(array, NDArray):
            raise ArgumentError(
                f"nd.save: data must hold NDArrays only; got {shown(array)}{f' for {names[i]!r}' if names else ''}"
            )
    with files.atomic_write(fname) as file:
        # Magic number, a word that is always 0, how many arrays.
        file.write(struct.pack("<QQQ", _MAGIC, 0, len(arrays)))
        for array in arrays:
            for piece in array_pieces(array):
                file.write(piece)
        file.write(struct.pack("<Q", len(names)))
        # Names come after all arrays, in their order.
        for name in names:
            text = name.encode()
            file.write(struct.pack("<Q", len(text)))
            file.write(text)


def array_pieces(array: NDArray) -> Iterator[Piece]:
    """Yield the bytes of an array in a file, in order.

    >>> import rebind as mx
    >>> sum(len(piece) for piece in array_pieces(mx.nd.ones((2, 3))))
    64
    """
    # Arrays are written as of the CPU, whatever their device: the file is read on machines without a GPU too.
    storage = array.storage.to(torch.device("cpu"))
    numbers, *others = [tensor.detach().contiguous() for tensor in storage.tensors.values()]
    # Only in version 3 does an array without axes, or without elements, differ from one that was never filled.
    version = _VERSION_3 if mode.numpy_shapes or not (array.shape and array.size) else _VERSION_2
    yield struct.pack("<Ii", version, storage.number)
    if others:
        yield _shape_bytes(numbers.shape)
    yield _shape_bytes(storage.shape)
    # Device kind 1, the CPU, and its number.
    yield struct.pack("<iii", 1, 0, dtypes.flag(numbers.dtype))
    for tensor in others:
        yield struct.pack("<i", dtypes.flag(tensor.dtype))
        yield _shape_bytes(tensor.shape)
    for tensor in (numbers, *others):
        if tensor.numel():
            yield memoryview(tensor.reshape(-1).view(torch.uint8).numpy())  # type: ignore[arg-type]  # NumPy arrays are buffers


def array_to_bytes(array: NDArray) -> bytes:
    """Return an array as it is in a ``.params`` file.

    >>> import rebind as mx
    >>> len(array_to_bytes(mx.nd.ones((2,)))) - len(array_to_bytes(mx.nd.ones((1,))))
    4
    """
    return b"".join([bytes(piece) for piece in array_pieces(array)])


def _shape_bytes(shape: Sequence[int]) -> bytes:
    # The number of axes, then each size in 64 bits, little-endian.
    return struct.pack(f"<i{len(shape)}q", len(shape), *shape)


def load(fname: str | os.PathLike) -> Any:
    """Read arrays from a file that rebind, or any version of MXNet, wrote.

    The numbers of large arrays are mapped, not read: each page of the file is read when it is first used, and what is
    written into such an array is never written into the file. The file may be renamed, replaced by another one or
    removed, but not overwritten in place while its arrays are in use; ``REBIND_MAPPED_FILES=0`` reads everything.

    Returns
    -------
    list or dict
        As it was saved: the type says Any, since only the file tells which. The arrays are on the CPU.

    Raises
    ------
    FormatError
        When the file is cut short or is not of this format; it names the path, the offset and what was expected there.

    Examples
    --------
    >>> import rebind as mx, tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.params")
    ...     mx.nd.save(path, [mx.nd.ones((2,))])
    ...     load(path)[0].asnumpy().tolist()
    [1.0, 1.0]
    """
    check_kind("nd.load", PATH, fname=fname)
    with open(fname, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # a pipe: its size is known at its end only
            return load_frombuffer(file.read())
        return _read_file(
            _Reader(file, size, os.fspath(fname), may_map=bool(config.get("REBIND_MAPPED_FILES")))
        )


def load_frombuffer(buf: bytes) -> Any:
    """Read arrays from the content of a file: a list or a dict, as for `load`.

    >>> load_frombuffer(struct.pack("<4Q", 0x112, 0, 0, 0))
    []
    """
    if not isinstance(buf, (bytes, bytearray, memoryview)):
        raise ArgumentError(f"nd.load_frombuffer: buf must be bytes; got {shown(buf)}")
    return _read_file(_Reader(io.BytesIO(buf), len(memoryview(buf).cast("B")), "<buffer>"))


def array_from_bytes(data: bytes | bytearray) -> NDArray:
    """Return an array from its record alone, as MXNet's pickles hold it; that of a GPU is read on the CPU.

    >>> import rebind as mx
    >>> array_from_bytes(array_to_bytes(mx.nd.array([1, 2]))).asnumpy().tolist()
    [1.0, 2.0]
    """
    return _read_array(_Reader(io.BytesIO(bytes(data)), len(data), "a pickle"), 0)


class _Reader:
    """Walks over a file, never past its end: nothing is allocated before its length is checked."""

    def __init__(self, file: BinaryIO, size: int, path: str | os.PathLike, may_map: bool = False) -> None:
        self.file, self.size, self.path, self.offset = file, size, path, 0
        self._may_map = may_map

    def check(self, length: int, what: str) -> None:
        """Raise an error when fewer than `length` bytes are left."""
        left = self.size - self.offset
        if length > left:
            raise FormatError(
                f"{self.path}: the file is cut short at byte {self.offset}: "
                f"{what} needs {length} bytes; {left} are left"
            )

    def take(self, length: int, what: str) -> bytes:
        """Return the next bytes."""
        self.check(length, what)
        content = self.file.read(length)
        if len(content) != length:
            raise FormatError(
                f"{self.path}: the file became shorter while it was read, at byte {self.offset}"
            )
        self.offset += length
        return content

    def fill(self, target: memoryview, what: str) -> None:
        """Read the next bytes into `target`, without a copy between."""
        self.check(len(target), what)
        done = 0
        while done < len(target):
            # One read may return fewer bytes than were asked for.
            count = self.file.readinto(target[done:])  # type: ignore[attr-defined]
            if not count:
                raise FormatError(
                    f"{self.path}: the file became shorter while it was read, at byte {self.offset}"
                )
            done += count
        self.offset += done

    def mapped(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor | None:
        """Return the next elements as a view of the file; None where they are to be read."""
        if not self._may_map:
            return None
        tensor = map_elements(self.file.fileno(), self.offset, shape, dtype)
        if tensor is not None:
            self.offset = self.file.seek(self.offset + tensor.nbytes)
        return tensor

    def numbers(self, layout: str, what: str) -> tuple[int, ...]:
        """Return the next little-endian numbers."""
        return struct.unpack(f"<{layout}", self.take(struct.calcsize(f"<{layout}"), what))

    def wrong(self, expected: str, got: object) -> FormatError:
        """Return the error that the bytes before this position are not what they must be."""
        return FormatError(
            f"{self.path}: before byte {self.offset}: {expected}; got {got}. Is it a .params file?"
        )


def _read_file(reader: _Reader) -> list[NDArray] | dict[str, NDArray]:
    magic, _, count = reader.numbers("QQQ", "the magic number and the number of arrays")
    if magic != _MAGIC:
        begin = struct.pack("<Q", magic)
        for start, what in _NO_ARRAYS.items():
            if begin.lower().startswith(start):
                raise FormatError(f"{reader.path}: must be a .params file; got {what}")
        raise reader.wrong(f"the magic number must be {_MAGIC:#x}", f"{magic:#x}")
    if count * 8 > reader.size:  # an array takes 8 bytes at least
        raise reader.wrong("the number of arrays must fit the size of the file", count)
    arrays = [_read_array(reader, i) for i in range(count)]
    (named,) = reader.numbers("Q", "the number of names")
    if named not in (0, count):
        raise reader.wrong(f"there must be 0 or {count} names", named)
    names = []
    for i in range(named):
        (length,) = reader.numbers("Q", f"the length of name {i}")
        text = reader.take(length, f"name {i}")
        try:
            names.append(text.decode())
        except UnicodeDecodeError:
            raise reader.wrong(f"name {i} must be UTF-8", text[:40]) from None
    if reader.offset != reader.size:
        raise reader.wrong("the file must end here", f"{reader.size - reader.offset} more bytes")
    # Of a name that is there twice the last array counts, as in MXNet.
    return dict(zip(names, arrays, strict=True)) if names else arrays


def _read_array(reader: _Reader, number: int) -> NDArray:
    what = f"array {number}"
    (version,) = reader.numbers("I", what)
    kind: type[Storage] = DenseStorage
    if version in (_VERSION_2, _VERSION_3):
        kind = _read_kind(reader, what)
    several = len(kind.members) > 1
    shapes = [_read_shape(reader, f"the numbers of {what}")] if several else []
    if version in (_VERSION_1, _VERSION_2, _VERSION_3):
        shape = _read_shape(reader, what)
    else:  # the oldest format: no version, but the number of axes
        _check_axes(reader, version, what)
        shape = _checked(reader, reader.numbers(f"{version}I", f"the shape of {what}"), what)
    if version != _VERSION_3 and not (shape and all(shape)):
        return NDArray(torch.zeros(0))  # an array that was never filled: no device, no type, no elements
    _, _, flag = reader.numbers("iii", f"the device and type of {what}")
    types = [_type(reader, flag, what)]
    for member in kind.members[1:]:
        whose = f"{member} of {what}"
        (flag,) = reader.numbers("i", f"the type of {whose}")
        types.append(_type(reader, flag, whose))
        shapes.append(_read_shape(reader, whose))
    if several and shapes[0][:1] == (0,):  # MXNet may write this size before it is computed; indices have it
        shapes[0] = (*shapes[-1], *shapes[0][1:])
    # Indices are read in any case: they are checked here, and must not change with the file afterwards.
    members = [
        _read_elements(reader, each, dtype, what, may_map=member == kind.members[0])
        for member, each, dtype in zip(kind.members, shapes or [shape], types, strict=True)
    ]
    try:
        return wrap(kind.from_members(shape, members))
    except MXNetError as error:
        raise reader.wrong(f"{what} must be a whole array of storage type {kind.stype!r}", error) from None


def _read_kind(reader: _Reader, what: str) -> type[Storage]:
    (number,) = reader.numbers("i", f"the storage type of {what}")
    kind = storage_kind_by_number(number)
    if kind is None:
        raise reader.wrong(
            f"{what} must be of a known storage type: dense (0), row_sparse (1) or csr (2)", number
        )
    return kind


def _read_shape(reader: _Reader, what: str) -> tuple[int, ...]:
    (axes,) = reader.numbers("i", f"the shape of {what}")
    _check_axes(reader, axes, what)
    return _checked(reader, reader.numbers(f"{axes}q", f"the shape of {what}"), what)


def _checked(reader: _Reader, shape: tuple[int, ...], what: str) -> tuple[int, ...]:
    if any(size < 0 for size in shape):
        raise reader.wrong(f"the sizes of {what} must be >= 0", shape)
    return shape


def _type(reader: _Reader, flag: int, what: str) -> torch.dtype:
    try:
        return dtypes.by_flag(flag)
    except DTypeError as error:
        raise reader.wrong(f"{what} must be of a known type", error) from None


def _check_axes(reader: _Reader, axes: int, what: str) -> None:
    if not 0 <= axes <= _MAX_AXES:
        raise reader.wrong(f"{what} must begin, with 0 to {_MAX_AXES} axes", axes)


def _read_elements(
    reader: _Reader, shape: tuple[int, ...], dtype: torch.dtype, what: str, may_map: bool
) -> Tensor:
    described = f"the elements of {what}, {shape},"
    reader.check(prod(shape) * dtype.itemsize, described)
    if may_map and (mapped := reader.mapped(shape, dtype)) is not None:
        return mapped
    try:
        tensor = torch.empty(shape, dtype=torch.uint8 if dtype is torch.bool else dtype)
    except RuntimeError:  # no elements, but sizes whose product is beyond all numbers
        raise reader.wrong(f"{what} must have a shape that fits into memory", shape) from None
    if tensor.numel():
        reader.fill(memoryview(tensor.reshape(-1).view(torch.uint8).numpy()), described)  # type: ignore[arg-type]
    return tensor != 0 if dtype is torch.bool else tensor  # any byte but 0 is true


NDArray.from_record = staticmethod(array_from_bytes)
