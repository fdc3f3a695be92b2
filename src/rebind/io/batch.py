"""A batch, and the description of one array of it."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..checks import TEXT, check_kind, or_none
from ..dtypes import DTypeLike
from ..errors import ArgumentError
from ..ndarray import NDArray
from ..shapes import as_shape

__all__ = ["DataBatch", "DataDesc"]


# A tuple of two, since scripts unpack descriptions as `name, shape`: type and layout are attributes, not fields.
class DataDesc(namedtuple("DataDesc", ["name", "shape"])):
    """Name, shape, type and layout of an array that an iterator provides or a module is bound with.

    It is a pair of name and shape, and compares as one; type and layout are further attributes.

    Parameters
    ----------
    name
        The name of the symbol's input.
    shape
        Its shape, batch axis included.
    dtype
        Type of the elements.
    layout
        A letter for each axis; the one called ``N`` is the batch.

    Examples
    --------
    >>> DataDesc("data", (32, 3, 224, 224))
    DataDesc[data,(32, 3, 224, 224),<class 'numpy.float32'>,NCHW]
    >>> DataDesc.get_batch_axis("TNC")
    1
    """

    dtype: DTypeLike
    layout: str | None

    def __new__(
        cls, name: str, shape: Sequence[int], dtype: DTypeLike = np.float32, layout: str | None = "NCHW"
    ) -> DataDesc:
        """Make the pair of name and shape, with type and layout as attributes."""
        self = super().__new__(cls, name, as_shape(shape, f"DataDesc {name!r}: shape"))
        self.dtype = dtype
        self.layout = layout
        return self

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """Return the position of ``N`` in `layout`; 0 without a layout, -1 when no axis is the batch.

        >>> DataDesc.get_batch_axis("NCHW"), DataDesc.get_batch_axis("TNC"), DataDesc.get_batch_axis("C")
        (0, 1, -1)
        """
        check_kind("DataDesc.get_batch_axis", or_none(TEXT), layout=layout)
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(
        shapes: Iterable[tuple[str, Sequence[int]]], types: Iterable[tuple[str, DTypeLike]] | None
    ) -> list[DataDesc]:
        """Return descriptions from pairs ``(name, shape)`` and, if there are any, ``(name, type)``.

        >>> DataDesc.get_list([("data", (2, 3))], [("data", "int32")])
        [DataDesc[data,(2, 3),int32,NCHW]]
        """
        if types is None:
            return [DataDesc(name, shape) for name, shape in shapes]
        shapes, type_of = list(shapes), dict(types)
        missing = [name for name, _ in shapes if name not in type_of]
        if missing:
            raise ArgumentError(f"DataDesc.get_list: types must name every array; missing {missing}")
        return [DataDesc(name, shape, type_of[name]) for name, shape in shapes]


#: Descriptions of inputs: records, or pairs of name and shape.
Descs: TypeAlias = "Sequence[DataDesc | tuple[str, Sequence[int]]]"


class DataBatch:
    """Arrays of one batch, and what is known about them.

    Parameters
    ----------
    data, label
        Lists of arrays in the order of `provide_data` and `provide_label`.
    pad
        How many samples at the end are padding.
    index
        Indices of the samples, if the iterator knows them.
    bucket_key
        The bucket of a `BucketingModule` that the batch is for.
    provide_data, provide_label
        Descriptions of the arrays, for batches that differ from one to the next.

    Examples
    --------
    >>> import numpy as np
    >>> from rebind.ndarray import array
    >>> DataBatch([array(np.zeros((4, 3)))], [array(np.zeros(4))], pad=0)
    DataBatch: data shapes: [(4, 3)] label shapes: [(4,)]
    """

    def __init__(
        self,
        data: Sequence[NDArray] | None,
        label: Sequence[NDArray] | None = None,
        pad: int | None = None,
        index: Sequence[int] | np.ndarray | None = None,
        bucket_key: Hashable = None,
        provide_data: Descs | None = None,
        provide_label: Descs | None = None,
    ) -> None:
        for what, arrays in (("data", data), ("label", label)):
            if arrays is not None and not isinstance(arrays, (list, tuple)):
                raise ArgumentError(
                    f"DataBatch: {what} must be a list of arrays; got {type(arrays).__name__}. "
                    "Put a single array in brackets."
                )
        self.data: Sequence[NDArray] = data  # type: ignore[assignment]  # None: a script fills it in later
        # A program reads the labels of the batches that have some without asking whether these have.
        self.label: Sequence[NDArray] | Any = label
        self.pad = pad
        self.index = index
        self.bucket_key = bucket_key
        self.provide_data = provide_data
        self.provide_label = provide_label

    def __repr__(self) -> str:
        data, label = (
            None if arrays is None else [array.shape for array in arrays]
            for arrays in (self.data, self.label)
        )
        return f"{type(self).__name__}: data shapes: {data} label shapes: {label}"


def as_descs(
    descriptions: Iterable[DataDesc | tuple[str, Sequence[int]]], names: Mapping[str, str] | None = None
) -> list[DataDesc]:
    """Return a `DataDesc` for each description, a pair of name and shape too; `names` gives new names.

    >>> as_descs([("data", (4, 3))], {"data": "left"})
    [DataDesc[left,(4, 3),<class 'numpy.float32'>,NCHW]]
    """
    # A script's own descriptions may be pairs with attributes, or plain pairs: what they lack has its default.
    return [
        DataDesc(
            (names or {}).get(item[0], item[0]),
            item[1],
            getattr(item, "dtype", np.float32),
            getattr(item, "layout", "NCHW"),
        )
        for item in descriptions
    ]
