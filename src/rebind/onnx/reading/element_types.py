"""Types of ONNX as types of MXNet's arrays.

A type that MXNet lacks is read as the smallest that holds all its numbers: the numbers are the same, in more bits.
Only ``uint64`` has none: it is read as ``int64``, which holds those below 2**63.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ...errors import MXNetError
from ...ndarray import NDArray, array

__all__ = ["ARRAY_TYPES", "FLOATS", "NARROW", "as_ndarray"]

#: By ONNX's type, the type of its arrays.
ARRAY_TYPES = {
    ir.DataType.FLOAT: "float32",
    ir.DataType.DOUBLE: "float64",
    ir.DataType.FLOAT16: "float16",
    ir.DataType.BFLOAT16: "bfloat16",
    ir.DataType.UINT8: "uint8",
    ir.DataType.INT8: "int8",
    ir.DataType.INT16: "int16",
    ir.DataType.INT32: "int32",
    ir.DataType.INT64: "int64",
    ir.DataType.BOOL: "bool",
    ir.DataType.UINT2: "uint8",
    ir.DataType.INT2: "int8",
    ir.DataType.UINT4: "uint8",
    ir.DataType.INT4: "int8",
    ir.DataType.UINT16: "int32",
    ir.DataType.UINT32: "int64",
    ir.DataType.UINT64: "int64",
    ir.DataType.FLOAT4E2M1: "float32",
    ir.DataType.FLOAT8E4M3FN: "float32",
    ir.DataType.FLOAT8E4M3FNUZ: "float32",
    ir.DataType.FLOAT8E5M2: "float32",
    ir.DataType.FLOAT8E5M2FNUZ: "float32",
    ir.DataType.FLOAT8E8M0: "float32",
}
FLOATS = frozenset(("float32", "float64", "float16", "bfloat16"))
#: Types whose arrays can hold other numbers too, by their name in `_onnx_cast_through`.
NARROW = {
    kind: kind.name.lower()
    for kind in (
        ir.DataType.UINT2,
        ir.DataType.INT2,
        ir.DataType.UINT4,
        ir.DataType.INT4,
        ir.DataType.UINT16,
        ir.DataType.UINT32,
        ir.DataType.FLOAT4E2M1,
        ir.DataType.FLOAT8E4M3FN,
        ir.DataType.FLOAT8E4M3FNUZ,
        ir.DataType.FLOAT8E5M2,
        ir.DataType.FLOAT8E5M2FNUZ,
        ir.DataType.FLOAT8E8M0,
    )
}


def as_ndarray(numbers: np.ndarray, name: str) -> NDArray:
    """Return the numbers of a tensor as an array; one number without axes is an array of one element.

    >>> as_ndarray(np.array([65535], np.uint16), "weight").dtype
    <class 'numpy.int32'>
    """
    who = f"import_model: the tensor {name!r}"
    try:
        dtype = ARRAY_TYPES[ir.DataType.from_numpy(numbers.dtype)]
    except (KeyError, TypeError) as error:
        raise MXNetError(f"{who}: MXNet has no arrays of type {numbers.dtype.name}") from error
    if numbers.dtype == np.uint64 and np.any(numbers > np.iinfo(np.int64).max):
        raise MXNetError(f"{who}: numbers of type uint64 must be below 2**63; got {numbers.max()}")
    # Arrays of bfloat16 are made of float32: NumPy itself has no such type.
    return array(np.atleast_1d(numbers).astype("float32" if dtype == "bfloat16" else dtype), dtype=dtype)
