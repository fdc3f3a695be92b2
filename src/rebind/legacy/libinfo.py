"""`mx.libinfo`: the version whose interface this is. MXNet finds its C library by it; there is none here."""

from __future__ import annotations

from ..errors import StateError

__all__ = ["MXNET_VERSION", "find_lib_path"]

#: What `mxnet.__version__` is. rebind's own version is `rebind.__version__`.
MXNET_VERSION = "1.9.1"
__version__ = MXNET_VERSION


def find_lib_path(prefix: str = "libmxnet") -> list[str]:
    """Raise an error: there is no such library."""
    raise StateError(
        f"libinfo.find_lib_path: there is no {prefix}. There is no C library underneath; PyTorch is the engine."
    )
