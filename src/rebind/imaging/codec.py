"""Reading, writing and resizing of pictures with OpenCV: uint8 arrays (H, W, C).

This is the one place that imports OpenCV, the extra ``image``. Its functions run without Python's global lock, so
that threads decode side by side.
"""

from __future__ import annotations

import contextlib
from types import ModuleType
from typing import TypeAlias

import numpy as np

from ..errors import FormatError, ParameterError
from ..extras import imported

__all__ = [
    "INTERPOLATIONS",
    "REDUCTIONS",
    "Buffer",
    "decode",
    "decode_flagged",
    "encode",
    "jpeg_size",
    "opencv",
    "resize",
]

#: The bytes of a file: `bytes` and what shares its memory, or a one-dimensional array of uint8.
Buffer: TypeAlias = "bytes | bytearray | memoryview | np.ndarray"

#: What a picture can be divided by while it is decoded.
REDUCTIONS = (1, 2, 4, 8)

#: Interpolations of `resize` by number: nearest, linear, cubic, area, Lanczos.
INTERPOLATIONS = range(5)

# OpenCV's flag of each reduction; that of full size is none.
_REDUCED = {1: 0, 2: 16, 4: 32, 8: 64}


def opencv() -> ModuleType:
    """Return the module ``cv2``.

    Raises
    ------
    MissingExtraError
        When the extra ``image`` is not installed; an `ImportError`.
    """
    cv2: ModuleType = imported("cv2", "image", package="OpenCV")
    return cv2


def decode(
    buffer: Buffer, color: bool = True, rgb: bool = True, reduce: int = 1, *, what: str = "the buffer"
) -> np.ndarray:
    """Return the picture in the bytes of a file (JPEG, PNG and whatever else OpenCV reads).

    Parameters
    ----------
    buffer
        The bytes; they are not copied.
    color
        Whether to return three channels; one, grey, otherwise.
    rgb
        Whether channels are red, green, blue; else as blue, green, red.
    reduce
        Divisor of height and width: 1, 2, 4 or 8. JPEG decodes at the smaller size, which saves most of the time.
    what
        Name of the picture for messages.

    Returns
    -------
    numpy.ndarray
        The picture, uint8 (H, W, 3), or (H, W, 1) in grey.

    Raises
    ------
    FormatError
        When the bytes are no picture that OpenCV reads.

    Examples
    --------
    >>> picture = np.full((4, 6, 3), 200, dtype=np.uint8)
    >>> decode(encode(picture, ".png")).shape
    (4, 6, 3)
    """
    cv2 = opencv()
    in_rgb = color and rgb
    # OpenCV since 4.11 decodes in this order itself, which saves a pass over the picture.
    rgb_flag = getattr(cv2, "IMREAD_COLOR_RGB", None) if in_rgb else None
    colors = (cv2.IMREAD_COLOR if rgb_flag is None else rgb_flag) if color else cv2.IMREAD_GRAYSCALE
    picture = decode_flagged(buffer, colors | _REDUCED[reduce], what=what)
    if picture.ndim == 2:
        return picture[:, :, None]
    return cv2.cvtColor(picture, cv2.COLOR_BGR2RGB) if in_rgb and rgb_flag is None else picture


def decode_flagged(buffer: Buffer, flag: int, *, what: str = "the buffer") -> np.ndarray:
    """Return the picture in the bytes of a file as OpenCV itself does, for callers who know its flags.

    Parameters
    ----------
    buffer
        The bytes; they are not copied.
    flag
        OpenCV's: 1 for colour, 0 for grey, -1 for what is stored, and others.
    what
        Name of the picture for messages.

    Returns
    -------
    numpy.ndarray
        (H, W) in grey; else (H, W, 3), channels as blue, green, red, unless `flag` asks for others.

    Raises
    ------
    FormatError
        When the bytes are no picture that OpenCV reads.

    Examples
    --------
    >>> decode_flagged(encode(np.zeros((4, 6, 1), dtype=np.uint8)), -1).shape
    (4, 6)
    """
    cv2 = opencv()
    encoded = buffer if isinstance(buffer, np.ndarray) else np.frombuffer(buffer, dtype=np.uint8)
    # What OpenCV cannot read, it says by None or by an error of its own.
    picture = None
    if encoded.size:
        with contextlib.suppress(cv2.error):
            picture = cv2.imdecode(encoded, flag)
    if picture is None:
        raise FormatError(
            f"{what} must hold an image that OpenCV can decode; got {encoded.size} bytes "
            f"that begin with {encoded[:8].tobytes()!r}"
        )
    return picture


def jpeg_size(buffer: Buffer) -> tuple[int, int] | None:
    """Return height and width from the head of a JPEG file; None for other files.

    >>> jpeg_size(encode(np.zeros((4, 6, 3), dtype=np.uint8))), jpeg_size(b"no picture")
    ((4, 6), None)
    """
    content = np.frombuffer(buffer, dtype=np.uint8)[: 1 << 16].tobytes()  # a head is short
    at = 2
    if not content.startswith(b"\xff\xd8"):
        return None
    while at + 9 <= len(content) and content[at] == 0xFF:
        kind, length = content[at + 1], int.from_bytes(content[at + 2 : at + 4], "big")
        # Frames begin with one of these markers, but for three that mean something else.
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(content[at + 5 : at + 7], "big"), int.from_bytes(
                content[at + 7 : at + 9], "big"
            )
        # A byte that fills up to the next marker has no length.
        at += 1 if kind == 0xFF else 2 + length
    return None


def encode(picture: np.ndarray, ext: str = ".jpg", quality: int | None = None, *, rgb: bool = True) -> bytes:
    """Return the bytes of a file that holds a picture.

    Parameters
    ----------
    picture
        (H, W), (H, W, 1) or (H, W, 3), uint8; (H, W, 4) for formats with transparency.
    ext
        The format as a file's ending: ``'.jpg'``, ``'.png'``, ...
    quality
        Of a JPEG or WebP 1 to 100, the compression of a PNG 0 to 9; by default OpenCV's.
    rgb
        Whether channels are red, green, blue; else blue, green, red.

    Raises
    ------
    ParameterError
        For a format that OpenCV does not write, or a picture that this format cannot hold.

    Examples
    --------
    >>> encode(np.zeros((2, 2, 3), dtype=np.uint8), ".png")[1:4]
    b'PNG'
    """
    cv2 = opencv()
    if rgb and picture.ndim == 3 and picture.shape[2] >= 3:
        picture = cv2.cvtColor(picture, cv2.COLOR_RGB2BGR if picture.shape[2] == 3 else cv2.COLOR_RGBA2BGRA)
    setting = {
        ".jpg": cv2.IMWRITE_JPEG_QUALITY,
        ".jpeg": cv2.IMWRITE_JPEG_QUALITY,
        ".webp": cv2.IMWRITE_WEBP_QUALITY,
        ".png": cv2.IMWRITE_PNG_COMPRESSION,
    }.get(ext.lower())
    settings = [] if setting is None or quality is None else [setting, quality]
    try:
        written, encoded = cv2.imencode(ext, picture, settings)
    except cv2.error as error:
        raise _unwritten(ext, picture) from error
    if not written:
        raise _unwritten(ext, picture)
    return encoded.tobytes()


def _unwritten(ext: str, picture: np.ndarray) -> ParameterError:
    return ParameterError(
        f"encode: the picture must be one that OpenCV can write as {ext!r}; got shape {picture.shape} "
        f"of {picture.dtype}"
    )


def resize(picture: np.ndarray, w: int, h: int, interpolation: int = 1) -> np.ndarray:
    """Return a picture in another size.

    Parameters
    ----------
    picture
        (H, W, C).
    w, h
        The new width and height.
    interpolation
        0: nearest pixel. 1: linear between two. 2: cubic between four. 3: mean of the area that a new pixel
        covers. 4: Lanczos' window over eight.

    Returns
    -------
    numpy.ndarray
        (h, w, C) of the same type; `picture` itself when it has this size.

    Examples
    --------
    >>> resize(np.zeros((4, 6, 1), dtype=np.uint8), w=3, h=2).shape
    (2, 3, 1)
    """
    if picture.shape[:2] == (h, w):
        return picture
    if interpolation not in INTERPOLATIONS or w < 1 or h < 1 or not picture.size:
        raise ParameterError(
            f"resize: w and h must be >= 1, interpolation 0 to 4 and the picture not empty; got w={w}, h={h}, "
            f"interpolation={interpolation} and shape {picture.shape}"
        )
    resized = opencv().resize(picture, (w, h), interpolation=interpolation)
    return resized if resized.ndim == 3 else resized[:, :, None]  # OpenCV drops an axis of one channel
