"""Reading pictures, framing them, and what the functions of this package share: tensors (H, W, C)."""

from __future__ import annotations

import os
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from ..checks import PATH, check_kind
from ..errors import ArgumentError, DTypeError, MissingFileError, ParameterError, ShapeError, StateError
from ..mode import mode
from ..ndarray import NDArray
from ..ndarray.calls import call
from ..ops import find

__all__ = [
    "Buffer",
    "as_array",
    "check_floating",
    "copyMakeBorder",
    "imdecode",
    "imread",
    "picture_of",
    "planar",
]

#: The bytes of a file.
Buffer: TypeAlias = "bytes | bytearray | memoryview | np.ndarray | NDArray"


def picture_of(src: NDArray, who: str, dimensions: int | None = 3) -> Tensor:
    """Return the tensor of a picture (H, W, C), which shares its memory.

    >>> import rebind as mx
    >>> picture_of(mx.nd.ones((2, 3, 1)), "resize_short").shape
    torch.Size([2, 3, 1])
    """
    if not isinstance(src, NDArray):
        raise ArgumentError(
            f"{who}: src must be an NDArray; got {type(src).__name__}. Convert it with mx.nd.array(src, dtype='uint8')."
        )
    if mode.recording and (src.marking is not None or src.history is not None):
        # What is computed here is not recorded: a gradient would be lost without a word.
        raise StateError(
            f"{who}: src must be an array that no gradient is computed for. "
            "Augment pictures outside of autograd.record(), or use mx.nd.image."
        )
    if dimensions is not None and len(src.shape) != dimensions:
        raise ShapeError(f"{who}: src must have shape (H, W, C); got {src.shape}")
    return src.tensor


def as_array(picture: Tensor, src: NDArray) -> NDArray:
    """Return a picture as an array on the device of `src`, in rows of pixels."""
    return NDArray(picture.contiguous(), src.context)


def planar(picture: Tensor) -> Tensor:
    """Return a picture (H, W, C) whose memory holds one channel after the other.

    Arithmetic with a number for each channel is many times as fast then, and batches (N, C, H, W) are plain copies.

    >>> planar(torch.zeros(4, 5, 3)).stride()
    (5, 1, 20)
    """
    return picture.permute(2, 0, 1).contiguous().permute(1, 2, 0)


def in_channels(picture: Tensor) -> Tensor:
    """Return a picture (C, H, W) from one (H, W, C).

    >>> in_channels(torch.zeros(4, 5, 3)).shape
    torch.Size([3, 4, 5])
    """
    return planar(picture).permute(2, 0, 1)


def check_floating(picture: Tensor, who: str) -> None:
    """Raise an error for a picture of whole numbers, whose colours cannot be computed with."""
    if not picture.is_floating_point():
        raise DTypeError(
            f"{who}: the picture must be of a floating type; got {str(picture.dtype).removeprefix('torch.')}. "
            "Put CastAug() before it, or use astype('float32')."
        )


def imdecode(buf: Buffer, flag: int = 1, to_rgb: bool = True, out: NDArray | None = None) -> NDArray:
    """Return the picture in the bytes of a file: JPEG, PNG and whatever else OpenCV reads.

    Parameters
    ----------
    buf
        The bytes: `bytes`, or an array of uint8.
    flag
        0 for grey, anything else for colour.
    to_rgb
        Whether channels are red, green, blue; else as blue, green, red.
    out
        Where to write it, an array of the picture's shape; a new one by default.

    Returns
    -------
    NDArray
        uint8, (H, W, 3), grey (H, W, 1).

    Raises
    ------
    FormatError
        When the bytes are no picture that OpenCV reads.
    ImportError
        When OpenCV, the extra ``image``, is missing.

    Examples
    --------
    >>> from rebind.imaging import encode
    >>> imdecode(encode(np.full((4, 6, 3), 200, dtype=np.uint8), ".png")).shape
    (4, 6, 3)
    """
    if isinstance(buf, NDArray):
        encoded = buf
    elif isinstance(buf, (bytes, bytearray, memoryview, np.ndarray)):
        data = np.frombuffer(buf, dtype=np.uint8) if not isinstance(buf, np.ndarray) else buf
        if not data.size:
            raise ParameterError("imdecode: buf must hold a picture; got no bytes")
        encoded = NDArray(torch.from_numpy(data if data.flags.writeable else data.copy()))
    else:
        raise ParameterError(
            f"imdecode: buf must be bytes, a bytearray or an array of uint8; got {type(buf).__name__}"
        )
    found: NDArray = call(
        find("_cvimdecode"), (encoded,), {"flag": flag, "to_rgb": to_rgb, "out": out}, "image.imdecode"
    )
    return found


def imread(
    filename: str | os.PathLike[str], flag: int = 1, to_rgb: bool = True, out: NDArray | None = None
) -> NDArray:
    """Return the picture in a file, as `imdecode` does.

    Parameters
    ----------
    filename
        Path of the file.
    flag
        0 for grey, anything else for colour.
    to_rgb
        Whether channels are red, green, blue; else as blue, green, red.
    out
        Where to write it, an array of the picture's shape; a new one by default.

    Raises
    ------
    FileNotFoundError
        When there is no such file.
    FormatError
        When it is no picture that OpenCV reads.

    Examples
    --------
    >>> import os, tempfile
    >>> from rebind.imaging import encode
    >>> path = os.path.join(tempfile.mkdtemp(), "grey.png")
    >>> with open(path, "wb") as file:
    ...     _ = file.write(encode(np.full((4, 6, 3), 200, dtype=np.uint8), ".png"))
    >>> imread(path, flag=0).shape
    (4, 6, 1)
    """
    check_kind("imread", PATH, filename=filename)
    path = os.fspath(filename)
    if not os.path.exists(os.path.expanduser(path)):
        raise MissingFileError(f"imread: the picture {path!r} must exist")
    settings = {"filename": path, "flag": flag, "to_rgb": to_rgb, "out": out}
    found: NDArray = call(find("_cvimread"), (), settings, "image.imread")
    return found


def copyMakeBorder(
    src: NDArray,
    top: int,
    bot: int,
    left: int,
    right: int,
    type: int = 0,
    value: float = 0.0,
    values: tuple[float, ...] = (),
    out: NDArray | None = None,
) -> NDArray:
    """Return `src` with a margin around it.

    Parameters
    ----------
    src
        The picture, (H, W, C).
    top, bot, left, right
        Widths of the margins.
    type
        What fills them: 0 a constant, 1 the nearest pixel (``aaa|abcd|ddd``), 2 the mirrored image
        (``cba|abcd|dcb``), 3 the image again (``bcd|abcd|abc``), 4 the image mirrored at its outermost pixel
        (``dcb|abcd|cba``).
    value
        The constant, of all channels.
    values
        The constant of each channel instead, 0 for those that are left out.
    out
        Where to write it; a new array by default.

    Examples
    --------
    >>> import rebind as mx
    >>> copyMakeBorder(mx.nd.array([[[1], [2]]]), 0, 0, 2, 1, type=4).asnumpy().ravel().tolist()
    [1.0, 2.0, 1.0, 2.0, 1.0]
    """
    settings = {"top": top, "bot": bot, "left": left, "right": right, "type": type, "value": value}
    framed: NDArray = call(
        find("_cvcopyMakeBorder"), (src,), {**settings, "values": values, "out": out}, "image.copyMakeBorder"
    )
    return framed
