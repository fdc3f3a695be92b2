"""`mx.contrib`: what MXNet had on trial. `contrib.sym` and `contrib.nd` are `sym.contrib` and `nd.contrib`."""

from ..ndarray import contrib as ndarray
from ..symbol import contrib as symbol
from . import amp, svrg_optimization, text

nd, sym = ndarray, symbol

__all__ = ["amp", "nd", "ndarray", "svrg_optimization", "sym", "symbol", "text"]
