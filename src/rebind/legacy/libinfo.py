"""`mx.libinfo`: the version of MXNet whose interface rebind has. MXNet finds its C library here; rebind has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..absent import old_names
from ..errors import StateError

__all__ = ["MXNET_VERSION", "find_lib_path"]

#: What `mxnet.__version__` is. rebind's own version is `rebind.__version__`.
MXNET_VERSION = "1.9.1"
__version__ = MXNET_VERSION


def find_lib_path(prefix: str = "libmxnet") -> list[str]:
    """Raise an error: there is no such library.

    >>> find_lib_path()
    Traceback (most recent call last):
    rebind.errors.StateError: libinfo.find_lib_path: there is no libmxnet. ...
    """
    raise StateError(
        f"libinfo.find_lib_path: there is no {prefix}. There is no C library underneath; PyTorch is the engine."
    )


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
