"""Iterators over record files of pictures."""

from .iterators import ImageRecordInt8Iter, ImageRecordIter, ImageRecordUInt8Iter

__all__ = ["ImageRecordInt8Iter", "ImageRecordIter", "ImageRecordUInt8Iter"]
