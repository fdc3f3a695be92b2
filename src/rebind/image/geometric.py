"""Augmenters of size, position and orientation."""

from __future__ import annotations

import random

from torch import Tensor

from ..checks import COUNT, NUMBER, check_kind
from .augmenter import PictureAugmenter
from .cropping import Size, area_range, box_by_area, centred_box, check_size, cut, random_box
from .resizing import interpolation_method, resized, short_side

__all__ = [
    "CenterCropAug", "ForceResizeAug", "HorizontalFlipAug", "RandomCropAug", "RandomSizedCropAug", "ResizeAug",
]  # fmt: skip


class SizedAugmenter(PictureAugmenter):
    """An augmenter whose result has a given width and height, `size`."""

    def __init__(self, size: Size, interp: int = 2) -> None:
        check_size(size, type(self).__name__)
        super().__init__(size=size, interp=interp)
        self.size = size
        self.interp = interp


class ResizeAug(PictureAugmenter):
    """Resizes a picture so that its shorter side is `size`; see `resize_short`.

    Parameters
    ----------
    size
        The new length of the shorter side.
    interp
        The interpolation.

    Examples
    --------
    >>> import rebind as mx
    >>> ResizeAug(10)(mx.nd.ones((20, 30, 3))).shape
    (10, 15, 3)
    """

    def __init__(self, size: int, interp: int = 2) -> None:
        check_kind("ResizeAug", COUNT, size=size)
        super().__init__(size=size, interp=interp)
        self.size = size
        self.interp = interp

    def apply(self, picture: Tensor) -> Tensor:
        """Return what becomes of the picture."""
        return short_side(picture, self.size, self.interp)


class ForceResizeAug(SizedAugmenter):
    """Resizes a picture to `size`, whatever the ratio of its sides.

    Parameters
    ----------
    size
        Width and height.
    interp
        The interpolation, as `resize_short` has it.

    Examples
    --------
    >>> import rebind as mx
    >>> ForceResizeAug((8, 9))(mx.nd.ones((20, 30, 3))).shape
    (9, 8, 3)
    """

    def apply(self, picture: Tensor) -> Tensor:
        """Return what becomes of the picture."""
        width, height = self.size
        method = interpolation_method(self.interp, (*picture.shape[:2], height, width))
        return resized(picture, width, height, method)


class RandomCropAug(SizedAugmenter):
    """Cuts out a part at a position that ``random`` draws; see `random_crop`.

    Parameters
    ----------
    size
        Width and height.
    interp
        The interpolation, for pictures that are smaller.

    Examples
    --------
    >>> import rebind as mx
    >>> RandomCropAug((8, 9))(mx.nd.ones((20, 30, 3))).shape
    (9, 8, 3)
    """

    def apply(self, picture: Tensor) -> Tensor:
        """Return what becomes of the picture."""
        return cut(picture, random_box(picture, self.size), self.size, self.interp)


class RandomSizedCropAug(PictureAugmenter):
    """Cuts out a part whose position, area and ratio ``random`` draws; see `random_size_crop`.

    Parameters
    ----------
    size
        Width and height of the result.
    area
        Range of the part's share of the area; one number is the least, up to 1.
    ratio
        Range of its width divided by its height.
    interp
        The interpolation.
    kwargs
        ``min_area``, an older name for `area`.

    Examples
    --------
    >>> import rebind as mx
    >>> RandomSizedCropAug((8, 9), 0.3, (0.5, 2))(mx.nd.ones((20, 30, 3))).shape
    (9, 8, 3)
    """

    def __init__(
        self,
        size: Size,
        area: float | tuple[float, float] | None,
        ratio: tuple[float, float],
        interp: int = 2,
        **kwargs: float,
    ) -> None:
        check_size(size, "RandomSizedCropAug")
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        self.size = size
        self._ranges = area_range(area, ratio, kwargs, "RandomSizedCropAug")
        self.area = self._ranges[0] if area is None else area
        self.ratio = ratio
        self.interp = interp

    def apply(self, picture: Tensor) -> Tensor:
        """Return what becomes of the picture."""
        box = box_by_area(picture, *self._ranges) or centred_box(picture, self.size)
        return cut(picture, box, self.size, self.interp)


class CenterCropAug(SizedAugmenter):
    """Cuts out the middle; see `center_crop`.

    Parameters
    ----------
    size
        Width and height.
    interp
        The interpolation, for pictures that are smaller.

    Examples
    --------
    >>> import rebind as mx
    >>> CenterCropAug((8, 9))(mx.nd.ones((20, 30, 3))).shape
    (9, 8, 3)
    """

    def apply(self, picture: Tensor) -> Tensor:
        """Return what becomes of the picture."""
        return cut(picture, centred_box(picture, self.size), self.size, self.interp)


class HorizontalFlipAug(PictureAugmenter):
    """Mirrors a picture, left to right, with a probability; ``random`` draws.

    Parameters
    ----------
    p
        The probability.

    Examples
    --------
    >>> import rebind as mx
    >>> HorizontalFlipAug(1)(mx.nd.array([[[1], [2]]])).asnumpy().ravel().tolist()
    [2.0, 1.0]
    """

    def __init__(self, p: float) -> None:
        check_kind("HorizontalFlipAug", NUMBER, p=p)
        super().__init__(p=p)
        self.p = p

    def apply(self, picture: Tensor) -> Tensor:
        """Return what becomes of the picture."""
        return picture.flip(1) if random.random() < self.p else picture
