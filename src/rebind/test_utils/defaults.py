"""Devices, types and tolerances that tests run with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import torch

from .. import dtypes
from ..device import Device, as_device, current_context
from ..dtypes import DTypeLike
from ..errors import ArgumentError
from ..ndarray import NDArray

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = [
    "RTOLS",
    "STEPS",
    "ArrayLike",
    "as_numpy",
    "default_atols",
    "default_context",
    "default_dtype",
    "default_numeric_eps",
    "default_rtols",
    "dtype_name",
    "effective_dtype",
    "element_type",
    "get_atol",
    "get_etol",
    "get_rtol",
    "get_tolerance",
    "get_tols",
    "set_default_context",
]


#: Whatever has numbers to compare: an array of MXNet or NumPy, a tensor, a number, nested lists of numbers.
ArrayLike: TypeAlias = "NDArray | torch.Tensor | npt.ArrayLike"

# Tolerances and steps of MXNet 1.9.1, by type; types that are not listed must be equal exactly.
RTOLS = {"float16": 1e-2, "bfloat16": 2e-2, "float32": 1e-4, "float64": 1e-5}
_ATOLS = {"float16": 1e-1, "bfloat16": 1e-1, "float32": 1e-3, "float64": 1e-20}
STEPS = {"float16": 2.0**-6, "float32": 2.0**-9, "float64": 2.0**-14}
# Types that are compared exactly: the tables that scripts get list them with a tolerance of 0.
_EXACT = ("bool", "int8", "uint8", "int32", "uint32", "int64", "uint64")


def default_context() -> Device:
    """Return the device that tests run on: the current one.

    >>> with Device("cpu", 1):
    ...     default_context()
    cpu(1)
    """
    return current_context()


def set_default_context(ctx: Device) -> None:
    """Make `ctx` the default of this thread, until the end of a ``with device:`` around the call.

    >>> with Device("cpu", 1):
    ...     set_default_context(Device("cpu", 2))
    ...     current_context()
    cpu(2)
    """
    if ctx is None:
        raise ArgumentError("set_default_context: ctx must be a Device such as mx.cpu(); got None")
    Device.default_ctx = as_device(ctx, "set_default_context: ctx")


def default_dtype() -> type[np.float32]:
    """Return the type of data that tests run with: float32."""
    return np.float32


def default_rtols() -> dict[np.dtype, float]:
    """Return the relative tolerance of each type.

    >>> default_rtols()[np.dtype("float16")]
    0.01
    """
    return _by_dtype(RTOLS)


def default_atols() -> dict[np.dtype, float]:
    """Return the absolute tolerance of each type.

    >>> default_atols()[np.dtype("float32")]
    0.001
    """
    return _by_dtype(_ATOLS)


def default_numeric_eps() -> dict[np.dtype, float]:
    """Return the step of finite differences computed in each type.

    >>> default_numeric_eps()[np.dtype("float16")] == 2**-6
    True
    """
    return {np.dtype(name): step for name, step in STEPS.items()}


def get_atol(atol: float | None = None, dtype: DTypeLike = np.float64) -> float:
    """Return `atol`, or the absolute tolerance of `dtype` when it is None.

    >>> get_atol(dtype="float16"), get_atol(dtype="int32"), get_atol(0.5)
    (0.1, 0, 0.5)
    """
    return _ATOLS.get(dtype_name(dtype), 0) if atol is None else atol


def get_rtol(rtol: float | None = None, dtype: DTypeLike = np.float64) -> float:
    """Return `rtol`, or the relative tolerance of `dtype` when it is None.

    >>> get_rtol(), get_rtol(dtype="float16"), get_rtol(0.5)
    (1e-05, 0.01, 0.5)
    """
    return RTOLS.get(dtype_name(dtype), 0) if rtol is None else rtol


def get_etol(etol: float | None = None) -> float:
    """Return `etol`, or 0 when it is None: the share of elements that may be off.

    >>> get_etol(), get_etol(0.25)
    (0, 0.25)
    """
    return 0 if etol is None else etol


def get_tols(x: ArrayLike, y: ArrayLike, rtol: float | None, atol: float | None) -> tuple[float, float]:
    """Return the relative and the absolute tolerance for comparing `x` with `y`: those of the coarser type.

    >>> get_tols(np.ones(2, "float64"), np.ones(2, "float16"), rtol=None, atol=None)
    (0.01, 0.1)
    """
    kinds = [element_type(values) for values in (x, y)]
    return max(get_rtol(rtol, kind) for kind in kinds), max(get_atol(atol, kind) for kind in kinds)


def effective_dtype(dat: ArrayLike) -> np.dtype:
    """Return the type by which the tolerance for some values is chosen: their own.

    MXNet returns float16 for float32 arrays on GPUs that round products to TF32; rebind does not turn TF32 on.

    >>> effective_dtype(np.ones(2, "float16"))
    dtype('float16')
    """
    return np.dtype(element_type(dat))


def get_tolerance(
    dat: ArrayLike, tol: float | Mapping[np.dtype, float] | None, default_tol: Mapping[np.dtype, float]
) -> float:
    """Return the tolerance for comparing some values.

    Parameters
    ----------
    dat
        The values.
    tol
        A number, or a number for each type; None for `default_tol`.
    default_tol
        A number for each type.

    Examples
    --------
    >>> get_tolerance(np.ones(2, "float16"), None, default_rtols())
    0.01
    """
    if isinstance(tol, (int, float)):
        return float(tol)
    dtype = effective_dtype(dat)
    return (default_tol if tol is None else tol).get(dtype, default_tol.get(dtype, 0.0))


def _by_dtype(table: Mapping[str, float]) -> dict[np.dtype, float]:
    # NumPy has no bfloat16, and these tables have its types as keys.
    full = {**dict.fromkeys(_EXACT, 0.0), **table}
    return {np.dtype(name): value for name, value in full.items() if name != "bfloat16"}


def element_type(values: ArrayLike) -> str:
    """Return the name of the type of an array's elements.

    >>> element_type(torch.ones(2, dtype=torch.bfloat16)), element_type([1.0, 2.0])
    ('bfloat16', 'float64')
    """
    return dtype_name(values.dtype if hasattr(values, "dtype") else np.asarray(values).dtype)


def dtype_name(dtype: DTypeLike) -> str:
    """Return the name of a type, bfloat16 too, which NumPy lacks.

    >>> dtype_name(torch.bfloat16), dtype_name(np.uint32)
    ('bfloat16', 'uint32')
    """
    if isinstance(dtype, torch.dtype) or (isinstance(dtype, str) and dtype == "bfloat16"):
        return dtypes.name(dtype)
    return np.dtype(dtype).name  # its types go beyond rebind's: uint32, complex


def as_numpy(values: ArrayLike) -> np.ndarray:
    """Return the values of any kind of array as a NumPy array.

    >>> import rebind as mx
    >>> as_numpy(mx.nd.ones((2,))), as_numpy([1, 2])
    (array([1., 1.], dtype=float32), array([1, 2]))
    """
    return values.asnumpy() if isinstance(values, NDArray) else np.asarray(values)
