"""`mx.contrib`: what MXNet had on trial. `contrib.sym` and `contrib.nd` are `sym.contrib` and `nd.contrib`."""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from ..ndarray import contrib as ndarray
from ..symbol import contrib as symbol
from . import amp, autograd, svrg_optimization, text

nd, sym = ndarray, symbol

__all__ = ["amp", "autograd", "nd", "ndarray", "svrg_optimization", "sym", "symbol", "text"]

if not TYPE_CHECKING:  # a type checker would take every name for valid

    def __getattr__(name: str) -> ModuleType:
        """Return a module of MXNet's contrib that is there by name only: `mx.contrib.onnx`, ..."""
        if name.startswith("__"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        # By name, since `compat` is above this package: a program that uses no such module does not load it.
        return importlib.import_module("rebind.compat").attribute_below("contrib", name)
