"""Pictures: reading, cropping, augmenting, and iterators over files and records of them (``mx.image``)."""

import typing as _typing

from ..absent import old_names as _old_names
from . import detection
from .augmenter import Augmenter, RandomOrderAug, SequentialAug
from .colour import (
    BrightnessJitterAug,
    CastAug,
    ColorJitterAug,
    ColorNormalizeAug,
    ContrastJitterAug,
    HueJitterAug,
    LightingAug,
    RandomGrayAug,
    SaturationJitterAug,
    color_normalize,
)
from .cropping import center_crop, fixed_crop, random_crop, random_size_crop
from .detection import (
    CreateDetAugmenter,
    CreateMultiRandCropAugmenter,
    DetAugmenter,
    DetBorrowAug,
    DetHorizontalFlipAug,
    DetRandomCropAug,
    DetRandomPadAug,
    DetRandomSelectAug,
    ImageDetIter,
)
from .geometric import (
    CenterCropAug,
    ForceResizeAug,
    HorizontalFlipAug,
    RandomCropAug,
    RandomSizedCropAug,
    ResizeAug,
)
from .image_iter import ImageIter
from .pictures import copyMakeBorder, imdecode, imread
from .recipe import CreateAugmenter
from .resizing import imresize, resize_short, scale_down
from .rotation import imrotate, random_rotate

det = detection  # as MXNet has it

__all__ = [
    "Augmenter", "BrightnessJitterAug", "CastAug", "CenterCropAug", "ColorJitterAug", "ColorNormalizeAug",
    "ContrastJitterAug", "CreateAugmenter", "CreateDetAugmenter", "CreateMultiRandCropAugmenter", "DetAugmenter",
    "DetBorrowAug", "DetHorizontalFlipAug", "DetRandomCropAug", "DetRandomPadAug", "DetRandomSelectAug",
    "ForceResizeAug", "HorizontalFlipAug", "HueJitterAug", "ImageDetIter", "ImageIter", "LightingAug",
    "RandomCropAug", "RandomGrayAug", "RandomOrderAug", "RandomSizedCropAug", "ResizeAug", "SaturationJitterAug",
    "SequentialAug", "center_crop", "color_normalize", "copyMakeBorder", "detection", "fixed_crop", "imdecode",
    "imread", "imresize", "imrotate", "random_crop", "random_rotate", "random_size_crop", "resize_short", "scale_down",
]  # fmt: skip

if not _typing.TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = _old_names(__name__)
