"""Parts of pictures: where they are, and cutting them out."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from torch import Tensor

from ..checks import LIST, NUMBER, Kind, check_kind, or_none, warn_user
from ..errors import ArgumentError, BoundsError, ParameterError
from ..ndarray import NDArray
from .pictures import as_array, picture_of
from .resizing import interpolation_method, resized, scale_down

__all__ = [
    "Box",
    "Size",
    "box_by_area",
    "center_crop",
    "centred_box",
    "check_size",
    "cut",
    "fixed_crop",
    "random_box",
    "random_crop",
    "random_size_crop",
]  # fmt: skip

#: Width and height.
Size: TypeAlias = "tuple[int, int] | Sequence[int]"

_ATTEMPTS = 10


def _are_two_numbers(value: object) -> bool:
    return LIST.allows(value) and len(list(value)) == 2 and all(map(NUMBER.allows, value))  # type: ignore[call-overload]


_SIZE = Kind("a width and a height", _are_two_numbers, ParameterError)
_RANGE = Kind("a range of two numbers", _are_two_numbers, ParameterError)
_AREA = Kind(
    "a number or a range of two numbers",
    lambda value: NUMBER.allows(value) or _are_two_numbers(value),
    ParameterError,
)


class Box(NamedTuple):
    """A part of a picture: its left and upper edge, its width and height."""

    x: int
    y: int
    width: int
    height: int


def cut(picture: Tensor, box: Box, size: Size | None = None, interp: int = 2) -> Tensor:
    """Return a copy of the part `box`, resized to `size` where that is another."""
    part = picture[box.y : box.y + box.height, box.x : box.x + box.width]
    if size is None or tuple(size) == (box.width, box.height):
        return part.clone()
    width, height = size
    return resized(part, width, height, interpolation_method(interp, (box.height, box.width, height, width)))


def _box_size(picture: Tensor, size: Size) -> tuple[int, int]:
    height, width = picture.shape[:2]
    new = scale_down((width, height), size)
    if min(new) < 1:
        raise ParameterError(
            f"size must be a width and a height that can be cut out of a picture of {width} x {height}; "
            f"got {tuple(size)}"
        )
    return new


def centred_box(picture: Tensor, size: Size) -> Box:
    """Return the part in the middle, of the size or, in a smaller picture, of its ratio."""
    height, width = picture.shape[:2]
    new_width, new_height = _box_size(picture, size)
    return Box((width - new_width) // 2, (height - new_height) // 2, new_width, new_height)


def random_box(picture: Tensor, size: Size) -> Box:
    """Return a part of the size at a position that ``random`` draws: first its left, then its upper edge."""
    height, width = picture.shape[:2]
    new_width, new_height = _box_size(picture, size)
    x = random.randint(0, width - new_width)
    y = random.randint(0, height - new_height)
    return Box(x, y, new_width, new_height)


def box_by_area(picture: Tensor, area: tuple[float, float], ratio: tuple[float, float]) -> Box | None:
    """Return a part whose share of the area and ratio of the sides ``random`` draws; None when ten do not fit."""
    height, width = picture.shape[:2]
    logarithms = math.log(ratio[0]), math.log(ratio[1])
    for _ in range(_ATTEMPTS):
        pixels = random.uniform(*area) * height * width
        drawn = math.exp(random.uniform(*logarithms))
        new_width, new_height = round(math.sqrt(pixels * drawn)), round(math.sqrt(pixels / drawn))
        if 1 <= new_width <= width and 1 <= new_height <= height:
            x = random.randint(0, width - new_width)
            y = random.randint(0, height - new_height)
            return Box(x, y, new_width, new_height)
    return None


def area_range(
    area: float | Sequence[float] | None, ratio: Sequence[float], old: dict[str, float], who: str
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ranges of area and ratio; `old` may have MXNet's older name ``min_area`` for the area."""
    if "min_area" in old:
        warn_user(f"{who}: min_area is deprecated, as in MXNet. Use area.", DeprecationWarning)
        area = old.pop("min_area")
    if old:
        raise ArgumentError(f"{who}: no parameter {', '.join(map(repr, old))}")
    check_kind(who, or_none(_AREA), area=area)
    check_kind(who, _RANGE, ratio=ratio)
    low, high = area if isinstance(area, Sequence) else (area, 1.0)
    for name, (first, second) in (("area", (low, high)), ("ratio", tuple(ratio))):
        if first is None or not 0 < first <= second:
            raise ParameterError(
                f"{who}: {name} must be (low, high) with 0 < low <= high; got ({first}, {second})"
            )
    return (low, high), (ratio[0], ratio[1])  # type: ignore[return-value]  # None has raised


def fixed_crop(
    src: NDArray, x0: int, y0: int, w: int, h: int, size: Size | None = None, interp: int = 2
) -> NDArray:
    """Return the part of a picture that begins at (x0, y0), resized to `size` if that is given.

    A part that reaches beyond the picture ends with it.

    Parameters
    ----------
    src
        The picture, (H, W, C).
    x0, y0
        Left and upper edge of the part.
    w, h
        Its width and height.
    size
        Width and height of the result.
    interp
        As `resize_short` has it.

    Examples
    --------
    >>> import rebind as mx
    >>> fixed_crop(mx.nd.ones((20, 30, 3)), 1, 2, 10, 8, size=(5, 4)).shape
    (4, 5, 3)
    """
    picture = picture_of(src, "fixed_crop")
    height, width = picture.shape[:2]
    if not (0 <= x0 < width and 0 <= y0 < height and w >= 1 and h >= 1):
        raise BoundsError(
            f"fixed_crop: x0, y0, w and h must be a part of the picture of {width} x {height}; got {(x0, y0, w, h)}"
        )
    return as_array(cut(picture, Box(x0, y0, w, h), size, interp), src)


def _cropped(src: NDArray, picture: Tensor, box: Box, size: Size, interp: int) -> tuple[NDArray, Box]:
    return as_array(cut(picture, box, size, interp), src), box


def check_size(size: Size, who: str) -> None:
    """Raise an error for what is no width and height."""
    check_kind(who, _SIZE, size=size)


def center_crop(src: NDArray, size: Size, interp: int = 2) -> tuple[NDArray, Box]:
    """Return the middle of a picture, and where it is; from a smaller picture, a part of the same ratio, enlarged.

    Parameters
    ----------
    src
        The picture, (H, W, C).
    size
        Width and height of the result.
    interp
        As `resize_short` has it.

    Returns
    -------
    NDArray
        The part.
    tuple
        Its left and upper edge, width and height in `src`.

    Examples
    --------
    >>> import rebind as mx
    >>> part, where = center_crop(mx.nd.ones((20, 30, 3)), (10, 8))
    >>> part.shape, tuple(where)
    ((8, 10, 3), (10, 6, 10, 8))
    """
    picture = picture_of(src, "center_crop")
    check_size(size, "center_crop")
    return _cropped(src, picture, centred_box(picture, size), size, interp)


def random_crop(src: NDArray, size: Size, interp: int = 2) -> tuple[NDArray, Box]:
    """Return a part of a picture at a position that ``random`` draws, and where it is.

    From a picture that is smaller, a part of the same ratio is enlarged.

    Parameters
    ----------
    src
        The picture, (H, W, C).
    size
        Width and height of the result.
    interp
        As `resize_short` has it.

    Returns
    -------
    NDArray
        The part.
    tuple
        Its left and upper edge, width and height in `src`.

    Examples
    --------
    >>> import rebind as mx
    >>> random_crop(mx.nd.ones((20, 30, 3)), (10, 8))[0].shape
    (8, 10, 3)
    """
    picture = picture_of(src, "random_crop")
    check_size(size, "random_crop")
    return _cropped(src, picture, random_box(picture, size), size, interp)


def random_size_crop(
    src: NDArray,
    size: Size,
    area: float | tuple[float, float] | None,
    ratio: tuple[float, float],
    interp: int = 2,
    **kwargs: float,
) -> tuple[NDArray, Box]:
    """Return a part of a picture whose position, area and ratio ``random`` draws, and where it is.

    When ten draws do not fit into the picture it is the middle, as of `center_crop`.

    Parameters
    ----------
    src
        The picture, (H, W, C).
    size
        Width and height of the result.
    area
        Range of the part's share of the area; one number is the least, up to 1.
    ratio
        Range of its width divided by its height.
    interp
        As `resize_short` has it.
    kwargs
        ``min_area``, an older name for `area`.

    Returns
    -------
    NDArray
        The part, resized to `size`.
    tuple
        Its left and upper edge, width and height in `src`.

    Examples
    --------
    >>> import rebind as mx
    >>> random_size_crop(mx.nd.ones((20, 30, 3)), (10, 8), (0.2, 0.5), (3 / 4, 4 / 3))[0].shape
    (8, 10, 3)
    """
    picture = picture_of(src, "random_size_crop")
    check_size(size, "random_size_crop")
    ranges = area_range(area, ratio, kwargs, "random_size_crop")
    box = box_by_area(picture, *ranges) or centred_box(picture, size)
    return _cropped(src, picture, box, size, interp)
