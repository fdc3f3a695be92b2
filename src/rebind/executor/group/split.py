"""Splitting a batch among devices, and joining their slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar, cast

import numpy as np
import torch
from torch import Tensor

from ...device import cpu
from ...errors import ParameterError, ShapeError
from ...ndarray import NDArray, array
from ...ndarray.base import wrap
from ...ndarray.storage import DenseStorage
from ...protocols import ArrayLike, InputDesc
from ...shapes import Shape

__all__ = ["Split", "as_ndarray", "batch_axis", "batch_size_of", "described", "join", "mean", "split_batch"]

A = TypeVar("A", bound=ArrayLike)
D = TypeVar("D", bound=InputDesc)


@dataclass(frozen=True)
class Split:
    """Which slice of a batch each device gets.

    An axis of -1 means that an array has no batch axis: every device gets it whole.

    Examples
    --------
    >>> split = Split((slice(0, 2), slice(2, 6)))
    >>> split.batch_size, split.sizes
    (6, (2, 4))
    >>> split.take(torch.arange(6), 1, 0, "x")
    tensor([2, 3, 4, 5])
    """

    slices: tuple[slice, ...]

    @property
    def batch_size(self) -> int:
        """How many samples all slices have together.

        >>> Split((slice(0, 2), slice(2, 6))).batch_size
        6
        """
        return self.slices[-1].stop

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many samples each device gets.

        >>> Split((slice(0, 2), slice(2, 6))).sizes
        (2, 4)
        """
        return tuple(each.stop - each.start for each in self.slices)

    @property
    def is_whole(self) -> bool:
        """Whether there is one device, which gets every array as it is."""
        return len(self.slices) == 1

    def only(self, device: int) -> Split:
        """Return the split for one of the devices, for a batch that holds its samples alone.

        >>> Split((slice(0, 2), slice(2, 6))).only(1)
        Split(slices=(slice(2, 6, None),))
        """
        return Split((self.slices[device],))

    def shape_of(self, desc: InputDesc, device: int) -> Shape:
        """Return the shape of one device's slice of the array that `desc` describes.

        >>> from rebind.io import DataDesc
        >>> Split((slice(0, 2), slice(2, 6))).shape_of(DataDesc("steps", (7, 6), layout="TN"), 1)
        (7, 4)
        """
        axis = batch_axis(desc.layout)
        if self.is_whole or axis < 0 or not desc.shape:
            return tuple(desc.shape)
        return (*desc.shape[:axis], self.sizes[device], *desc.shape[axis + 1 :])

    def take(self, whole: Tensor, device: int, axis: int, what: str) -> Tensor:
        """Return one device's slice of a whole batch's tensor, without a copy; `what` names it in errors.

        >>> Split((slice(0, 2), slice(2, 6))).take(torch.arange(6), 1, axis=0, what="labels")
        tensor([2, 3, 4, 5])
        """
        if self.is_whole or axis < 0:
            return whole
        self._check(whole.shape, axis, what)
        # A view: the one copy is that into the device's array.
        return whole.narrow(axis, self.slices[device].start, self.sizes[device])

    def take_array(self, whole: A, device: int, axis: int, what: str) -> A | NDArray:
        """Return the same for an array; the array itself where the device gets all of it.

        >>> import rebind as mx
        >>> split = Split((slice(0, 1), slice(1, 3)))
        >>> split.take_array(mx.nd.array([7, 8, 9]), 1, axis=0, what="labels").asnumpy().tolist()
        [8.0, 9.0]
        """
        if self.is_whole or axis < 0:
            return whole
        source = whole if isinstance(whole, NDArray) else array(whole)
        if axis == 0 and not isinstance(source.storage, DenseStorage):
            self._check(source.shape, axis, what)
            samples = self.slices[device]
            return wrap(source.storage.row_range(samples.start, samples.stop), source.device)
        return NDArray(self.take(source.tensor, device, axis, what), source.device)

    def _check(self, shape: Shape, axis: int, what: str) -> None:
        if len(shape) <= axis or shape[axis] != self.batch_size:
            raise ShapeError(
                f"{what} must have {self.batch_size} samples, on axis {axis}; got shape {tuple(shape)}"
            )


def as_ndarray(value: ArrayLike) -> NDArray:
    """Return `value` as an NDArray of its own type; lists become float32, as everywhere.

    >>> import numpy as np
    >>> as_ndarray(np.arange(2)).dtype
    <class 'numpy.int64'>
    """
    return value if isinstance(value, NDArray) else array(value, dtype=getattr(value, "dtype", None))


def batch_axis(layout: str | None) -> int:
    """Return the position of the batch axis N in a layout such as ``NCHW`` or ``TNC``; -1 when there is none.

    >>> batch_axis("TNC"), batch_axis(None), batch_axis("")
    (1, 0, 0)
    """
    return layout.find("N") if layout else 0


def split_batch(batch_size: int, work_load_list: Sequence[float]) -> list[slice]:
    """Return the slice of a batch for each device, in proportion to its work load, rounded as MXNet does.

    Raises
    ------
    ParameterError
        ``Too many slices`` when a device would get nothing.

    Examples
    --------
    >>> split_batch(10, [1, 1, 1])
    [slice(0, 3, None), slice(3, 6, None), slice(6, 10, None)]
    """
    total = sum(work_load_list)
    if not total > 0:
        raise ParameterError(
            f"work_load_list: must hold a positive number for each device; got {list(work_load_list)}"
        )
    counts = [round(load * batch_size / total) for load in work_load_list]
    # The last device takes what rounding leaves over.
    counts[-1] += batch_size - sum(counts)
    slices, begin = [], 0
    for count in counts:
        end = min(begin + count, batch_size)
        if begin >= end:
            raise ParameterError(
                f"Too many slices: {len(work_load_list)} devices with work loads {list(work_load_list)} must each get "
                f"a slice of the batch; got batch size {batch_size}"
            )
        slices.append(slice(begin, end))
        begin = end
    return slices


class PlainDesc(NamedTuple):
    """The description of an input that is given as a name and a shape alone."""

    name: str
    shape: Shape
    dtype: object = np.float32
    layout: str | None = "NCHW"


def described(descs: Sequence[D]) -> list[D]:
    """Return descriptions; plain tuples ``(name, shape)`` as such, as MXNet's group takes them.

    >>> described([("data", (4, 3))])[0].layout
    'NCHW'
    """
    return [each if hasattr(each, "layout") else cast(D, PlainDesc(*cast(tuple, each))) for each in descs]


def batch_size_of(descs: Sequence[InputDesc]) -> int:
    """Return the batch size that all of `descs` have.

    >>> from rebind.io import DataDesc
    >>> batch_size_of([DataDesc("data", (32, 10)), DataDesc("steps", (7, 32), layout="TN")])
    32
    """
    sizes = {}
    for desc in descs:
        axis = batch_axis(desc.layout)
        if axis >= 0 and len(desc.shape) > axis:
            sizes[desc.name] = desc.shape[axis]
    if not sizes:
        raise ShapeError(f"bind: one of the inputs must have a batch axis; got {list(descs)}")
    if len(set(sizes.values())) > 1:
        raise ShapeError(f"bind: all inputs must have the same batch size; got {sizes}")
    return next(iter(sizes.values()))


def join(arrays: Sequence[NDArray], axis: int) -> NDArray:
    """Return the devices' arrays as one, joined along the batch axis, on the first device.

    What has no batch axis (-1) is the same everywhere: the first one.

    >>> import rebind as mx
    >>> join([mx.nd.array([1]), mx.nd.array([2, 3])], 0).asnumpy()
    array([1., 2., 3.], dtype=float32)
    """
    first = arrays[0]
    if len(arrays) == 1 or axis < 0:
        return first
    target = first.tensor.device
    return NDArray(torch.cat([each.tensor.to(target) for each in arrays], axis), first.device)


def mean(arrays: Sequence[NDArray]) -> NDArray:
    """Return the mean over the devices, as a new array on the CPU of the arrays' own type and storage type.

    >>> import rebind as mx
    >>> mean([mx.nd.array([1, 2]), mx.nd.array([3, 4])]).asnumpy()
    array([2., 3.], dtype=float32)
    """
    first = arrays[0].storage
    if len(arrays) == 1:
        return wrap(first.to(torch.device("cpu"), copy=True), cpu())
    # In double precision: the mean of equal float16 values is that value, however many devices there are.
    total = first.to(torch.device("cpu"), torch.float64, copy=True)
    for other in arrays[1:]:
        total.accumulate(other.storage.to(torch.device("cpu"), torch.float64))
    total.divide(len(arrays))
    return wrap(total.to(dtype=first.dtype), cpu())
