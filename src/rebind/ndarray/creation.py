"""Making arrays, and functions on arrays that are not a single operator."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
import torch

from .. import dtypes, huge_pages
from ..checks import BYTES, COUNT, LIST, NUMBER, WHOLE, Kind, an, check_kind
from ..device import Device, as_device
from ..dtypes import DTypeLike
from ..errors import ArgumentError, OutOfMemoryError, ParameterError, ShapeError
from ..mode import mode
from ..observing import observed_array_call
from ..ops import find
from ..ops.failures import is_of_memory
from ..ops.frontend import split_parameters
from ..shapes import as_shape, normalize_axis
from .base import wrap
from .calls import make_caller
from .ndarray import NDArray, array, call
from .reading import check_not_exported
from .sending import sent
from .storage import DenseStorage, Storage, storage_kind

if TYPE_CHECKING:
    from typing_extensions import CapsuleType

__all__ = [
    "arange", "concatenate", "empty", "eye", "from_dlpack", "from_numpy", "from_torch", "full", "histogram", "imdecode",
    "linspace", "moveaxis", "onehot_encode", "ones", "split_v2", "to_dlpack_for_read", "to_dlpack_for_write", "waitall",
    "zeros",
]  # fmt: skip


Sizes: TypeAlias = "int | Sequence[int]"

# By the names that users call them by, for errors.
_arange, _eye = (make_caller(find(f"_{name}"), name) for name in ("arange", "eye"))

_DLPACK = Kind(
    "an object with __dlpack__(), or a capsule",
    lambda value: hasattr(value, "__dlpack__") or type(value).__name__ == "PyCapsule",
)
_VALUES = Kind(
    "a number, a list of numbers or an array",
    lambda value: not isinstance(value, (str, bytes, type(None), dict, set)),
)


class SupportsDLPack(Protocol):
    """An object of the DLPack protocol."""

    def __dlpack__(self) -> CapsuleType:
        """Return a capsule."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the kind and the number of the device."""


def _shape_and_device(who: str, shape: Sizes, ctx: Device | None) -> tuple[tuple[int, ...], Device]:
    device = as_device(ctx, f"{who}: ctx")
    sizes = as_shape(shape, f"{who}: shape")
    if not sizes and not mode.numpy_shapes:
        raise ShapeError(
            f"{who}: shape must have at least one axis; got (). Without axes: with mx.util.np_shape()."
        )
    return sizes, device


def _filled(
    who: str,
    shape: Sizes,
    ctx: Device | None,
    dtype: DTypeLike | None,
    value: float,
    out: NDArray | None = None,
) -> NDArray:
    if out is not None:
        out[:] = value
        return out
    wanted = torch.float32 if dtype is None else dtypes.torch_dtype(dtype, f"{who}: dtype")
    sizes, device = _shape_and_device(who, shape, ctx)
    try:
        filled = huge_pages.full(sizes, dtypes.number_in(wanted, value), wanted, device.torch)
    except RuntimeError as error:
        if "cannot be converted" in str(error):
            raise ParameterError(
                f"{who}: the value must be in the range of type {dtypes.name(wanted)}; got {value}"
            ) from None
        if not is_of_memory(error):
            raise
        raise OutOfMemoryError(
            f"{who}: there is not enough memory for an array of shape {tuple(sizes)} and type {dtypes.name(wanted)}, "
            f"{math.prod(sizes) * wanted.itemsize:,} bytes, on {device}"
        ) from None
    return NDArray(filled, device)


@observed_array_call("_zeros")
def zeros(
    shape: Sizes,
    ctx: Device | None = None,
    dtype: DTypeLike | None = None,
    stype: str | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Return an array of zeros; float32 by default, and dense unless `stype` names another storage type.

    >>> zeros((2, 3)).sum().item()
    0.0
    """
    kind: type[Storage] = DenseStorage if stype is None else storage_kind(stype, "nd.zeros: stype")
    if kind is DenseStorage or out is not None:
        # `out` says by its own storage what it is.
        return _filled("nd.zeros", shape, ctx, dtype, 0, out)
    sizes, device = _shape_and_device("nd.zeros", shape, ctx)
    wanted = torch.float32 if dtype is None else dtypes.torch_dtype(dtype, "nd.zeros: dtype")
    return wrap(kind.zeros(sizes, wanted, device.torch), device)


@observed_array_call("_ones")
def ones(
    shape: Sizes,
    ctx: Device | None = None,
    dtype: DTypeLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Return an array of ones; float32 by default.

    >>> ones((2,), dtype="int32").asnumpy()
    array([1, 1], dtype=int32)
    """
    return _filled("nd.ones", shape, ctx, dtype, 1, out)


@observed_array_call("_full")
def full(
    shape: Sizes,
    val: float | Sequence[float] | NDArray,
    ctx: Device | None = None,
    dtype: DTypeLike | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Return an array in which every element is `val`; float32 by default.

    >>> full((2,), 7).asnumpy().tolist()
    [7.0, 7.0]
    """
    if isinstance(val, (int, float, np.number)):
        return _filled("nd.full", shape, ctx, dtype, val, out)
    check_kind("nd.full", _VALUES, val=val)
    filled = _filled("nd.full", shape, ctx, dtype, 0, out)
    filled[:] = val  # a list or an array is repeated, as in MXNet
    return filled


def empty(
    shape: Sizes, ctx: Device | None = None, dtype: DTypeLike | None = None, stype: str | None = None
) -> NDArray:
    """Return an array of arbitrary content; here zeros, so that runs can be repeated.

    >>> empty((2,)).asnumpy().tolist()
    [0.0, 0.0]
    """
    return zeros(shape, ctx, dtype, stype)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool | None = None,
    ctx: Device | None = None,
    dtype: DTypeLike = "float32",
) -> NDArray:
    """Return evenly spaced values in ``[start, stop)``, each `repeat` times.

    >>> arange(0, 4, 2, repeat=2).asnumpy()
    array([0., 0., 2., 2.], dtype=float32)
    """
    device = as_device(ctx, "nd.arange: ctx")
    return _arange(start=start, stop=stop, step=step, repeat=repeat, dtype=dtype, ctx=device)


@observed_array_call("_linspace")
def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    ctx: Device | None = None,
    dtype: DTypeLike = "float32",
) -> NDArray:
    """Return `num` evenly spaced values from `start` to `stop`, the latter included unless `endpoint` is false.

    >>> linspace(0, 1, 5).asnumpy().tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> linspace(0, 4, 4, endpoint=False).asnumpy().tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    device = as_device(ctx, "nd.linspace: ctx")
    # In double precision first, so that the values are the nearest of their type.
    try:
        values = torch.linspace(start, stop, num + (not endpoint), dtype=torch.float64)[:num]
    except (TypeError, RuntimeError):
        check_kind("nd.linspace", NUMBER, start=start, stop=stop)
        check_kind("nd.linspace", WHOLE, num=num)
        raise
    return NDArray(sent(values, device.torch, dtypes.torch_dtype(dtype, "nd.linspace: dtype")), device)


def eye(N: int, M: int = 0, k: int = 0, ctx: Device | None = None, dtype: DTypeLike | None = None) -> NDArray:
    """Return ones on the `k`-th diagonal of an N x M array (M = 0: square).

    >>> eye(2, 3, k=1).asnumpy()
    array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    return _eye(N=N, M=M, k=k, dtype=dtype or "float32", ctx=as_device(ctx, "nd.eye: ctx"))


def from_numpy(ndarray: np.ndarray, zero_copy: bool = True) -> NDArray:
    """Return an array that shares the memory of a NumPy array (with ``zero_copy=False``: a copy), of its type.

    The NumPy array is read-only from then on, as in MXNet: only the new array can be written into.

    >>> values = np.zeros(3, np.int32)
    >>> from_numpy(values)[:] = 1
    >>> values, values.flags.writeable
    (array([1, 1, 1], dtype=int32), False)
    """
    if not isinstance(ndarray, np.ndarray):
        raise ArgumentError(f"nd.from_numpy: must be a NumPy array; got {type(ndarray).__name__}")
    dtype = dtypes.torch_dtype(ndarray.dtype)
    if not zero_copy:
        return array(ndarray, dtype=dtype)
    # torch knows neither negative strides nor foreign byte orders.
    if not (ndarray.flags.c_contiguous and ndarray.dtype.isnative):
        raise ParameterError("nd.from_numpy: only a contiguous array can be shared; use zero_copy=False")
    with warnings.catch_warnings():
        # torch warns of memory that was read-only before: a second call with the same array, for example.
        warnings.simplefilter("ignore")
        shared = torch.from_numpy(ndarray)
    # Nobody may write into it now without the array's knowledge: so MXNet does.
    ndarray.flags.writeable = False
    return from_torch(shared)


def from_torch(tensor: torch.Tensor) -> NDArray:
    """Return an array that shares the memory of a torch tensor.

    >>> t = torch.zeros(3)
    >>> from_torch(t)[:] = 1
    >>> t
    tensor([1., 1., 1.])
    """
    if not isinstance(tensor, torch.Tensor):
        raise ArgumentError(f"nd.from_torch: must be a torch.Tensor; got {tensor!r}. Use nd.array().")
    check_not_exported("nd.from_torch")
    dtypes.torch_dtype(tensor.dtype)  # an error for types that arrays cannot have
    # Shared: the caller holds the memory too, so that it must not be exchanged.
    return wrap(DenseStorage(tensor.detach(), shared=True))


def from_dlpack(dlpack: SupportsDLPack | CapsuleType) -> NDArray:
    """Return an array that shares the memory of an object or capsule of the DLPack protocol.

    >>> t = torch.zeros(2)
    >>> from_dlpack(t)[:] = 1
    >>> t
    tensor([1., 1.])
    """
    check_kind("nd.from_dlpack", _DLPACK, dlpack=dlpack)
    return from_torch(torch.from_dlpack(dlpack))


def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """Join arrays along an axis; with ``always_copy=False`` a single array is returned as it is.

    >>> concatenate([zeros((1, 2)), ones((2, 2))]).shape
    (3, 2)
    """
    check_kind("nd.concatenate", LIST, arrays=arrays)
    if not len(arrays):
        raise ShapeError("nd.concatenate: needs at least one array; got none")
    check_kind("nd.concatenate", an(NDArray), **{f"arrays[{i}]": each for i, each in enumerate(arrays)})
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    return call(find("Concat"), tuple(arrays), {"dim": axis})


def moveaxis(tensor: NDArray, source: int | Sequence[int], destination: int | Sequence[int]) -> NDArray:
    """Return a copy in which the axes `source` are at `destination`.

    >>> moveaxis(zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    sources, targets = (
        [normalize_axis(axis, tensor.ndim, f"nd.moveaxis: {name}") for axis in as_tuple(axes)]
        for name, axes in (("source", source), ("destination", destination))
    )
    if len(set(sources)) != len(set(targets)) or len(sources) != len(set(sources)):
        raise ShapeError(
            f"nd.moveaxis: needs as many sources as destinations, each once; got {source} and {destination}"
        )
    # The axes that stay, in their order; the moved ones are put between them.
    order = [axis for axis in range(tensor.ndim) if axis not in sources]
    # In ascending order of targets, so that each insertion is final.
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return call(find("transpose"), (tensor,), {"axes": tuple(order)}, "moveaxis")


def as_tuple(value: int | Sequence[int]) -> tuple[int, ...]:
    """Return an int, or several, as a tuple.

    >>> as_tuple(3), as_tuple([3, 4])
    ((3,), (3, 4))
    """
    return (value,) if isinstance(value, int) else tuple(value)


def split_v2(
    ary: NDArray, indices_or_sections: int | Sequence[int], axis: int = 0, squeeze_axis: bool = False
) -> list[NDArray] | NDArray:
    """Split an array into a number of equal sections, or before each of some indices.

    >>> [each.shape for each in split_v2(zeros((3, 4)), (1, 3), axis=1)]
    [(3, 1), (3, 2), (3, 1)]
    """
    return call(
        find("_split_v2"), (ary,), split_parameters(indices_or_sections, axis, squeeze_axis), "split_v2"
    )


def to_dlpack_for_read(data: NDArray) -> CapsuleType:
    """Return a DLPack capsule that shares the memory of an array.

    >>> x = zeros((2,))
    >>> _ = torch.from_dlpack(to_dlpack_for_read(x)).fill_(1)
    >>> x.asnumpy().tolist()
    [1.0, 1.0]
    """
    return data.to_dlpack_for_read()


to_dlpack_for_write = to_dlpack_for_read


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Write the one-hot rows of `indices` into `out`.

    >>> onehot_encode(array([2, 0]), zeros((2, 3))).asnumpy()
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """
    check_kind("nd.onehot_encode", an(NDArray), indices=indices, out=out)
    return call(
        find("one_hot"), (indices,), {"depth": out.shape[1], "dtype": out.dtype, "out": out}, "onehot_encode"
    )


def imdecode(
    str_img: bytes,
    clip_rect: Sequence[int] = (0, 0, 0, 0),
    out: NDArray | None = None,
    index: int = 0,
    channels: int = 3,
    mean: NDArray | None = None,
) -> NDArray:
    """Decode an image, crop it, subtract a mean, and return it with the channels first.

    MXNet deprecates it in favour of ``image.imdecode``, and its 1.9.1 fails at every call.

    Parameters
    ----------
    str_img
        The bytes of a file (JPEG, PNG, ...).
    clip_rect
        What to crop: x0, y0, x1, y1; all 0 for the whole image.
    out
        Where to write it: an array (C, H, W), or (N, C, H, W) with `index`; a new one of float32 by default.
    index
        Which image of a four-dimensional `out` to write.
    channels
        3 for red, green and blue; 1 for grey.
    mean
        An array (C, H, W), or what broadcasts to it.

    Raises
    ------
    ImportError
        When OpenCV, the extra ``image``, is missing.
    """
    if channels not in (1, 3):
        raise ParameterError(f"nd.imdecode: channels must be 1 or 3; got {channels}")
    check_kind("nd.imdecode", BYTES, str_img=str_img)
    encoded = NDArray(torch.frombuffer(bytearray(str_img), dtype=torch.uint8))
    image = call(find("_cvimdecode"), (encoded,), {"flag": int(channels == 3)})
    x0, y0, x1, y1 = clip_rect
    if any(clip_rect):
        height, width, _ = image.shape
        if not (0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height):
            raise ShapeError(
                f"nd.imdecode: clip_rect (x0, y0, x1, y1) must be within {width} columns and {height} rows; "
                f"got {tuple(clip_rect)}"
            )
        image = image[y0:y1, x0:x1]
    # Decoded images are (H, W, C).
    image = image.transpose((2, 0, 1)).astype("float32")
    if mean is not None:
        image = call(find("broadcast_sub"), (image, mean), {})
    if out is None:
        return image
    # A batch: the image is written into it.
    if out.ndim == 4:
        out[index] = image
    else:
        out[:] = image
    return out


def histogram(
    a: NDArray, bins: int | NDArray = 10, range: tuple[float, float] | None = None
) -> list[NDArray]:
    """Count the values of an array between bounds; return the counts and the bounds.

    Parameters
    ----------
    a
        The values.
    bins
        How many bins of one width, or their bounds in ascending order.
    range
        The lowest and the highest bound; by default the least and the greatest value.

    Examples
    --------
    >>> counts, bounds = histogram(array([0, 1, 1, 2]), bins=2)
    >>> counts.asnumpy().tolist(), bounds.asnumpy().tolist()
    ([1, 3], [0.0, 1.0, 2.0])
    """
    check_kind("nd.histogram", an(NDArray), a=a)
    if isinstance(bins, NDArray):
        return call(find("_histogram"), (a, bins), {}, "histogram")
    check_kind("nd.histogram", COUNT, bins=bins)
    if range is None and not a.storage.dtype.is_floating_point:
        a = a.astype("float32")  # the bounds need not be integers
    return call(find("_histogram"), (a,), {"bin_cnt": bins, "range": range}, "histogram")


def waitall() -> None:
    """Wait until everything started on any device is computed."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
