"""Pictures with boxes of objects: augmenters that move the boxes too, and an iterator over both."""

import typing as _typing

from ...absent import old_names as _old_names
from .augmenter import DetAugmenter, DetBorrowAug, DetHorizontalFlipAug, DetRandomSelectAug
from .det_iter import ImageDetIter
from .recipe import CreateDetAugmenter, CreateMultiRandCropAugmenter
from .regions import DetRandomCropAug, DetRandomPadAug

__all__ = [
    "CreateDetAugmenter", "CreateMultiRandCropAugmenter", "DetAugmenter", "DetBorrowAug", "DetHorizontalFlipAug",
    "DetRandomCropAug", "DetRandomPadAug", "DetRandomSelectAug", "ImageDetIter",
]  # fmt: skip

if not _typing.TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = _old_names(__name__)
