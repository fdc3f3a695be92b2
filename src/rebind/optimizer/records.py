"""Pickles of arrays, numbers, optimizers and schedules as plain data: nothing in them is imported or run.

A name in a pickle is looked up in a list; what it names is replaced by a record or a plain number.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import lr_scheduler
from ..errors import FormatError
from .base import optimizers

__all__ = ["ARRAYS", "SCHEDULERS", "PickledArray", "PickledObject", "PlainUnpickler"]

#: The module and the name of MXNet's classes of arrays, by storage type.
ARRAYS = {
    "default": ("mxnet.ndarray.ndarray", "NDArray"),
    "row_sparse": ("mxnet.ndarray.sparse", "RowSparseNDArray"),
    "csr": ("mxnet.ndarray.sparse", "CSRNDArray"),
}
SCHEDULERS = {name: getattr(lr_scheduler, name) for name in lr_scheduler.__all__}


class PickledObject:
    """An object of a file as plain data: the name of its class, and its attributes."""

    kind = ""

    def __init__(self, *_: object) -> None:
        self.attributes: dict[str, Any] = {}

    def __setstate__(self, attributes: object) -> None:
        if not isinstance(attributes, dict):
            raise FormatError(
                f"optimizer states: {self.kind} must have attributes; got {type(attributes).__name__}"
            )
        self.attributes = attributes


def _record(kind: str) -> type[PickledObject]:
    return type("PickledObject", (PickledObject,), {"kind": kind})


class PickledArray(PickledObject):
    """An array of a file: its content is in the attribute ``handle``."""

    kind = "NDArray"


def _bytearray(content: object = b"", encoding: str = "latin-1") -> bytes:
    # bytearray itself would take a number too, and as much memory as it says.
    if isinstance(content, str) and encoding in ("latin-1", "latin1"):
        return content.encode(encoding)
    if isinstance(content, (bytes, bytearray)):
        return bytes(content)
    raise FormatError(f"optimizer states: an array's content must be bytes; got {type(content).__name__}")


def _reconstructor(kind: object, base: object = None, state: object = None) -> PickledObject:
    if not (isinstance(kind, type) and issubclass(kind, PickledObject)):
        raise FormatError(f"optimizer states: objects must be optimizers or schedules; got {kind!r}")
    # Of the records only: what a file names is never called.
    return kind()


def _number(value: object = 0) -> float:
    if not isinstance(value, (bool, int, float)):
        raise FormatError(f"optimizer states: must be a number; got {type(value).__name__}")
    return value


class _NumberType:
    """A type of NumPy's, as `numpy.dtype` is pickled: its code, and the order of its bytes."""

    def __init__(self, code: object = "", *_: object) -> None:
        if not (isinstance(code, str) and re.fullmatch("[fiu][1248]|b1", code)):
            raise FormatError(f"optimizer states: a number must be of a usual type; got {str(code)[:20]!r}")
        self.name = code

    def __setstate__(self, state: object) -> None:
        # NumPy pickles the order of bytes apart from the code; ">" is the big end first.
        if isinstance(state, tuple) and len(state) > 1 and state[1] == ">":
            self.name = ">" + self.name


def _numpy_number(kind: object = None, content: object = b"") -> float:
    """Return a number that was one of NumPy's as a plain one."""
    if not isinstance(kind, _NumberType):
        raise FormatError(f"optimizer states: a number must have a type; got {type(kind).__name__}")
    (number,) = np.frombuffer(_bytearray(content), dtype=np.dtype(kind.name))
    return number.item()


_ALLOWED: dict[tuple[str, str], Callable[..., object]] = {
    **dict.fromkeys(ARRAYS.values(), PickledArray),
    ("mxnet.ndarray", "NDArray"): PickledArray,  # before 1.0
    **{
        (module, name): value
        for module in ("builtins", "__builtin__")
        for name, value in (
            ("bytearray", _bytearray),
            ("object", object),
            ("int", _number),
            ("float", _number),
            ("bool", _number),
        )
    },
    # Protocol 2 has no bytes: it pickles them as a text and its encoding.
    ("_codecs", "encode"): _bytearray,
    ("numpy", "dtype"): _NumberType,
    ("numpy.core.multiarray", "scalar"): _numpy_number,
    ("numpy._core.multiarray", "scalar"): _numpy_number,  # since NumPy 2
    # How protocols 0 and 1 pickle an object, under the module's names in Python 3 and 2.
    ("copyreg", "_reconstructor"): _reconstructor,
    ("copy_reg", "_reconstructor"): _reconstructor,
}


class PlainUnpickler(pickle.Unpickler):
    """Makes plain data of a pickle; a name that is not in the list is an error before anything is called."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what replaces a class or function of the file."""
        allowed = _ALLOWED.get((module, name))
        if allowed is not None:
            return allowed
        if name in SCHEDULERS or name in optimizers:
            # By its name alone: a schedule or optimizer of a user's own has any module.
            return _record(name)
        raise FormatError(
            f"optimizer states: may hold arrays, numbers, optimizers and schedules; got {module}.{name}. "
            "If it is an optimizer of your own, register it before loading."
        )
