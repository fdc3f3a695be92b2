"""Iterators over record files of pictures."""

from .detection import ImageDetRecordIter
from .iterators import ImageRecordInt8Iter, ImageRecordIter, ImageRecordUInt8Iter

__all__ = ["ImageDetRecordIter", "ImageRecordInt8Iter", "ImageRecordIter", "ImageRecordUInt8Iter"]
