"""Data iterators: what hands a network its batches."""

from .batch import DataBatch, DataDesc
from .csv_iter import CSVIter
from .iterator import DataIter, ResizeIter
from .libsvm_iter import LibSVMIter
from .mnist_iter import MNISTIter
from .ndarray_iter import NDArrayIter
from .prefetch import PrefetchingIter
from .records import ImageDetRecordIter, ImageRecordInt8Iter, ImageRecordIter, ImageRecordUInt8Iter

__all__ = [
    "CSVIter",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "ImageDetRecordIter",
    "ImageRecordInt8Iter",
    "ImageRecordIter",
    "ImageRecordUInt8Iter",
    "LibSVMIter",
    "MNISTIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
]
