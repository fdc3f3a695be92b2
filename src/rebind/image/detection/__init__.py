"""Pictures with boxes of objects: augmenters that move the boxes too, and an iterator over both."""

from .augmenter import DetAugmenter, DetBorrowAug, DetHorizontalFlipAug, DetRandomSelectAug
from .det_iter import ImageDetIter
from .recipe import CreateDetAugmenter, CreateMultiRandCropAugmenter
from .regions import DetRandomCropAug, DetRandomPadAug

__all__ = [
    "CreateDetAugmenter", "CreateMultiRandCropAugmenter", "DetAugmenter", "DetBorrowAug", "DetHorizontalFlipAug",
    "DetRandomCropAug", "DetRandomPadAug", "DetRandomSelectAug", "ImageDetIter",
]  # fmt: skip
