"""The `.params` format of MXNet: lists and dicts of arrays in one binary file.

All numbers are little-endian::

    uint64 0x112, uint64 0                      the file's mark
    uint64 n, n times an array                  arrays
    uint64 m, m times (uint64 length, bytes)    names: m is n for a dict, 0 for a list

An array (version 2, what is written)::

    uint32 0xF993FAC9, int32 storage type (0: dense)
    int32 axes, int64 for each axis             the shape; without axes nothing follows
    int32 device kind, int32 device number, int32 type of elements, the elements

Version 3 (0xF993FACA) is the same, and may hold arrays without axes or elements. Version 1 (0xF993FAC8) has no storage type; before it the number of axes stood first, and sizes were uint32.
Lengths are checked against the file's size before any memory is taken.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from .. import dtypes, files
from ..errors import ArgumentError, DTypeError, FormatError
from .mode import mode
from .ndarray import NDArray

__all__ = ["load", "load_frombuffer", "save"]

_FILE_MARK = 0x112
_VERSION_1, _VERSION_2, _VERSION_3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
_DENSE = 0
_MAX_AXES = 32


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
    >>> path = os.path.join(tempfile.mkdtemp(), 'a.params')
    >>> mx.nd.save(path, {'w': mx.nd.ones((2,))})
    >>> mx.nd.load(path)['w'].shape
    (2,)
    """
    names: list[str] = []
    if isinstance(data, NDArray):
        arrays = [data]
    elif isinstance(data, Mapping):
        names, arrays = [str(name) for name in data], list(data.values())
    elif isinstance(data, (list, tuple)):
        arrays = list(data)
    else:
        raise ArgumentError(f"nd.save: data must be an NDArray, a list or a dict of them; got {type(data).__name__}")
    for array in arrays:
        if not isinstance(array, NDArray):
            raise ArgumentError(f"nd.save: data must hold NDArrays only; got {array!r}")
    with files.atomic_write(fname) as file:
        file.write(struct.pack("<QQQ", _FILE_MARK, 0, len(arrays)))
        for array in arrays:
            for part in _array_parts(array):
                file.write(part)
        file.write(struct.pack("<Q", len(names)))
        for name in names:
            text = name.encode()
            file.write(struct.pack("<Q", len(text)))
            file.write(text)


def _array_parts(array: NDArray) -> list[Any]:
    tensor = array.tensor.detach().contiguous().cpu()
    shape = tuple(tensor.shape)
    # Only version 3 tells an array without axes, or without elements, from one that was never filled.
    version = _VERSION_3 if mode.numpy_shapes or not (shape and tensor.numel()) else _VERSION_2
    head = struct.pack(f"<Iii{len(shape)}q", version, _DENSE, len(shape), *shape)
    # Arrays are written as of the CPU, whatever their device: the file is read on machines without a GPU too.
    place = struct.pack("<iii", 1, 0, dtypes.flag(tensor.dtype))
    elements = tensor.reshape(-1).view(torch.uint8).numpy() if tensor.numel() else b""
    return [head, place, memoryview(elements)]


def load(fname: str | os.PathLike) -> list[NDArray] | dict[str, NDArray]:
    """Read arrays from a file that rebind or MXNet of any age wrote.

    Returns
    -------
    list or dict
        As it was saved. The arrays are on the CPU.

    Raises
    ------
    FormatError
        When the file is cut short or is no such file; it names the path, the offset and what was expected there.
    """
    with open(fname, "rb") as file:
        return _read_file(file.read(), os.fspath(fname))


def load_frombuffer(buf: bytes) -> list[NDArray] | dict[str, NDArray]:
    """Read arrays from the content of a file."""
    return _read_file(bytes(buf), "<buffer>")


class _Reader:
    """Walks over the bytes of a file and never past their end."""

    def __init__(self, content: bytes, path: str) -> None:
        self.content, self.path, self.offset = content, path, 0

    def take(self, size: int, what: str) -> memoryview:
        left = len(self.content) - self.offset
        if size > left:
            raise FormatError(
                f"{self.path}: the file is cut short at byte {self.offset}: "
                f"{what} needs {size} bytes; {left} are left"
            )
        part = memoryview(self.content)[self.offset : self.offset + size]
        self.offset += size
        return part

    def numbers(self, layout: str, what: str) -> tuple[int, ...]:
        return struct.unpack(f"<{layout}", self.take(struct.calcsize(f"<{layout}"), what))

    def wrong(self, expected: str, got: Any) -> FormatError:
        return FormatError(f"{self.path}: at byte {self.offset} {expected}; got {got}. Is it a .params file?")


def _read_file(content: bytes, path: str) -> list[NDArray] | dict[str, NDArray]:
    reader = _Reader(content, path)
    mark, _, count = reader.numbers("QQQ", "the file's mark and number of arrays")
    if mark != _FILE_MARK:
        reader.offset = 0
        raise reader.wrong(f"the mark {_FILE_MARK:#x} must stand", f"{mark:#x}")
    if count * 8 > len(content):  # an array takes 8 bytes at least
        raise reader.wrong("the number of arrays must fit into the file", count)
    arrays = [_read_array(reader, i) for i in range(count)]
    (named,) = reader.numbers("Q", "the number of names")
    if named not in (0, count):
        raise reader.wrong(f"there must be 0 or {count} names", named)
    names = []
    for i in range(named):
        (length,) = reader.numbers("Q", f"the length of name {i}")
        text = bytes(reader.take(length, f"name {i}"))
        try:
            names.append(text.decode())
        except UnicodeDecodeError:
            raise reader.wrong(f"name {i} must be UTF-8", text[:40]) from None
    if reader.offset != len(content):
        raise reader.wrong("the file must end", f"{len(content) - reader.offset} more bytes")
    return dict(zip(names, arrays, strict=True)) if names else arrays


def _read_array(reader: _Reader, number: int) -> NDArray:
    what = f"array {number}"
    (mark,) = reader.numbers("I", what)
    if mark in (_VERSION_2, _VERSION_3):
        (storage,) = reader.numbers("i", f"the storage type of {what}")
        if storage != _DENSE:
            raise reader.wrong(f"{what} must be dense (0); sparse storage is not there yet", storage)
    if mark in (_VERSION_1, _VERSION_2, _VERSION_3):
        (axes,) = reader.numbers("i", f"the shape of {what}")
        _check_axes(reader, axes, what)
        shape = reader.numbers(f"{axes}q", f"the shape of {what}")
    else:  # the oldest format: the mark is the number of axes
        _check_axes(reader, mark, what)
        shape = reader.numbers(f"{mark}I", f"the shape of {what}")
    if any(size < 0 for size in shape):
        raise reader.wrong(f"the sizes of {what} must be >= 0", shape)
    if mark != _VERSION_3 and not (shape and all(shape)):
        return NDArray(torch.zeros(0))  # an array that was never filled: no device, no type, no elements
    _, _, flag = reader.numbers("iii", f"the device and type of {what}")
    try:
        dtype = dtypes.by_flag(flag)
    except DTypeError as error:
        raise reader.wrong(f"{what} must be of a known type", error) from None
    return NDArray(_read_elements(reader, shape, dtype, what))


def _check_axes(reader: _Reader, axes: int, what: str) -> None:
    if not 0 <= axes <= _MAX_AXES:
        raise reader.wrong(f"{what} must begin, with 0 to {_MAX_AXES} axes", axes)


def _read_elements(reader: _Reader, shape: tuple[int, ...], dtype: torch.dtype, what: str) -> Tensor:
    count = 1
    for size in shape:
        count *= size
    raw = reader.take(count * dtype.itemsize, f"the elements of {what}, {shape},")
    if count == 0:
        return torch.zeros(shape, dtype=dtype)
    tensor = torch.empty(shape, dtype=dtype)
    tensor.reshape(-1).view(torch.uint8).numpy()[:] = raw
    return tensor
