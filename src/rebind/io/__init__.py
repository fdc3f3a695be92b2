"""Data iterators: what hands a network its batches."""

from .batch import DataBatch, DataDesc
from .iterator import DataIter, ResizeIter
from .ndarray_iter import NDArrayIter
from .prefetch import PrefetchingIter

__all__ = ["DataBatch", "DataDesc", "DataIter", "NDArrayIter", "PrefetchingIter", "ResizeIter"]
