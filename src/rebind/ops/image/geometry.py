"""Sizes and flips of images: crop, resize, and mirror images."""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from ... import draws
from ...draws import Source
from ...errors import ShapeError
from ...params import AtLeast, Between, Params
from ..declaration import Operator, operator
from ._pixels import check_axes
from .resampling import resized

__all__ = ["Interpolation", "crop", "new_size", "resize"]

Interpolation = Annotated[int, Between(0, 4)]


@operator("_image_crop")
def crop(
    data: Tensor,
    *,
    x: Annotated[int, AtLeast(0)],
    y: Annotated[int, AtLeast(0)],
    width: Annotated[int, AtLeast(1)],
    height: Annotated[int, AtLeast(1)],
) -> Tensor:
    """The region of `width` and `height` whose first column is `x` and whose first row is `y`.

    Shapes
    ------
    data : (H, W, C) or (N, H, W, C)
    out : (height, width, C) or (N, height, width, C)

    >>> crop(torch.arange(6).reshape(2, 3, 1), x=1, y=0, width=2, height=1).flatten()
    tensor([1, 2])
    """
    check_axes(data)
    if y + height > data.shape[-3] or x + width > data.shape[-2]:
        raise ShapeError(
            f"x + width must be at most {data.shape[-2]} and y + height at most {data.shape[-3]} for data "
            f"of shape {tuple(data.shape)}; got {x} + {width} and {y} + {height}"
        )
    return data[..., y : y + height, x : x + width, :]


@operator("_image_resize")
def resize(
    data: Tensor, *, size: tuple[int, ...] = (), keep_ratio: bool = False, interp: Interpolation = 1
) -> Tensor:
    """`data` in another size, as OpenCV resizes an image.

    Each new pixel is a weighted sum of old ones, along columns and along rows. For floating types the weights are
    float32; for uint8 they are multiples of 1/2048, and sums are rounded as by OpenCV 3.4, which MXNet 1.9.1 contains.

    Parameters
    ----------
    size
        Width and height. One number is both of them, or with `keep_ratio` the shorter side.
    keep_ratio
        Whether one number in `size` leaves the image its shape; with two it has no effect.
    interp
        0: the pixel before. 1: linear between two. 2: cubic between four. 3: mean of the area that a new pixel covers
        (linear where the image grows). 4: Lanczos' window over eight.

    Shapes
    ------
    data : (H, W, C) or (N, H, W, C)
    out : (height, width, C) or (N, height, width, C)

    >>> resize(torch.tensor([[[0.0], [4.0]]]), size=(4, 1)).flatten()
    tensor([0., 1., 3., 4.])
    """
    check_axes(data)
    height, width = new_size(data.shape[-3], data.shape[-2], size, keep_ratio)
    return resized(data, height, width, interp)


@resize.check
def _(p: Params) -> str | None:
    if len(p.size) not in (1, 2) or min(p.size) < 1:
        return f"size must be one or two numbers above 0, width and height; got {p.size}"
    return None


def new_size(height: int, width: int, size: tuple[int, ...], keep_ratio: bool) -> tuple[int, int]:
    """Return the height and the width of an image that `resize` returns.

    >>> new_size(4, 8, (2,), keep_ratio=True)
    (2, 4)
    """
    if len(size) == 2:
        return size[1], size[0]  # given as (width, height)
    # One number: both sides, or the shorter one.
    (side,) = size
    if not keep_ratio:
        return side, side
    if height > width:
        # The quotient is cut to whole pixels, as in MXNet.
        return height * side // max(width, 1), side
    return side, width * side // max(height, 1)


def _declare_flips(side: str, axis: int, what: str, example: str = "") -> tuple[Operator, Operator]:
    """Make the operator that reverses an axis, and the one that does so at random."""

    def flip(data: Tensor) -> Tensor:
        check_axes(data)
        return data.flip(axis)

    def random_flip(data: Tensor, *, generator: Source | None = None) -> Tensor:
        check_axes(data, batch=False)
        # Both are computed and one selected, so that the device need not report what was drawn.
        turn = draws.uniform((), generator, device=data.device) < 0.5
        return torch.where(turn, data.flip(axis), data)

    shapes = "\n\nShapes\n------\ndata, out : (H, W, C)"
    flip.__doc__ = f"`data` with its {what} in reverse order.{shapes} or (N, H, W, C){example}"
    random_flip.__doc__ = (
        f"`data`, or with a probability of one half `data` with its {what} in reverse order.{shapes}"
    )
    made = []
    for function, name in ((flip, f"flip_{side}"), (random_flip, f"random_flip_{side}")):
        function.__name__ = function.__qualname__ = name
        made.append(operator(f"_image_{name}", same_shape=True)(function))
    return made[0], made[1]


flip_left_right, random_flip_left_right = _declare_flips(
    "left_right",
    -2,
    "columns",
    "\n\n>>> flip_left_right(torch.tensor([[[1], [2], [3]]])).flatten()\ntensor([3, 2, 1])",
)


flip_top_bottom, random_flip_top_bottom = _declare_flips("top_bottom", -3, "rows")
