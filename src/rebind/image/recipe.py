"""The usual augmenters of a classifier, by a few parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from ..checks import FLAG, LIST, NUMBER, check_kind
from ..errors import ParameterError
from ..ndarray import NDArray, array
from .augmenter import Augmenter
from .colour import CastAug, ColorJitterAug, ColorNormalizeAug, HueJitterAug, LightingAug, RandomGrayAug
from .geometric import CenterCropAug, HorizontalFlipAug, RandomCropAug, RandomSizedCropAug, ResizeAug

__all__ = ["MEAN", "STD", "ChannelValues", "CreateAugmenter", "colour_augmenters"]

#: True for ImageNet's, a number for each channel, or None for none.
ChannelValues: TypeAlias = bool | np.ndarray | NDArray | Sequence[float] | None

#: Of ImageNet's pictures: means and standard deviations of the channels.
MEAN = (123.68, 116.28, 103.53)
STD = (58.395, 57.12, 57.375)
# The principal components of their colours.
_EIGENVALUES = (55.46, 4.794, 1.148)
_EIGENVECTORS = ((-0.5675, 0.7192, 0.4009), (-0.5808, -0.0045, -0.8140), (-0.5836, -0.6948, 0.4203))


def CreateAugmenter(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: bool = False,
    rand_resize: bool = False,
    rand_mirror: bool = False,
    mean: ChannelValues = None,
    std: ChannelValues = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    hue: float = 0,
    pca_noise: float = 0,
    rand_gray: float = 0,
    inter_method: int = 2,
) -> list[Augmenter]:
    """Return the augmenters for a classifier, in MXNet's order.

    Resizing, cropping, mirroring, conversion to float32, jitter, hue, lighting, grey, normalization.

    Parameters
    ----------
    data_shape
        Shape of the result, (C, H, W).
    resize
        New length of the shorter side, before cropping; 0 for none.
    rand_crop
        Whether to crop at a random position; otherwise in the middle.
    rand_resize
        Whether to crop a random area, 8% at least, with a ratio of 3/4 to 4/3; needs `rand_crop`.
    rand_mirror
        Whether to mirror half of the pictures.
    mean, std
        What is subtracted, and divided by: a number for each channel, or True for ImageNet's.
    brightness, contrast, saturation, hue
        Amounts of jitter.
    pca_noise
        Standard deviation of the lighting noise.
    rand_gray
        Probability of a grey picture.
    inter_method
        The interpolation, as `resize_short` has it.

    Examples
    --------
    >>> [type(each).__name__ for each in CreateAugmenter((3, 224, 224), rand_mirror=True, mean=True)]
    ['CenterCropAug', 'HorizontalFlipAug', 'CastAug', 'ColorNormalizeAug']
    """
    check_kind("CreateAugmenter", LIST, data_shape=data_shape)
    check_kind(
        "CreateAugmenter", NUMBER, resize=resize, brightness=brightness, contrast=contrast, saturation=saturation,
        hue=hue, pca_noise=pca_noise, rand_gray=rand_gray,
    )  # fmt: skip
    check_kind("CreateAugmenter", FLAG, rand_crop=rand_crop, rand_resize=rand_resize, rand_mirror=rand_mirror)
    if len(data_shape) != 3:
        raise ParameterError(f"CreateAugmenter: data_shape must be (C, H, W); got {tuple(data_shape)}")
    if rand_resize and not rand_crop:
        raise ParameterError("CreateAugmenter: rand_crop must be True when rand_resize is; got False")
    size = (data_shape[2], data_shape[1])
    crop: Augmenter
    if rand_resize:
        crop = RandomSizedCropAug(size, 0.08, (3.0 / 4.0, 4.0 / 3.0), inter_method)
    elif rand_crop:
        crop = RandomCropAug(size, inter_method)
    else:
        crop = CenterCropAug(size, inter_method)
    first: list[Augmenter] = [ResizeAug(resize, inter_method)] if resize > 0 else []
    mirror: list[Augmenter] = [HorizontalFlipAug(0.5)] if rand_mirror else []
    return [
        *first,
        crop,
        *mirror,
        CastAug(),
        *colour_augmenters(
            (brightness, contrast, saturation), hue, pca_noise, rand_gray,
            array(MEAN) if mean is True else mean, array(STD) if std is True else std,
        ),
    ]  # fmt: skip


def colour_augmenters(
    jitter: tuple[float, float, float],
    hue: float,
    pca_noise: float,
    rand_gray: float,
    mean: ChannelValues,
    std: ChannelValues,
) -> list[Augmenter]:
    """Return the augmenters of colours, those that do something.

    >>> [type(each).__name__ for each in colour_augmenters((0, 0.1, 0), 0.2, 0, 0, None, None)]
    ['ColorJitterAug', 'HueJitterAug']
    """
    found: list[Augmenter] = [ColorJitterAug(*jitter)] if any(jitter) else []
    if hue:
        found.append(HueJitterAug(hue))
    if pca_noise > 0:
        found.append(LightingAug(pca_noise, np.array(_EIGENVALUES), np.array(_EIGENVECTORS)))
    if rand_gray > 0:
        found.append(RandomGrayAug(rand_gray))
    values = [_channel_values(name, each) for name, each in (("mean", mean), ("std", std))]
    if any(each is not None for each in values):
        found.append(ColorNormalizeAug(*values))
    return found


def _channel_values(name: str, values: ChannelValues) -> NDArray | np.ndarray | None:
    if values is None or values is False:
        return None
    found = values if isinstance(values, NDArray) else np.asarray(values)
    if not found.shape or found.shape[0] not in (1, 3):
        raise ParameterError(
            f"CreateAugmenter: {name} must be True, for ImageNet's, or an array with a number for each channel; "
            f"got {values!r}"
        )
    return found
