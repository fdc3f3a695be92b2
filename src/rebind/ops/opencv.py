"""MXNet's operators of OpenCV, ``nd._internal._cvimdecode`` and the like: reading, resizing and framing one image.

Resizing and framing are written on tensors, with OpenCV's numbers, and run on every device. Reading a compressed
image is done by OpenCV itself, on the host: it needs the extra ``image``.
"""

from __future__ import annotations

import os
from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from ..errors import ArgumentError, DTypeError, ShapeError
from ..imaging import decode
from ..params import AtLeast, Between, Listed
from ._types import Double
from .declaration import operator
from .image.resampling import resized

__all__ = ["Margin", "cvcopy_make_border", "cvimdecode", "cvimread", "cvimresize"]

Margin = Annotated[int, AtLeast(0)]


def _decoded(what: str, encoded: np.ndarray, flag: int, to_rgb: bool) -> Tensor:
    """Return the image (H, W, C) in the bytes of a file."""
    return torch.from_numpy(decode(encoded, bool(flag), to_rgb, what=what))


def _only_imperative(name: str) -> ArgumentError:
    return ArgumentError(
        "cannot be part of a symbol, as the size of the image is known only after it is decoded. "
        f"Call nd._internal.{name}(...) before, and bind its result."
    )


@operator(
    "_cvimdecode",
    types={"buf": torch.uint8, "output": torch.uint8},
    head_gradient=False,
    listed={"buf": "NDArray"},
)
def cvimdecode(buf: Tensor, *, flag: Annotated[int, AtLeast(0)] = 1, to_rgb: bool = True) -> Tensor:
    """The image in the bytes of a file (JPEG, PNG and whatever else OpenCV reads), as uint8.

    Unlike in MXNet, which passes some of OpenCV's other flags on and fails at others, every `flag` but 0 means
    colour. It cannot be in a symbol: the size of an image is known when it has been read.

    Parameters
    ----------
    buf
        The bytes, an array of uint8.
    flag
        0 for grey, anything else for colour.
    to_rgb
        Whether channels are red, green, blue; else as blue, green, red.

    Shapes
    ------
    buf : any
    out : (H, W, 3), grey (H, W, 1)
    """
    if buf.dtype is not torch.uint8:
        raise DTypeError(
            f"buf must be uint8, the bytes of a file; got {str(buf.dtype).removeprefix('torch.')}"
        )
    if buf.is_meta:
        raise _only_imperative("_cvimdecode")
    image = _decoded("buf", buf.detach().reshape(-1).cpu().numpy(), flag, to_rgb)
    return image.to(buf.device)


@operator("_cvimread", types={"output": torch.uint8}, head_gradient=False)
def cvimread(
    *,
    filename: str,
    flag: Annotated[int, AtLeast(0)] = 1,
    to_rgb: bool = True,
    device: torch.device | None = None,
) -> Tensor:
    """The image in a file (JPEG, PNG and whatever else OpenCV reads), as uint8; see `cvimdecode`.

    It cannot be in a symbol.

    Parameters
    ----------
    filename
        Path of the file.
    flag
        0 for grey, anything else for colour.
    to_rgb
        Whether channels are red, green, blue; else as blue, green, red.

    Shapes
    ------
    out : (H, W, 3), grey (H, W, 1)
    """
    if device is not None and torch.device(device).type == "meta":
        raise _only_imperative("_cvimread")
    path = os.path.expanduser(filename)
    # The bytes, not `imread`: the same decoder as above, and Python's own error for a path that is not there.
    with open(path, "rb") as file:
        encoded = np.frombuffer(file.read(), dtype=np.uint8)
    return _decoded(f"file {filename!r}", encoded, flag, to_rgb).to(device or "cpu")


def _check_picture(src: Tensor) -> None:
    if src.ndim != 3:
        raise ShapeError(f"src must have shape (H, W, C); got {tuple(src.shape)}")


@operator("_cvimresize", listed={"src": "NDArray"})
def cvimresize(
    src: Tensor,
    *,
    w: Annotated[int, AtLeast(1)],
    h: Annotated[int, AtLeast(1)],
    interp: Annotated[int, Between(0, 4)] = 1,
) -> Tensor:
    """`src` in another size, as ``image.resize`` computes it.

    Parameters
    ----------
    w, h
        The new width and height.
    interp
        0: the pixel before. 1: linear between two. 2: cubic between four. 3: mean of the area that a new pixel covers
        (linear where the image grows). 4: Lanczos' window over eight.

    Shapes
    ------
    src : (H, W, C)
    out : (h, w, C)

    >>> cvimresize(torch.tensor([[[0.0], [4.0]]]), w=4, h=1).flatten()
    tensor([0., 1., 3., 4.])
    """
    _check_picture(src)
    return resized(src, h, w, interp)


@operator("_cvcopyMakeBorder", listed={"src": "NDArray"})
def cvcopy_make_border(
    src: Tensor,
    *,
    top: Margin,
    bot: Margin,
    left: Margin,
    right: Margin,
    type: Annotated[int, Between(0, 4)] = 0,
    value: Double = 0.0,
    values: Annotated[tuple[float, ...], Listed("tuple of <double>")] = (),
) -> Tensor:
    """`src` with a margin around it.

    Parameters
    ----------
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

    Shapes
    ------
    src : (H, W, C)
    out : (top + H + bot, left + W + right, C)

    >>> cvcopy_make_border(torch.tensor([[[1], [2]]]), top=0, bot=0, left=2, right=1, type=4).flatten()
    tensor([1, 2, 1, 2, 1])
    """
    _check_picture(src)
    if not src.numel():
        raise ShapeError(f"src must have at least one pixel; got shape {tuple(src.shape)}")
    height, width, channels = src.shape
    if type:
        # Every margin but a constant one is made of pixels.
        rows, columns = _frame(height, top, bot, type), _frame(width, left, right, type)
        return src.index_select(0, rows.to(src.device)).index_select(1, columns.to(src.device))
    # Channels without a value of their own get 0.
    given = (*values, *(0.0,) * channels)[:channels] if values else (value,) * channels
    fill = torch.tensor(given, dtype=torch.float64)
    if not src.is_floating_point():
        # As a cast in OpenCV: rounded, and saturated.
        fill = fill.round().clamp(torch.iinfo(src.dtype).min, torch.iinfo(src.dtype).max)
    fill = fill.to(dtype=src.dtype).to(src.device)
    out = fill.expand(top + height + bot, left + width + right, channels).clone(
        memory_format=torch.contiguous_format
    )
    out[top : top + height, left : left + width] = src
    return out


def _frame(size: int, before: int, after: int, kind: int) -> Tensor:
    """Return which pixel is at each position along an axis with its margins."""
    position = torch.arange(-before, size + after)
    if kind == 2:
        # The image and its mirror image repeat with this period.
        position = position.remainder(2 * size)
        position = torch.minimum(position, 2 * size - 1 - position)
    elif kind == 3:
        position = position.remainder(size)
    elif kind == 4:
        # The outermost pixels are not repeated; one pixel has period 1.
        period = max(2 * size - 2, 1)
        position = position.remainder(period)
        position = torch.minimum(position, period - position)
    return position.clamp(0, size - 1)
