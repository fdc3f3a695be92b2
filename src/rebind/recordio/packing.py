"""What a record of a picture holds: a header with its label, and the bytes of a file."""

from __future__ import annotations

import numbers
import struct
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from ..checks import BYTES, NUMBER, TEXT, Kind, an, check_kind
from ..errors import ArgumentError, FormatError, ParameterError, shown
from ..imaging import decode_flagged, encode
from .stream import Payload

__all__ = ["IRHeader", "Label", "pack", "pack_img", "unpack", "unpack_img"]

#: A number, or an array of them.
Label: TypeAlias = "float | np.floating | np.integer | Sequence[float] | np.ndarray"

_Bytes = TypeVar("_Bytes", bytes, bytearray, memoryview)

# Flag, label, id, id2.
_HEADER = struct.Struct("<IfQQ")

_FOUR = Kind(
    "an IRHeader: flag, label, id and id2", lambda value: isinstance(value, (tuple, list)) and len(value) == 4
)


class IRHeader(NamedTuple):
    """The header of a packed record.

    Attributes
    ----------
    flag
        How many numbers follow the header as its label; `pack` fills it in. 0 when the label is one number, in
        the header itself.
    label
        A number, or an array of them.
    id
        Number of the picture.
    id2
        A second number, which is free.
    """

    flag: int
    label: Label
    id: int
    id2: int

    def __repr__(self) -> str:
        # By the name that it has in MXNet, whose programs print it.
        return f"HEADER(flag={self.flag}, label={self.label!r}, id={self.id}, id2={self.id2})"


def pack(header: IRHeader | tuple[int, Label, int, int], s: Payload) -> bytes:
    """Return a record of a header and a payload, such as the bytes of a JPEG file.

    Parameters
    ----------
    header
        Its label is a number, or an array, which is flattened to float32; its flag is filled in.
    s
        The payload.

    Raises
    ------
    ParameterError
        For a label that is no number, or an id that is negative or too large.

    Examples
    --------
    >>> record = pack(IRHeader(0, [1, 2], 2574, 0), b"the bytes of a picture")
    >>> unpack(record)
    (HEADER(flag=2, label=array([1., 2.], dtype=float32), id=2574, id2=0), b'the bytes of a picture')
    """
    if not isinstance(s, (bytes, bytearray, memoryview)):
        raise ArgumentError(
            f"recordio.pack: s must be bytes; got {type(s).__name__}. Pack a picture that is an array with pack_img."
        )
    try:
        _, label, id, id2 = header
    except (TypeError, ValueError):
        check_kind("recordio.pack", _FOUR, header=header)
        raise
    try:
        if isinstance(label, numbers.Real):
            return _HEADER.pack(0, float(label), id, id2) + bytes(s)
        if label is None:
            raise TypeError
        values = np.asarray(label, dtype="<f4")
        return b"".join((_HEADER.pack(values.size, 0.0, id, id2), values.tobytes(), s))
    except (struct.error, OverflowError, TypeError, ValueError) as error:
        raise ParameterError(
            f"recordio.pack: header must have a label of numbers, and an id and id2 from 0 to 2**64 - 1; "
            f"got {shown(tuple(header))}"
        ) from error


def unpack(s: _Bytes) -> tuple[IRHeader, _Bytes]:
    """Return the header and the payload of a packed record.

    Parameters
    ----------
    s
        The record, as `MXRecordIO.read` returns it. Of a `memoryview`, the payload is a view too: nothing is
        copied.

    Returns
    -------
    header : IRHeader
        Its label is a float, or an array of float32 when flag is not 0.
    s
        The payload, of the type that was given.

    Raises
    ------
    FormatError
        When the record is shorter than its header says.

    Examples
    --------
    >>> unpack(pack(IRHeader(0, 14, 20129312, 0), b"payload"))
    (HEADER(flag=0, label=14.0, id=20129312, id2=0), b'payload')
    """
    if not isinstance(s, (bytes, bytearray, memoryview)):  # asked first: each record comes here
        check_kind("recordio.unpack", BYTES, s=s)
    if len(s) < _HEADER.size:
        raise FormatError(
            f"recordio.unpack: a packed record must have at least the {_HEADER.size} bytes of its header; "
            f"got {len(s)}"
        )
    flag, label, id, id2 = _HEADER.unpack_from(s)
    if not flag:
        return IRHeader(flag, label, id, id2), s[_HEADER.size :]
    begin = _HEADER.size + 4 * flag
    if begin > len(s):
        raise FormatError(
            f"recordio.unpack: a packed record with {flag} labels must have at least {begin} bytes; got {len(s)}"
        )
    return IRHeader(flag, np.frombuffer(s, "<f4", flag, _HEADER.size), id, id2), s[begin:]


def pack_img(
    header: IRHeader | tuple[int, Label, int, int],
    img: np.ndarray,
    quality: int = 95,
    img_fmt: str = ".jpg",
) -> bytes:
    """Return a record of a header and a picture.

    Parameters
    ----------
    header
        As `pack` takes it.
    img
        The picture, (H, W) or (H, W, 3), uint8; channels are blue, green, red, as OpenCV reads them.
    quality
        Of a JPEG 1 to 100, the compression of a PNG 0 to 9; more than that is taken for 9.
    img_fmt
        The format, as the ending of a file: ``'.jpg'``, ``'.png'``, ...

    Raises
    ------
    ImportError
        When OpenCV, the extra ``image``, is missing.

    Examples
    --------
    >>> record = pack_img(IRHeader(0, 1, 5, 0), np.zeros((4, 6, 3), dtype=np.uint8), img_fmt=".png")
    >>> header, picture = unpack_img(record)
    >>> header.id, picture.shape
    (5, (4, 6, 3))
    """
    check_kind("recordio.pack_img", an(np.ndarray), img=img)
    check_kind("recordio.pack_img", NUMBER, quality=quality)
    check_kind("recordio.pack_img", TEXT, img_fmt=img_fmt)
    settings = {".jpg": quality, ".jpeg": quality, ".png": min(quality, 9)}
    return pack(header, encode(img, img_fmt, settings.get(img_fmt.lower()), rgb=False))


def unpack_img(s: Payload, iscolor: int = -1) -> tuple[IRHeader, np.ndarray]:
    """Return the header and the picture of a packed record.

    Unlike in MXNet, which gives None for the picture then, one that does not decode is an error.

    Parameters
    ----------
    s
        The record, as `MXRecordIO.read` returns it.
    iscolor
        OpenCV's flag: 1 for colour, 0 for grey, -1 for what is stored.

    Returns
    -------
    header : IRHeader
        As `unpack` returns it.
    img : numpy.ndarray
        The picture (H, W, 3), channels as blue, green, red; grey (H, W).

    Raises
    ------
    FormatError
        When the payload is no picture that OpenCV reads.
    ImportError
        When OpenCV, the extra ``image``, is missing.
    """
    try:
        header, encoded = unpack(memoryview(s))
    except TypeError:
        check_kind("recordio.unpack_img", BYTES, s=s)
        raise
    return header, decode_flagged(
        encoded, iscolor, what=f"recordio.unpack_img: the record with id {header.id}"
    )
