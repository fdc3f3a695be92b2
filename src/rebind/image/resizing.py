"""Pictures in another size."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch
from torch import Tensor

from ..checks import COUNT, check_kind
from ..errors import ParameterError, ShapeError
from ..imaging import resize as resize_on_host
from ..ndarray import NDArray
from ..ops.image.resampling import resized as resize_on_device
from .pictures import as_array, picture_of

__all__ = ["imresize", "interpolation_method", "resize_short", "resized", "scale_down", "short_side"]

# What OpenCV resizes in all interpolations; others, and tensors of other devices, are for the operator.
_HOST_TYPES = (torch.uint8, torch.float32, torch.float64)


def interpolation_method(interp: int, sizes: Sequence[int] = ()) -> int:
    """Return OpenCV's number of an interpolation; 9 and 10 are MXNet's own.

    Parameters
    ----------
    interp
        0: nearest pixel. 1: linear. 2: cubic. 3: mean of an area. 4: Lanczos' window. 9: cubic where both sides grow,
        area where both shrink, linear otherwise. 10: one of the first five, which ``random`` chooses.
    sizes
        The old height and width and the new ones, for 9; without them it is cubic.

    Examples
    --------
    >>> interpolation_method(9, (100, 100, 50, 50)), interpolation_method(9), interpolation_method(4)
    (3, 2, 4)
    """
    if interp == 10:
        return random.randint(0, 4)
    if interp == 9:
        if not sizes:
            return 2
        if len(sizes) != 4:
            raise ParameterError(
                f"sizes must be the old height and width and the new ones; got {tuple(sizes)}"
            )
        height, width, new_height, new_width = sizes
        if new_height > height and new_width > width:
            return 2
        return 3 if new_height < height and new_width < width else 1
    if interp not in range(5):
        raise ParameterError(f"interp must be 0 to 4, 9 or 10; got {interp!r}")
    return interp


def resized(picture: Tensor, width: int, height: int, interp: int) -> Tensor:
    """Return a picture (H, W, C) in another size; `interp` is 0 to 4. One of this size is copied.

    >>> resized(torch.zeros(4, 6, 3), 3, 2, interp=1).shape
    torch.Size([2, 3, 3])
    """
    if width < 1 or height < 1 or not picture.numel():
        raise ShapeError(
            f"a picture must have a pixel before and after it is resized; got shape {tuple(picture.shape)} "
            f"for a width of {width} and a height of {height}"
        )
    if picture.shape[:2] == (height, width):
        return picture.clone()
    if picture.device.type == "cpu" and picture.dtype in _HOST_TYPES:
        return torch.from_numpy(resize_on_host(picture.detach().numpy(), width, height, interp))
    return resize_on_device(picture, height, width, interp)


def imresize(src: NDArray, w: int, h: int, interp: int = 1, out: NDArray | None = None) -> NDArray:
    """Return a picture with a width of `w` and a height of `h`.

    OpenCV resizes on the host. Cubic interpolation of uint8 may differ from MXNet's, which has an older OpenCV, by one
    grey level; ``nd._internal._cvimresize`` has its very numbers.

    Parameters
    ----------
    src
        The picture, (H, W, C).
    w, h
        The new width and height.
    interp
        0: nearest pixel. 1: linear between two. 2: cubic between four. 3: mean of the area that a new pixel covers.
        4: Lanczos' window over eight.
    out
        Where to write it, an array (h, w, C) of the type of `src`; a new one by default.

    Examples
    --------
    >>> import rebind as mx
    >>> imresize(mx.nd.array([[[0], [4]]]), 4, 1).asnumpy().ravel().tolist()
    [0.0, 1.0, 3.0, 4.0]
    """
    picture = picture_of(src, "imresize")
    for name, value in (("w", w), ("h", h)):
        if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:
            raise ParameterError(f"imresize: {name} must be an int >= 1; got {value!r}")
    if interp not in range(5):
        raise ParameterError(f"imresize: interp must be 0 to 4; got {interp!r}")
    new = resized(picture, int(w), int(h), interp)
    if out is None:
        return as_array(new, src)
    if out.shape != tuple(new.shape) or out.dtype != src.dtype:
        raise ShapeError(
            f"imresize: out must have shape {tuple(new.shape)} and the type of src; got {out.shape} of "
            f"{out.dtype.__name__}"
        )
    out[:] = as_array(new, src)
    return out


def scale_down(src_size: Sequence[float], size: Sequence[float]) -> tuple[int, int]:
    """Return `size`, reduced so that it fits into `src_size`; the ratio of the sides stays.

    Parameters
    ----------
    src_size, size
        Width and height.

    Examples
    --------
    >>> scale_down((640, 480), (720, 120))
    (640, 106)
    """
    width, height = size
    columns, rows = src_size
    if rows < height:
        width, height = width * rows / height, rows
    if columns < width:
        width, height = columns, height * columns / width
    return int(width), int(height)


def short_side(picture: Tensor, size: int, interp: int) -> Tensor:
    """Return a picture whose shorter side is `size`."""
    height, width = picture.shape[:2]
    if height > width:
        new_width, new_height = size, size * height // width
    else:
        new_width, new_height = size * width // height, size
    method = interpolation_method(interp, (height, width, new_height, new_width))
    return resized(picture, new_width, new_height, method)


def resize_short(src: NDArray, size: int, interp: int = 2) -> NDArray:
    """Return a picture whose shorter side is `size`; the ratio of the sides stays.

    Parameters
    ----------
    src
        The picture, (H, W, C).
    size
        The new length of the shorter side.
    interp
        As `imresize` has it; 9: chosen by the sizes, 10: by ``random``.

    Examples
    --------
    >>> import rebind as mx
    >>> resize_short(mx.nd.ones((20, 30, 3)), 10).shape
    (10, 15, 3)
    """
    check_kind("resize_short", COUNT, size=size)
    return as_array(short_side(picture_of(src, "resize_short"), size, interp), src)
