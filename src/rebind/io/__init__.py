"""Data iterators: what hands a network its batches."""

import typing as _typing

from ..first_use import OnFirstUse as _OnFirstUse
from .batch import DataBatch, DataDesc
from .iterator import DataIter, ResizeIter
from .ndarray_iter import NDArrayIter
from .prefetch import PrefetchingIter

__all__ = [
    "CSVIter",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "ImageDetRecordIter",
    "ImageRecordInt8Iter",
    "ImageRecordIter",
    "ImageRecordIter_v1",
    "ImageRecordUInt8Iter",
    "ImageRecordUInt8Iter_v1",
    "LibSVMIter",
    "MNISTIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
]

if _typing.TYPE_CHECKING:
    from .csv_iter import CSVIter as CSVIter
    from .libsvm_iter import LibSVMIter as LibSVMIter
    from .mnist_iter import MNISTIter as MNISTIter
    from .records import ImageDetRecordIter as ImageDetRecordIter
    from .records import ImageRecordInt8Iter as ImageRecordInt8Iter
    from .records import ImageRecordIter as ImageRecordIter
    from .records import ImageRecordIter_v1 as ImageRecordIter_v1
    from .records import ImageRecordUInt8Iter as ImageRecordUInt8Iter
    from .records import ImageRecordUInt8Iter_v1 as ImageRecordUInt8Iter_v1
else:  # each for files of one kind
    __getattr__, __dir__ = _OnFirstUse.from_modules(
        __name__,
        {
            "CSVIter": "csv_iter",
            "ImageDetRecordIter": "records",
            "ImageRecordInt8Iter": "records",
            "ImageRecordIter": "records",
            "ImageRecordIter_v1": "records",
            "ImageRecordUInt8Iter": "records",
            "ImageRecordUInt8Iter_v1": "records",
            "LibSVMIter": "libsvm_iter",
            "MNISTIter": "mnist_iter",
        },
    ).attributes(globals())
