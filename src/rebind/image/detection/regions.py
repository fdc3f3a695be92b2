"""Augmenters for detection that cut out a part of a picture, or put it on a larger one."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ...checks import check_numbers
from ...errors import ParameterError
from ..cropping import Box, cut
from .augmenter import DetPictureAugmenter

__all__ = ["DetRandomCropAug", "DetRandomPadAug", "Range"]

#: The smallest and the largest number, or one for both.
Range = float | Sequence[float]

# Objects of fewer pixels do not decide whether enough of the objects is in a part.
_FEWEST_PIXELS = 2


def _range(who: str, name: str, value: Range) -> tuple[float, float]:
    check_numbers(who, **{name: value})
    low, high = value if isinstance(value, Sequence) else (value, value)
    return low, high


def _areas(boxes: np.ndarray) -> np.ndarray:
    """Return the areas of boxes (n, 4); 0 for those that are turned inside out."""
    return np.maximum(0, boxes[:, 2] - boxes[:, 0]) * np.maximum(0, boxes[:, 3] - boxes[:, 1])


def _moved(label: np.ndarray, box: Box, height: int, width: int) -> np.ndarray:
    """Return a copy of a label with edges from 0 to 1 of the part `box` of the picture."""
    new = label.copy()
    new[:, (1, 3)] = (label[:, (1, 3)] * width - box.x) / box.width
    new[:, (2, 4)] = (label[:, (2, 4)] * height - box.y) / box.height
    return new


class DetRandomCropAug(DetPictureAugmenter):
    """Cuts out a part, whose size, ratio and position ``random`` draws until enough of the objects is in it.

    When no attempt succeeds, the picture stays as it is.

    Parameters
    ----------
    min_object_covered
        How much of each object that is seen at all must be in the part; more than this share of its area.
    aspect_ratio_range
        Range of the part's width divided by its height.
    area_range
        Range of its share of the picture's area.
    min_eject_coverage
        Objects of which no more than this share is in the part are taken out of the label.
    max_attempts
        How many draws there are at most.

    Examples
    --------
    >>> import rebind as mx
    >>> label = np.array([[0, 0.1, 0.2, 0.5, 0.6], [1, 0.4, 0.4, 0.9, 0.8]])
    >>> picture, left = DetRandomCropAug(area_range=(0.5, 0.9))(mx.nd.ones((20, 30, 3)), label)
    >>> 300 <= picture.shape[0] * picture.shape[1] <= 600, bool((left[:, 1:] <= 1).all())
    (True, True)
    """

    def __init__(
        self,
        min_object_covered: float = 0.1,
        aspect_ratio_range: Range = (0.75, 1.33),
        area_range: Range = (0.05, 1.0),
        min_eject_coverage: float = 0.3,
        max_attempts: int = 50,
    ) -> None:
        who = "DetRandomCropAug"
        self.aspect_ratio_range = _range(who, "aspect_ratio_range", aspect_ratio_range)
        self.area_range = _range(who, "area_range", area_range)
        check_numbers(
            who,
            min_object_covered=min_object_covered,
            min_eject_coverage=min_eject_coverage,
            max_attempts=max_attempts,
        )
        super().__init__(
            min_object_covered=min_object_covered,
            aspect_ratio_range=self.aspect_ratio_range,
            area_range=self.area_range,
            min_eject_coverage=min_eject_coverage,
            max_attempts=max_attempts,
        )
        self.min_object_covered = min_object_covered
        self.min_eject_coverage = min_eject_coverage
        self.max_attempts = max_attempts
        self.enabled = True
        low, high = self.area_range
        if high <= 0 or low > high:
            raise ParameterError(
                f"{who}: area_range must be (low, high) with low <= high and high > 0; got {(low, high)}"
            )
        _check_ratios(who, self.aspect_ratio_range)

    def apply(self, picture: Tensor, label: np.ndarray) -> tuple[Tensor, np.ndarray]:
        """Return what becomes of the picture and its label."""
        height, width = picture.shape[:2]
        for _ in range(self.max_attempts if self.enabled else 0):
            box = self._drawn(height, width)
            if box is not None and self._covers(label, box, height, width):
                left = self._left(label, box, height, width)
                if len(left):
                    return cut(picture, box), left
        return picture, label

    def _drawn(self, height: int, width: int) -> Box | None:
        """Return a part by one draw; None when it does not fit."""
        least, most = (share * height * width for share in self.area_range)
        ratio = random.uniform(*self.aspect_ratio_range)
        # The highest part that fits is also the highest whose width, rounded, does.
        highest = min(round(math.sqrt(most / ratio)), height, int((width + 0.4999999) / ratio))
        lowest = min(round(math.sqrt(max(least, 0.0) / ratio)), highest)
        rows = random.randint(lowest, highest) if lowest < highest else lowest
        # One row more or less, where rounding has left the range of areas.
        rows += (rows * round(rows * ratio) < least) - (rows * round(rows * ratio) > most)
        columns = round(rows * ratio)
        if not (least <= rows * columns <= most and 0 < rows <= height and 0 < columns <= width):
            return None
        y = random.randint(0, height - rows)
        x = random.randint(0, width - columns)
        return Box(x, y, columns, rows)

    def _covers(self, label: np.ndarray, box: Box, height: int, width: int) -> bool:
        """Return whether enough is in the part of each object that is seen in it."""
        areas = _areas(label[:, 1:5])
        counted = areas * height * width > _FEWEST_PIXELS
        # In the label's type: an object that ends where the part begins is not seen in it.
        edges = [box.x / width, box.y / height, (box.x + box.width) / width, (box.y + box.height) / height]
        part = np.array(edges, dtype=label.dtype)
        boxes = label[counted, 1:5]
        seen = np.concatenate(
            [np.maximum(boxes[:, :2], part[:2]), np.minimum(boxes[:, 2:], part[2:])], axis=1
        )
        covered = _areas(seen) / areas[counted]
        covered = covered[covered > 0]
        return bool(covered.size) and bool(covered.min() > self.min_object_covered)

    def _left(self, label: np.ndarray, box: Box, height: int, width: int) -> np.ndarray:
        """Return the label of the objects that are left in the part."""
        new = _moved(label, box, height, width)
        new[:, 1:5] = np.clip(new[:, 1:5], 0, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            covered = _areas(new[:, 1:5]) * box.width * box.height / (_areas(label[:, 1:5]) * width * height)
        return new[(_areas(new[:, 1:5]) > 0) & (covered > self.min_eject_coverage)]


class DetRandomPadAug(DetPictureAugmenter):
    """Puts a picture on a larger one of one colour, whose size and ratio, and the position, ``random`` draws.

    When no attempt succeeds, the picture stays as it is.

    Parameters
    ----------
    aspect_ratio_range
        Range of the new width divided by the new height.
    area_range
        Range of the new area divided by the old one.
    max_attempts
        How many draws there are at most.
    pad_val
        The colour: a number for each channel, or one for all.

    Examples
    --------
    >>> import rebind as mx
    >>> label = np.array([[0, 0.0, 0.0, 1.0, 1.0]])
    >>> picture, label = DetRandomPadAug(area_range=(2, 3))(mx.nd.ones((20, 30, 3)), label)
    >>> 0.3 < float((label[0, 3] - label[0, 1]) * (label[0, 4] - label[0, 2])) < 0.55
    True
    """

    def __init__(
        self,
        aspect_ratio_range: Range = (0.75, 1.33),
        area_range: Range = (1.0, 3.0),
        max_attempts: int = 50,
        pad_val: float | Sequence[float] = (128, 128, 128),
    ) -> None:
        who = "DetRandomPadAug"
        self.aspect_ratio_range = _range(who, "aspect_ratio_range", aspect_ratio_range)
        self.area_range = _range(who, "area_range", area_range)
        check_numbers(who, pad_val=pad_val, max_attempts=max_attempts)
        super().__init__(
            aspect_ratio_range=self.aspect_ratio_range,
            area_range=self.area_range,
            max_attempts=max_attempts,
            pad_val=pad_val,
        )
        self.pad_val = pad_val
        self.max_attempts = max_attempts
        self.enabled = True
        low, high = self.area_range
        if high <= 1 or low > high:
            raise ParameterError(
                f"{who}: area_range must be (low, high) with low <= high and high > 1; got {(low, high)}"
            )
        _check_ratios(who, self.aspect_ratio_range)

    def apply(self, picture: Tensor, label: np.ndarray) -> tuple[Tensor, np.ndarray]:
        """Return what becomes of the picture and its label."""
        height, width, channels = picture.shape
        for _ in range(self.max_attempts if self.enabled else 0):
            frame = self._drawn(height, width)
            if frame is not None:
                colour = torch.as_tensor(self.pad_val, dtype=torch.float64).to(picture).expand(channels)
                new = colour.expand(frame.height, frame.width, channels).clone()
                new[-frame.y : height - frame.y, -frame.x : width - frame.x] = picture
                return new, _moved(label, frame, height, width)
        return picture, label

    def _drawn(self, height: int, width: int) -> Box | None:
        """Return the larger picture as a part that begins before the picture does; None when it does not fit."""
        least, most = (share * height * width for share in self.area_range)
        ratio = random.uniform(*self.aspect_ratio_range)
        highest = round(math.sqrt(most / ratio))
        lowest = round(math.sqrt(max(least, 0.0) / ratio))
        # High enough for the picture's width, and as high as the picture; what is too narrow all the same does not fit.
        if round(lowest * ratio) < width:
            lowest = int((width + 0.4999999) / ratio)
        lowest = max(lowest, height)
        lowest = min(lowest, highest)
        rows = random.randint(lowest, highest) if lowest < highest else lowest
        columns = round(rows * ratio)
        if rows - height < 2 or columns - width < 2:  # too little to be seen
            return None
        y = random.randint(0, rows - height)
        x = random.randint(0, columns - width)
        return Box(-x, -y, columns, rows)


def _check_ratios(who: str, ratios: tuple[float, float]) -> None:
    low, high = ratios
    if low <= 0 or low > high:
        raise ParameterError(
            f"{who}: aspect_ratio_range must be (low, high) with 0 < low <= high; got {(low, high)}"
        )
