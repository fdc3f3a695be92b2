"""The usual augmenters of a detector, by a few parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from ...errors import ParameterError
from ..augmenter import Augmenter
from ..colour import CastAug
from ..geometric import ForceResizeAug, ResizeAug
from ..recipe import MEAN, STD, ChannelValues, colour_augmenters
from .augmenter import DetAugmenter, DetBorrowAug, DetHorizontalFlipAug, DetRandomSelectAug
from .regions import DetRandomCropAug, DetRandomPadAug, Range

__all__ = ["CreateDetAugmenter", "CreateMultiRandCropAugmenter"]

T = TypeVar("T")


def CreateMultiRandCropAugmenter(
    min_object_covered: float | list[float] = 0.1,
    aspect_ratio_range: Range | list[Range] = (0.75, 1.33),
    area_range: Range | list[Range] = (0.05, 1.0),
    min_eject_coverage: float | list[float] = 0.3,
    max_attempts: int | list[int] = 50,
    skip_prob: float = 0,
) -> DetRandomSelectAug:
    """Return an augmenter that cuts by one of several `DetRandomCropAug`, which ``random`` chooses.

    Parameters
    ----------
    min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts
        As `DetRandomCropAug` has them; lists have a value for each, and lists of one, and single values, count for all.
    skip_prob
        The probability of not cutting.

    Examples
    --------
    >>> len(CreateMultiRandCropAugmenter(min_object_covered=[0.1, 0.3, 0.5]).aug_list)
    3
    """
    settings = {
        "min_object_covered": min_object_covered,
        "aspect_ratio_range": aspect_ratio_range,
        "area_range": area_range,
        "min_eject_coverage": min_eject_coverage,
        "max_attempts": max_attempts,
    }
    count = max([len(value) for value in settings.values() if isinstance(value, list)], default=1)
    for name, value in settings.items():
        if isinstance(value, list) and len(value) not in (1, count):
            raise ParameterError(
                f"CreateMultiRandCropAugmenter: {name} must have {count} values, as another list has, or one; "
                f"got {len(value)}"
            )
    crops = [
        DetRandomCropAug(
            _nth(min_object_covered, i),
            _nth_range(aspect_ratio_range, i),
            _nth_range(area_range, i),
            _nth(min_eject_coverage, i),
            _nth(max_attempts, i),
        )
        for i in range(count)
    ]
    return DetRandomSelectAug(crops, skip_prob)


def _nth(value: T | list[T], index: int) -> T:
    """Return a setting of one of several; a single one counts for all."""
    if not isinstance(value, list):
        return value
    return value[index if len(value) > 1 else 0]


def _nth_range(value: Range | list[Range], index: int) -> Range:
    return _nth(value, index) if isinstance(value, list) else value


def CreateDetAugmenter(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: float = 0,
    rand_pad: float = 0,
    rand_gray: float = 0,
    rand_mirror: bool = False,
    mean: ChannelValues = None,
    std: ChannelValues = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    pca_noise: float = 0,
    hue: float = 0,
    inter_method: int = 2,
    min_object_covered: float | list[float] = 0.1,
    aspect_ratio_range: Range | list[Range] = (0.75, 1.33),
    area_range: Range | list[Range] = (0.05, 3.0),
    min_eject_coverage: float | list[float] = 0.3,
    max_attempts: int | list[int] = 50,
    pad_val: float | Sequence[float] = (127, 127, 127),
) -> list[DetAugmenter]:
    """Return the augmenters for a detector, in MXNet's order.

    Resizing, cropping, mirroring, padding, resizing to `data_shape`, conversion to float32, jitter, hue, lighting,
    grey, normalization.

    Parameters
    ----------
    data_shape
        Shape of the result, (C, H, W).
    resize
        New length of the shorter side, first of all; 0 for none.
    rand_crop, rand_pad
        Probability of cutting out a part, and of a frame.
    rand_gray
        Probability of a grey picture.
    rand_mirror
        Whether to mirror half of the pictures.
    mean, std
        What is subtracted, and divided by: a number for each channel, or True for ImageNet's.
    brightness, contrast, saturation, hue
        Amounts of jitter.
    pca_noise
        Standard deviation of the lighting noise.
    inter_method
        The interpolation, as `resize_short` has it.
    min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts
        As `CreateMultiRandCropAugmenter` has them; for frames, ratio, the largest area and attempts count, and must not
        be lists.
    pad_val
        Colour of the frames.

    Examples
    --------
    >>> [type(each).__name__ for each in CreateDetAugmenter((3, 300, 300), rand_crop=0.5, rand_mirror=True)]
    ['DetRandomSelectAug', 'DetHorizontalFlipAug', 'DetBorrowAug', 'DetBorrowAug']
    """
    if len(data_shape) != 3:
        raise ParameterError(f"CreateDetAugmenter: data_shape must be (C, H, W); got {tuple(data_shape)}")
    found: list[DetAugmenter] = [DetBorrowAug(ResizeAug(resize, inter_method))] if resize > 0 else []
    if rand_crop > 0:
        found.append(
            CreateMultiRandCropAugmenter(
                min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts,
                skip_prob=1 - rand_crop,
            )
        )  # fmt: skip
    if rand_mirror:
        found.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        largest = area_range[1] if isinstance(area_range, Sequence) else area_range
        for name, value in (
            ("area_range", largest),
            ("aspect_ratio_range", aspect_ratio_range),
            ("max_attempts", max_attempts),
        ):
            if isinstance(value, list) or (name == "area_range" and isinstance(value, Sequence)):
                raise ParameterError(
                    f"CreateDetAugmenter: {name} must not be a list with rand_pad; got {value!r}. "
                    "Make the list of augmenters from DetRandomPadAug yourself."
                )
        frame = DetRandomPadAug(aspect_ratio_range, (1.0, largest), max_attempts, pad_val)  # type: ignore[arg-type]  # lists have raised
        found.append(DetRandomSelectAug([frame], 1 - rand_pad))
    size = (data_shape[2], data_shape[1])
    after: list[Augmenter] = [
        ForceResizeAug(size, inter_method),
        CastAug(),
        *colour_augmenters(
            (brightness, contrast, saturation), hue, pca_noise, rand_gray,
            np.array(MEAN) if mean is True else mean, np.array(STD) if std is True else std,
        ),
    ]  # fmt: skip
    return [*found, *map(DetBorrowAug, after)]
