"""Types of elements: MXNet's numbers in files, names, and the objects of torch and NumPy, in one table."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch

from .errors import DTypeError, near_names

__all__ = ["DTYPES", "DTypeLike", "by_flag", "flag", "name", "number_in", "numpy_type", "torch_dtype"]


#: A type in any form: ``'float32'``, ``np.float32``, ``float``, ``torch.float32``.
DTypeLike: TypeAlias = "str | type | torch.dtype | np.dtype"


class _Row(NamedTuple):
    flag: int  # the number in .params files and in symbol JSON ("__dtype__")
    name: str
    torch: torch.dtype
    numpy: Any  # the scalar type that NDArray.dtype returns, as in MXNet; None where NumPy has none


DTYPES = (
    _Row(0, "float32", torch.float32, np.float32),
    _Row(1, "float64", torch.float64, np.float64),
    _Row(2, "float16", torch.float16, np.float16),
    _Row(3, "uint8", torch.uint8, np.uint8),
    _Row(4, "int32", torch.int32, np.int32),
    _Row(5, "int8", torch.int8, np.int8),
    _Row(6, "int64", torch.int64, np.int64),
    _Row(7, "bool", torch.bool, np.bool_),
    _Row(8, "int16", torch.int16, np.int16),
    _Row(12, "bfloat16", torch.bfloat16, None),
)
_BY_NAME = {row.name: row for row in DTYPES}
_BY_TORCH = {row.torch: row for row in DTYPES}
_BY_FLAG = {row.flag: row for row in DTYPES}
_BY_NUMPY = {row.numpy: row for row in DTYPES if row.numpy is not None}


def _range(dtype: torch.dtype) -> tuple[float, float]:
    """Return the largest number of a floating type, and the least that is rounded to infinity."""
    about = torch.finfo(dtype)
    return about.max, about.max * (1 + about.eps / (4 - 2 * about.eps))  # half a step further


_RANGES = {dtype: _range(dtype) for dtype in (torch.float16, torch.bfloat16, torch.float32)}


def number_in(dtype: torch.dtype, value: float) -> float:
    """Return a number as an array of a floating type has it: infinite beyond the type's range.

    MXNet converts numbers that are given beside arrays so, such as the -1e9 of a mask; torch refuses them.

    >>> [number_in(torch.float16, value) for value in (-1e9, 65510.0, 0.1)], number_in(torch.int8, 1e9)
    ([-inf, 65504.0, 0.1], 1000000000.0)
    """
    if dtype not in _RANGES or not abs(value) > _RANGES[dtype][0]:
        return value
    largest, beyond = _RANGES[dtype]
    return math.copysign(largest if abs(value) < beyond else math.inf, value)


def torch_dtype(dtype: DTypeLike, who: str = "dtype") -> torch.dtype:
    """Return torch's dtype for a name, NumPy type, Python type or torch dtype; an error begins with `who`.

    >>> torch_dtype("float16"), torch_dtype(np.int8), torch_dtype(float)
    (torch.float16, torch.int8, torch.float64)
    """
    # The common forms take one lookup; the others go through np.dtype(), which is slower.
    if isinstance(dtype, torch.dtype):
        if dtype in _BY_TORCH:
            return dtype
    elif (row := _BY_NUMPY.get(dtype) if isinstance(dtype, type) else _BY_NAME.get(str(dtype))) is not None:
        return row.torch
    else:
        try:
            return _BY_NAME[np.dtype(dtype).name].torch
        # NumPy reads its language of records out of text ("3f4,i2"), with errors of its own, and warns of old letters.
        except (TypeError, KeyError, ValueError, SyntaxError, DeprecationWarning):
            pass
    raise DTypeError(
        f"{who} must be one of {', '.join(_BY_NAME)}; got {dtype!r}{near_names(str(dtype), _BY_NAME)}"
    )


def name(dtype: DTypeLike) -> str:
    """Return the name of a type, such as ``'float32'``.

    >>> name(np.float16), name(torch.bfloat16), name(float)
    ('float16', 'bfloat16', 'float64')
    """
    return _BY_TORCH[torch_dtype(dtype)].name


def numpy_type(dtype: DTypeLike, who: str = "dtype") -> Any:
    """Return NumPy's scalar type; for bfloat16, which NumPy lacks, torch's dtype.

    >>> numpy_type("float16"), numpy_type("bfloat16")
    (<class 'numpy.float16'>, torch.bfloat16)
    """
    row = _BY_TORCH[torch_dtype(dtype, who)]
    return row.torch if row.numpy is None else row.numpy


def flag(dtype: DTypeLike, who: str = "dtype") -> int:
    """Return MXNet's number for a type, as in its files.

    >>> flag("float32"), flag("int64")
    (0, 6)
    """
    return _BY_TORCH[torch_dtype(dtype, who)].flag


def by_flag(number: int) -> torch.dtype:
    """Return the type for MXNet's number.

    >>> by_flag(12)
    torch.bfloat16
    """
    try:
        return _BY_FLAG[number].torch
    except KeyError:
        raise DTypeError(f"type number must be one of {sorted(_BY_FLAG)}; got {number}") from None
