"""`mx.contrib`: what MXNet had on trial. `contrib.sym` and `contrib.nd` are `sym.contrib` and `nd.contrib`."""

import typing as _typing

from ..absent import old_names as _old_names
from ..ndarray import contrib as ndarray
from ..symbol import contrib as symbol
from . import amp, autograd, quantization, svrg_optimization, tensorboard, text

nd, sym = ndarray, symbol

quant = quantization

__all__ = [
    "amp", "autograd", "nd", "ndarray", "quant", "quantization", "svrg_optimization", "sym", "symbol", "tensorboard",
    "text",
]  # fmt: skip

if not _typing.TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = _old_names(__name__)
