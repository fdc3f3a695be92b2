"""`mx.contrib`: what MXNet had on trial. `contrib.sym` and `contrib.nd` are `sym.contrib` and `nd.contrib`."""

from typing import TYPE_CHECKING

from ..absent import old_names
from ..ndarray import contrib as ndarray
from ..symbol import contrib as symbol
from . import amp, autograd, svrg_optimization, text

nd, sym = ndarray, symbol

__all__ = ["amp", "autograd", "nd", "ndarray", "svrg_optimization", "sym", "symbol", "text"]

if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
