"""Making arrays, and functions on arrays that are no single operator."""

from __future__ import annotations

import operator as python_operator
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

import numpy as np
import torch

from .. import dtypes
from ..device import Device, as_device
from ..errors import ArgumentError, ParameterError, ShapeError
from ..ops import find
from ..ops.frontend import split_parameters
from ..shapes import as_shape, normalize_axis
from .mode import mode
from .ndarray import SIGNS, NDArray, Sign, array, call, combine

__all__ = [
    "add",
    "arange",
    "concatenate",
    "divide",
    "empty",
    "equal",
    "eye",
    "from_dlpack",
    "from_numpy",
    "from_torch",
    "full",
    "greater",
    "greater_equal",
    "histogram",
    "imdecode",
    "lesser",
    "lesser_equal",
    "linspace",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "modulo",
    "moveaxis",
    "multiply",
    "not_equal",
    "onehot_encode",
    "ones",
    "power",
    "split_v2",
    "subtract",
    "to_dlpack_for_read",
    "to_dlpack_for_write",
    "true_divide",
    "waitall",
    "zeros",
]  # fmt: skip


def _filled(who: str, shape: Any, ctx: Any, dtype: Any, value: float, out: NDArray | None = None) -> NDArray:
    if out is not None:
        out[:] = value
        return out
    device = as_device(ctx, f"{who}: ctx")
    wanted = torch.float32 if dtype is None else dtypes.torch_dtype(dtype)
    sizes = as_shape(shape, f"{who}: shape")
    if not sizes and not mode.numpy_shapes:
        raise ShapeError(
            f"{who}: shape must have at least one axis; got (). Without axes: with mx.util.np_shape()."
        )
    return NDArray(torch.full(sizes, value, dtype=wanted, device=device.torch), device)


def zeros(
    shape: Any, ctx: Device | None = None, dtype: Any = None, stype: str | None = None, **kwargs: Any
) -> NDArray:
    """Return an array of zeros; float32 by default.

    >>> zeros((2, 3)).sum().item()
    0.0
    """
    if stype not in (None, "default"):
        raise ArgumentError(
            f"nd.zeros: stype must be 'default'; got {stype!r}. Sparse storage is not there yet."
        )
    return _filled("nd.zeros", shape, ctx, dtype, 0, kwargs.get("out"))


def ones(shape: Any, ctx: Device | None = None, dtype: Any = None, **kwargs: Any) -> NDArray:
    """Return an array of ones; float32 by default."""
    return _filled("nd.ones", shape, ctx, dtype, 1, kwargs.get("out"))


def full(
    shape: Any, val: float, ctx: Device | None = None, dtype: Any = None, out: NDArray | None = None
) -> NDArray:
    """Return an array in which every element is `val`; float32 by default."""
    return _filled("nd.full", shape, ctx, dtype, val, out)


def empty(shape: Any, ctx: Device | None = None, dtype: Any = None, stype: str | None = None) -> NDArray:
    """Return an array whose content is arbitrary; here zeros, so that runs can be repeated."""
    return zeros(shape, ctx, dtype, stype)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: Any = None,
    ctx: Device | None = None,
    dtype: Any = "float32",
) -> NDArray:
    """Return evenly spaced values in ``[start, stop)``, each `repeat` times.

    >>> arange(0, 4, 2, repeat=2).asnumpy()
    array([0., 0., 2., 2.], dtype=float32)
    """
    given = {"start": start, "stop": stop, "step": step, "repeat": repeat, "dtype": dtype}
    return call(find("_arange"), (), {**given, "ctx": as_device(ctx, "nd.arange: ctx")})


def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    ctx: Device | None = None,
    dtype: Any = "float32",
) -> NDArray:
    """Return `num` evenly spaced values from `start` to `stop`, the latter included unless `endpoint` is false."""
    device = as_device(ctx, "nd.linspace: ctx")
    values = torch.linspace(start, stop, num + (not endpoint), dtype=torch.float64)[:num]
    return NDArray(values.to(device.torch, dtypes.torch_dtype(dtype)), device)


def eye(N: int, M: int = 0, k: int = 0, ctx: Device | None = None, dtype: Any = None) -> NDArray:
    """Return ones on the `k`-th diagonal of an N x M array (M = 0: square)."""
    given = {"N": N, "M": M, "k": k, "dtype": dtype or "float32"}
    return call(find("_eye"), (), {**given, "ctx": as_device(ctx, "nd.eye: ctx")})


def from_numpy(ndarray: np.ndarray, zero_copy: bool = True) -> NDArray:
    """Return an array that shares the memory of a NumPy array (with ``zero_copy=False``: a copy), of its type.

    >>> values = np.zeros(3, np.int32)
    >>> from_numpy(values)[:] = 1
    >>> values
    array([1, 1, 1], dtype=int32)
    """
    if not isinstance(ndarray, np.ndarray):
        raise ArgumentError(f"nd.from_numpy: must be a NumPy array; got {type(ndarray).__name__}")
    dtype = dtypes.torch_dtype(ndarray.dtype)
    if not zero_copy:
        return array(ndarray, dtype=dtype)
    if not (ndarray.flags.c_contiguous and ndarray.flags.writeable and ndarray.dtype.isnative):
        raise ParameterError(
            "nd.from_numpy: only a contiguous, writable array can be shared; use zero_copy=False"
        )
    return from_torch(torch.from_numpy(ndarray))


def from_torch(tensor: torch.Tensor) -> NDArray:
    """Return an array that shares the memory of a torch tensor.

    >>> t = torch.zeros(3)
    >>> from_torch(t)[:] = 1
    >>> t
    tensor([1., 1., 1.])
    """
    shared = NDArray(tensor.detach() if isinstance(tensor, torch.Tensor) else tensor)
    dtypes.torch_dtype(tensor.dtype)  # an error for types that arrays cannot have
    shared._viewed = True
    return shared


def from_dlpack(dlpack: Any) -> NDArray:
    """Return an array that shares the memory of an object or capsule of the DLPack protocol."""
    return from_torch(torch.from_dlpack(dlpack))


def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """Join arrays along an axis; with ``always_copy=False`` a single array is returned as it is."""
    if not arrays:
        raise ShapeError("nd.concatenate: needs at least one array; got none")
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    return call(find("Concat"), tuple(arrays), {"dim": axis})


def moveaxis(tensor: NDArray, source: int | Sequence[int], destination: int | Sequence[int]) -> NDArray:
    """Return a copy in which axes `source` stand at `destination`.

    >>> moveaxis(zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    pairs = [as_tuple(source), as_tuple(destination)]
    sources, targets = ([normalize_axis(axis, tensor.ndim, "nd.moveaxis") for axis in axes] for axes in pairs)
    if len(set(sources)) != len(set(targets)) or len(sources) != len(set(sources)):
        raise ShapeError(
            f"nd.moveaxis: needs as many sources as destinations, each once; got {source} and {destination}"
        )
    order = [axis for axis in range(tensor.ndim) if axis not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return call(find("transpose"), (tensor,), {"axes": tuple(order)})


def as_tuple(value: int | Sequence[int]) -> tuple[int, ...]:
    """Return an int, or several, as a tuple."""
    return (value,) if isinstance(value, int) else tuple(value)


def split_v2(
    ary: NDArray, indices_or_sections: int | Sequence[int], axis: int = 0, squeeze_axis: bool = False
) -> list[NDArray] | NDArray:
    """Part an array into so many equal sections, or before each of some indices.

    >>> [part.shape for part in split_v2(zeros((3, 4)), (1, 3), axis=1)]
    [(3, 1), (3, 2), (3, 1)]
    """
    return call(find("_split_v2"), (ary,), split_parameters(indices_or_sections, axis, squeeze_axis))


def to_dlpack_for_read(data: NDArray) -> Any:
    """Return a DLPack capsule that shares the memory of an array."""
    return data.to_dlpack_for_read()


to_dlpack_for_write = to_dlpack_for_read


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Write the one-hot rows of `indices` into `out`."""
    return call(find("one_hot"), (indices,), {"depth": out.shape[1], "dtype": out.dtype, "out": out})


def imdecode(
    str_img: bytes,
    clip_rect: Sequence[int] = (0, 0, 0, 0),
    out: NDArray | None = None,
    index: int = 0,
    channels: int = 3,
    mean: NDArray | None = None,
) -> NDArray:
    """Read a picture, cut a part out of it, subtract a mean, and return it with the channels first.

    MXNet deprecates it in favour of ``image.imdecode``, and its 1.9.1 fails at every call.

    Parameters
    ----------
    str_img
        The bytes of a file (JPEG, PNG, ...).
    clip_rect
        The part to take: x0, y0, x1, y1; all 0 for the whole.
    out
        Where to write it: an array (C, H, W), or (N, C, H, W) with `index`; a new one of float32 by default.
    index
        Which picture of a four-dimensional `out` to write.
    channels
        3 for red, green and blue, 1 for grey.
    mean
        An array (C, H, W), or what broadcasts to it.

    Raises
    ------
    ImportError
        When OpenCV, the extra ``image``, is missing.
    """
    if channels not in (1, 3):
        raise ParameterError(f"nd.imdecode: channels must be 1 or 3; got {channels}")
    encoded = NDArray(torch.frombuffer(bytearray(str_img), dtype=torch.uint8))
    picture = call(find("_cvimdecode"), (encoded,), {"flag": int(channels == 3)})
    x0, y0, x1, y1 = clip_rect
    if any(clip_rect):
        height, width, _ = picture.shape
        if not (0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height):
            raise ShapeError(
                f"nd.imdecode: clip_rect (x0, y0, x1, y1) must lie within {width} columns and {height} rows; "
                f"got {tuple(clip_rect)}"
            )
        picture = picture[y0:y1, x0:x1]
    picture = picture.transpose((2, 0, 1)).astype("float32")
    if mean is not None:
        picture = call(find("broadcast_sub"), (picture, mean), {})
    if out is None:
        return picture
    if out.ndim == 4:
        out[index] = picture
    else:
        out[:] = picture
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
    if isinstance(bins, NDArray):
        return call(find("_histogram"), (a, bins), {})
    if range is None and not a._tensor.is_floating_point():
        a = a.astype("float32")  # the bounds lie between whole numbers
    return call(find("_histogram"), (a,), {"bin_cnt": bins, "range": range})


def waitall() -> None:
    """Wait until all that was started on any device is computed."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


# Functions of two that take arrays and numbers in either place; of two numbers, what Python makes of them.


def _function(sign: Sign, numbers: Callable[[Any, Any], Any], doc: str, mirrored: Sign | None = None) -> Any:
    def function(lhs: Any, rhs: Any) -> Any:
        if isinstance(lhs, NDArray) or isinstance(rhs, NDArray):
            if mirrored is not None and not isinstance(lhs, NDArray):
                result = combine(mirrored, rhs, lhs)
            else:
                result = combine(sign, lhs, rhs)
            if result is not NotImplemented:
                return result
        elif isinstance(lhs, Number) and isinstance(rhs, Number):
            return numbers(lhs, rhs)
        raise ArgumentError(
            f"nd.{sign.pair.name.removeprefix('broadcast_')}: takes arrays and numbers; got {lhs!r} and {rhs!r}"
        )

    function.__doc__ = doc
    return function


def _named(
    sign: str, numbers: Callable[[Any, Any], Any], doc: str, mirrored: str | None = None
) -> Callable[[Any, Any], Any]:
    return _function(SIGNS[sign], numbers, doc, None if mirrored is None else SIGNS[mirrored])


def _symmetric(name: str, numbers: Callable[[Any, Any], Any], doc: str) -> Callable[[Any, Any], Any]:
    scalar = find(f"_{name}_scalar")
    return _function(Sign(find(f"broadcast_{name}"), scalar, scalar), numbers, doc)


maximum = _symmetric("maximum", max, "Return the larger of two, element by element.")
minimum = _symmetric("minimum", min, "Return the smaller of two, element by element.")
logical_and = _symmetric("logical_and", lambda a, b: bool(a and b), "Return 1 where both are not 0, else 0.")
logical_or = _symmetric("logical_or", lambda a, b: bool(a or b), "Return 1 where one is not 0, else 0.")
logical_xor = _symmetric(
    "logical_xor", lambda a, b: bool(a) != bool(b), "Return 1 where just one is not 0, else 0."
)
power = _named("pow", python_operator.pow, "Return ``lhs ** rhs``, element by element.")
add = _named("add", python_operator.add, "Return ``lhs + rhs`` with broadcasting.")
subtract = _named("sub", python_operator.sub, "Return ``lhs - rhs`` with broadcasting.")
multiply = _named("mul", python_operator.mul, "Return ``lhs * rhs`` with broadcasting.")
divide = true_divide = _named("truediv", python_operator.truediv, "Return ``lhs / rhs`` with broadcasting.")
modulo = _named("mod", python_operator.mod, "Return ``lhs % rhs`` with broadcasting.")
equal = _named("eq", python_operator.eq, "Return 1 where both are equal, else 0.", "eq")
not_equal = _named("ne", python_operator.ne, "Return 1 where both differ, else 0.", "ne")
greater = _named("gt", python_operator.gt, "Return 1 where ``lhs > rhs``, else 0.", "lt")
greater_equal = _named("ge", python_operator.ge, "Return 1 where ``lhs >= rhs``, else 0.", "le")
lesser = _named("lt", python_operator.lt, "Return 1 where ``lhs < rhs``, else 0.", "gt")
lesser_equal = _named("le", python_operator.le, "Return 1 where ``lhs <= rhs``, else 0.", "ge")


def isinf(data: NDArray) -> NDArray:
    """Return 1 where an element is infinite, else 0, in the type of `data`.

    >>> isinf(array([1, float("inf"), float("nan")])).asnumpy()
    array([0., 1., 0.], dtype=float32)
    """
    return combine(SIGNS["eq"], abs(data), float("inf"))


def isfinite(data: NDArray) -> NDArray:
    """Return 1 where an element is neither infinite nor nan, else 0, in the type of `data`."""
    return combine(SIGNS["lt"], abs(data), float("inf"))


def isnan(data: NDArray) -> NDArray:
    """Return 1 where an element is nan, else 0, in the type of `data`."""
    return combine(SIGNS["ne"], data, data)
