"""`mx.base`: types, constants and helpers that scripts import from there. MXNet's C library is there by name only."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, TypeVar

import numpy as np

from .. import dtypes
from ..absent import absent_function, old_names
from ..errors import ArgumentError, MXNetError, NotImplementedForSymbol, NotSupportedForSparseNDArray
from ..files import data_dir, data_dir_default
from ..params import NULL as _Null

__all__ = [
    "InternalError", "MXNetError", "NotImplementedForSymbol", "NotSupportedForSparseNDArray", "_Null", "_as_list",
    "basestring", "c_str", "classproperty", "data_dir", "data_dir_default", "integer_types", "long", "mx_float",
    "mx_int", "mx_int64", "mx_real_t", "mx_uint", "numeric_types", "py_slice", "py_str", "string_types",
    "with_metaclass",
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
mx_int64 = ctypes.c_int64
mx_float = ctypes.c_float
mx_real_t = np.float32  # the type of arrays for which none is given


py_slice = slice  # in modules where `slice` is the operator

# MXNet's numbers for types, storage and what becomes of gradients, as its files and C functions have them.
_DTYPE_MX_TO_NP: dict[int, type | None] = {
    -1: None,
    **{row.flag: row.numpy for row in dtypes.DTYPES if row.numpy},
}
_DTYPE_NP_TO_MX = {dtype: flag for flag, dtype in _DTYPE_MX_TO_NP.items()}
_GRAD_REQ_MAP = {"null": 0, "write": 1, "add": 3}
_STORAGE_TYPE_STR_TO_ID = {"undefined": -1, "default": 0, "row_sparse": 1, "csr": 2}
_STORAGE_TYPE_ID_TO_STR = {number: text for text, number in _STORAGE_TYPE_STR_TO_ID.items()}
_STORAGE_TYPE_UNDEFINED, _STORAGE_TYPE_DEFAULT, _STORAGE_TYPE_ROW_SPARSE, _STORAGE_TYPE_CSR = range(-1, 3)


class InternalError(MXNetError):
    """A mistake in MXNet itself; for programs that catch it."""


class _Library:
    """MXNet's C library, by name only: a call of any of its functions says so."""

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent_function(f"base._LIB.{name}", "There is no C library underneath; PyTorch is the engine")


_LIB = _Library()


class classproperty:
    """A property of a class: its function gets the class.

    >>> class Shape:
    ...     @classproperty
    ...     def title(cls):
    ...         return cls.__name__
    >>> Shape.title
    'Shape'
    """

    def __init__(self, func: Callable[[type], object]) -> None:
        self.func = func

    def __get__(self, instance: object, owner: type) -> object:
        return self.func(owner)


def with_metaclass(meta: type, *bases: type) -> type:
    """Return a class to derive from, for a metaclass in the syntax of Python 2 and 3.

    >>> class Shape(with_metaclass(type, dict)):
    ...     pass
    >>> issubclass(Shape, dict)
    True
    """
    return meta("temporary_class", bases, {})


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


def _as_list(obj: list[T] | tuple[T, ...] | T) -> list[T] | tuple[T, ...]:
    """Return a list or tuple as it is, and anything else as a list of one."""
    return obj if isinstance(obj, (list, tuple)) else [obj]


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
