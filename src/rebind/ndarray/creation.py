"""Making arrays, and functions on arrays that are no single operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .. import dtypes
from ..device import Device, as_device
from ..errors import ArgumentError, ShapeError
from ..shapes import as_shape
from ..ops import find
from .ndarray import NDArray, array, call, combine

__all__ = [
    "arange", "concatenate", "empty", "eye", "from_dlpack", "from_numpy", "from_torch", "full", "linspace",
    "maximum", "minimum", "moveaxis", "ones", "onehot_encode", "power", "waitall", "zeros",
    "add", "subtract", "multiply", "divide", "modulo", "equal", "not_equal", "greater", "greater_equal", "lesser",
    "lesser_equal", "true_divide",
]  # fmt: skip


def _filled(who: str, shape: Any, ctx: Any, dtype: Any, value: float, out: NDArray | None = None) -> NDArray:
    if out is not None:
        out[:] = value
        return out
    device = as_device(ctx, f"{who}: ctx")
    wanted = torch.float32 if dtype is None else dtypes.torch_dtype(dtype)
    return NDArray(torch.full(as_shape(shape, f"{who}: shape"), value, dtype=wanted, device=device.torch), device)


def zeros(shape: Any, ctx: Device | None = None, dtype: Any = None, stype: str | None = None, **kwargs: Any) -> NDArray:
    """Return an array of zeros; float32 by default.

    >>> zeros((2, 3)).asnumpy().sum()
    np.float32(0.0)
    """
    if stype not in (None, "default"):
        raise ArgumentError(f"nd.zeros: stype must be 'default'; got {stype!r}. Sparse storage is not there yet.")
    return _filled("nd.zeros", shape, ctx, dtype, 0, kwargs.get("out"))


def ones(shape: Any, ctx: Device | None = None, dtype: Any = None, **kwargs: Any) -> NDArray:
    """Return an array of ones; float32 by default."""
    return _filled("nd.ones", shape, ctx, dtype, 1, kwargs.get("out"))


def full(shape: Any, val: float, ctx: Device | None = None, dtype: Any = None, out: NDArray | None = None) -> NDArray:
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
    start: float, stop: float, num: int, endpoint: bool = True, ctx: Device | None = None, dtype: Any = "float32"
) -> NDArray:
    """Return `num` evenly spaced values from `start` to `stop`, the latter included unless `endpoint` is false."""
    device = as_device(ctx, "nd.linspace: ctx")
    values = torch.linspace(start, stop, num + (not endpoint), dtype=torch.float64)[:num]
    return NDArray(values.to(device.torch, dtypes.torch_dtype(dtype)), device)


def eye(N: int, M: int = 0, k: int = 0, ctx: Device | None = None, dtype: Any = None) -> NDArray:
    """Return ones on the `k`-th diagonal of an N x M array (M = 0: square)."""
    given = {"N": N, "M": M, "k": k, "dtype": dtype or "float32"}
    return call(find("_eye"), (), {**given, "ctx": as_device(ctx, "nd.eye: ctx")})


def from_numpy(ndarray: Any, zero_copy: bool = True) -> NDArray:
    """Return an array that shares the memory of a NumPy array (with ``zero_copy=False``: a copy)."""
    tensor = torch.from_numpy(ndarray)
    return from_torch(tensor if zero_copy else tensor.clone())


def from_torch(tensor: torch.Tensor) -> NDArray:
    """Return an array that shares the memory of a torch tensor.

    >>> t = torch.zeros(3)
    >>> from_torch(t)[:] = 1
    >>> t
    tensor([1., 1., 1.])
    """
    shared = NDArray(tensor.detach())
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
    return NDArray(torch.cat([a.tensor.detach() for a in arrays], axis), arrays[0].device)


def moveaxis(tensor: NDArray, source: int | Sequence[int], destination: int | Sequence[int]) -> NDArray:
    """Return a copy in which axes `source` stand at `destination`."""
    moved = torch.movedim(tensor.tensor, source, destination)
    return NDArray(moved.clone(memory_format=torch.contiguous_format), tensor.device)


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Write the one-hot rows of `indices` into `out`."""
    return call(find("one_hot"), (indices,), {"depth": out.shape[1], "dtype": out.dtype, "out": out})


def waitall() -> None:
    """Wait until all that was started on any device is computed."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


# Two-argument functions that take arrays and numbers in either place.


def _number_or_array(pair: str, scalar: str, reverse: str, doc: str) -> Any:
    def function(lhs: Any, rhs: Any) -> Any:
        if isinstance(lhs, NDArray) and isinstance(rhs, NDArray):
            return call(find(pair), (lhs, rhs), {})
        if isinstance(lhs, NDArray):
            return call(find(scalar), (lhs,), {"scalar": rhs})
        if isinstance(rhs, NDArray):
            return call(find(reverse), (rhs,), {"scalar": lhs})
        raise ArgumentError(f"nd.{pair}: one of the two must be an NDArray; got {lhs!r} and {rhs!r}")

    function.__doc__ = doc
    return function


maximum = _number_or_array(
    "broadcast_maximum", "_maximum_scalar", "_maximum_scalar", "Return the larger of two, element by element."
)
minimum = _number_or_array(
    "broadcast_minimum", "_minimum_scalar", "_minimum_scalar", "Return the smaller of two, element by element."
)
power = _number_or_array(
    "broadcast_power", "_power_scalar", "_rpower_scalar", "Return ``lhs ** rhs``, element by element."
)


def _sign(sign: str, doc: str, mirrored: str | None = None) -> Any:
    def function(lhs: Any, rhs: Any) -> Any:
        if mirrored is not None and not isinstance(lhs, NDArray):
            return combine(mirrored, rhs, lhs)
        result = combine(sign, lhs, rhs)
        if result is NotImplemented:
            raise ArgumentError(f"nd: one of the two must be an NDArray, the other too or a number; got {lhs!r}, {rhs!r}")
        return result

    function.__doc__ = doc
    return function


add = _sign("add", "Return ``lhs + rhs`` with broadcasting.")
subtract = _sign("sub", "Return ``lhs - rhs`` with broadcasting.")
multiply = _sign("mul", "Return ``lhs * rhs`` with broadcasting.")
divide = true_divide = _sign("truediv", "Return ``lhs / rhs`` with broadcasting.")
modulo = _sign("mod", "Return ``lhs % rhs`` with broadcasting.")
equal = _sign("eq", "Return 1 where both are equal, else 0.", "eq")
not_equal = _sign("ne", "Return 1 where both differ, else 0.", "ne")
greater = _sign("gt", "Return 1 where ``lhs > rhs``, else 0.", "lt")
greater_equal = _sign("ge", "Return 1 where ``lhs >= rhs``, else 0.", "le")
lesser = _sign("lt", "Return 1 where ``lhs < rhs``, else 0.", "gt")
lesser_equal = _sign("le", "Return 1 where ``lhs <= rhs``, else 0.", "ge")
