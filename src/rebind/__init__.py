"""rebind: MXNet 1.x's symbolic programs on today's hardware, with PyTorch as the engine.

``import rebind as mx``: networks as `Symbol` graphs (`mx.sym`), arrays (`mx.nd`), training through `Module`
(`mx.mod`), and the files of MXNet, both ways.
"""

import collections.abc as _abc
import importlib as _importlib
import os as _os
import typing as _typing
from functools import partial as _partial

from . import config
from .tune import tune

if config.get("REBIND_TUNE"):  # before PyTorch is loaded, which allocates
    tune()

# isort: split
from . import autograd, errors, executor, ndarray, scope, symbol
from ._version import __version__
from .annotations import unquote as _unquote
from .device import Context, Device, cpu, cpu_pinned, current_context, current_device, gpu, num_gpus
from .errors import MXNetError
from .executor import Executor
from .first_use import OnFirstUse as _OnFirstUse
from .legacy import OldPaths as _OldPaths
from .ndarray import NDArray
from .scope import AttrScope
from .symbol import Symbol

# MXNet's short and older names.
nd = ndarray
sym = symbol
name = attribute = scope
nd.CachedOp = executor.CachedOp  # MXNet has it there; it needs what is above `ndarray`


def _function(module: str, name: str) -> _abc.Callable[..., _typing.Any]:
    """Return a function of a module that is imported when a program first uses it."""
    return getattr(_importlib.import_module(f"{__name__}.{module}"), name)


#: Modules that are imported when a program first uses them, by the names that they have here: few use all of them.
#: Nothing below them needs them; what is registered by name (optimizers, metrics, ...) is in the module that looks
#: the name up.
_ON_FIRST_USE = _OnFirstUse(
    {
        name: _partial(_importlib.import_module, f"{__name__}.{module}")
        for name, module in {
            **{
                module: module
                for module in (
                    "callback", "checkpoint", "convert", "distributed", "initializer", "io", "kvstore",
                    "lr_scheduler", "metric", "model", "models", "module", "monitor", "onnx", "operator",
                    "optimizer", "profiler", "progress", "protocols", "pytorch", "random", "recordio", "rnn",
                    "test_utils", "viz",
                )
            },
            "init": "initializer", "kv": "kvstore", "mod": "module", "mon": "monitor", "visualization": "viz",
        }.items()
    } | {
        name: _partial(_function, module, name)
        for name, module in {"show_versions": "doctor", "to_torch": "pytorch", "from_torch": "pytorch"}.items()
    }
)  # fmt: skip

__all__ = [
    "AttrScope", "Context", "Device", "Executor", "MXNetError", "NDArray", "Symbol", "__version__",
    "attribute", "autograd", "callback", "checkpoint", "config", "context", "cpu", "cpu_pinned",
    "current_context", "current_device", "errors", "executor", "executor_manager", "from_torch", "gpu", "init",
    "initializer", "install_as_mxnet", "io", "kv", "kvstore", "lr_scheduler", "metric", "mod", "model",
    "models", "module", "mon", "monitor", "name", "nd", "ndarray", "num_gpus", "operator", "optimizer", "profiler",
    "random", "recordio", "rnn", "scope", "show_versions", "sym", "symbol", "test_utils", "to_torch", "tune", "util",
    "visualization", "viz",
]  # fmt: skip


def install_as_mxnet() -> None:
    """Make ``import mxnet`` give rebind in this process, for the paths of MXNet's modules too.

    Call it before the first import of `mxnet`. Processes that this one starts must call it as well, or run under
    ``rebind run``.
    """
    from .compat import install

    install()


_unquote(__name__)
_OldPaths().install()  # for `import rebind.base` and the other modules of `legacy`

if _typing.TYPE_CHECKING:
    from . import callback as callback
    from . import checkpoint as checkpoint
    from . import contrib as contrib
    from . import convert as convert
    from . import distributed as distributed
    from . import gluon as gluon
    from . import image as image
    from . import initializer as init
    from . import initializer as initializer
    from . import io as io
    from . import kvstore as kv
    from . import kvstore as kvstore
    from . import lr_scheduler as lr_scheduler
    from . import metric as metric
    from . import model as model
    from . import models as models
    from . import module as mod
    from . import module as module
    from . import monitor as mon
    from . import monitor as monitor
    from . import operator as operator
    from . import optimizer as optimizer
    from . import profiler as profiler
    from . import pytorch as pytorch
    from . import random as random
    from . import recordio as recordio
    from . import registry as registry
    from . import rnn as rnn
    from . import test_utils as test_utils
    from . import viz as visualization
    from . import viz as viz
    from .doctor import show_versions as show_versions
    from .legacy import base as base
    from .legacy import context as context
    from .legacy import engine as engine
    from .legacy import executor_manager as executor_manager
    from .legacy import libinfo as libinfo
    from .legacy import log as log
    from .legacy import misc as misc
    from .legacy import runtime as runtime
    from .legacy import util as util
    from .pytorch import from_torch as from_torch
    from .pytorch import to_torch as to_torch
else:  # hidden from type checkers, to which a `__getattr__` would make every name valid

    def __getattr__(name: str) -> _typing.Any:
        """Return a module that is imported on first use: `mx.mod`, `mx.io`; or MXNet's `mx.engine`, `mx.img`, ..."""
        if name.startswith("__"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name in _ON_FIRST_USE:
            found = globals()[name] = _ON_FIRST_USE[name]
        else:
            from .compat import attribute

            found = attribute(name)
        _unquote(__name__)
        return found

    def __dir__() -> list[str]:
        from .compat import names_at_top

        return sorted({*(name for name in globals() if name.startswith("__")), *__all__, *names_at_top()})


if config.get("MXNET_PROFILER_AUTOSTART"):
    from .profiler.control import start_from_environment as _start_from_environment

    _start_from_environment()

# Last, as what the roles need must be there: a server or scheduler of a job never comes back from here.
if "DMLC_ROLE" in _os.environ:
    from . import kvstore  # it has the loop of a server
    from .distributed import take_role as _take_role

    _take_role()
