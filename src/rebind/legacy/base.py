"""`mx.base`: types, constants and helpers that scripts import from there. MXNet's C library has no counterpart."""

from __future__ import annotations

import ctypes
import os
from typing import TypeVar

import numpy as np

from .. import config
from ..errors import ArgumentError, MXNetError
from ..params import NULL as _Null

__all__ = [
    "MXNetError", "_Null", "_as_list", "basestring", "c_str", "data_dir", "data_dir_default", "integer_types", "long",
    "mx_float", "mx_int", "mx_real_t", "mx_uint", "numeric_types", "py_str", "string_types",
]  # fmt: skip

T = TypeVar("T")

# For `isinstance`, from the time when programs ran on Python 2 and 3.
string_types = (str,)
basestring = str
long = int
integer_types = (int, np.int32, np.int64)
numeric_types = (float, int, np.generic)

mx_uint = ctypes.c_uint
mx_int = ctypes.c_int
mx_float = ctypes.c_float
mx_real_t = np.float32  # the type of arrays for which none is given


def py_str(x: bytes | str) -> str:
    """Return UTF-8 bytes as a string; a string is returned as it is.

    >>> py_str(b"text")
    'text'
    """
    return x if isinstance(x, str) else x.decode("utf-8")


def c_str(string: str) -> ctypes.c_char_p:
    """Return a string as C has it: UTF-8 bytes with a zero at the end.

    >>> c_str("text").value
    b'text'
    """
    if not isinstance(string, str):
        raise ArgumentError(f"base.c_str: must be a string; got {string!r}")
    return ctypes.c_char_p(string.encode("utf-8"))


def data_dir_default() -> str:
    """Return the default folder for downloaded data: ``~/.mxnet``, as in MXNet.

    >>> data_dir_default().endswith(".mxnet")
    True
    """
    return os.path.join(os.path.expanduser("~"), ".mxnet")


def data_dir() -> str:
    """Return the folder for downloaded data: the environment variable ``MXNET_HOME``, or the default.

    >>> import rebind as mx
    >>> with mx.test_utils.environment("MXNET_HOME", "/data"):
    ...     data_dir()
    '/data'
    """
    return config.get("MXNET_HOME") or data_dir_default()


def _as_list(obj: list[T] | tuple[T, ...] | T) -> list[T] | tuple[T, ...]:
    """Return a list or tuple as it is, and anything else as a list of one."""
    return obj if isinstance(obj, (list, tuple)) else [obj]
