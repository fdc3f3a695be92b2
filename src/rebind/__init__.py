"""rebind: MXNet 1.x's symbolic programs on today's hardware, with PyTorch as the engine.

``import rebind as mx``: networks as `Symbol` graphs (`mx.sym`), arrays (`mx.nd`), training through `Module`
(`mx.mod`), and the files of MXNet, both ways.
"""

from . import (
    autograd,
    callback,
    checkpoint,
    config,
    context,
    errors,
    executor,
    initializer,
    io,
    kvstore,
    lr_scheduler,
    metric,
    model,
    module,
    ndarray,
    operator,
    optimizer,
    random,
    scope,
    symbol,
    test_utils,
    util,
    viz,
)  # fmt: skip
from ._version import __version__
from .device import Context, Device, cpu, cpu_pinned, current_context, current_device, gpu, num_gpus
from .errors import MXNetError
from .executor import Executor
from .ndarray import NDArray
from .scope import AttrScope
from .symbol import Symbol

# MXNet's short and older names.
nd = ndarray
sym = symbol
mod = module
kv = kvstore
init = initializer
visualization = viz
name = attribute = scope

__all__ = [
    "AttrScope", "Context", "Device", "Executor", "MXNetError", "NDArray", "Symbol", "__version__", "attribute",
    "autograd", "callback", "checkpoint", "config", "context", "cpu", "cpu_pinned", "current_context",
    "current_device", "errors", "executor", "gpu", "init", "initializer", "io", "kv", "kvstore", "lr_scheduler",
    "metric", "mod", "model", "module", "name", "nd", "ndarray", "num_gpus", "operator", "optimizer", "random", "scope", "sym",
    "symbol", "test_utils", "util", "visualization", "viz",
]  # fmt: skip
