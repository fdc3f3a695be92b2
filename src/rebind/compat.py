"""Where the modules of MXNet are here: programs that say ``import mxnet as mx`` run as they are.

`TABLE` is the one place that knows MXNet's paths; the layout of rebind follows reason, not history. `install` makes
``import mxnet`` find an `OldModule` for each path, which looks names up where they are when they are first used: what
a program does not touch is not imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any, TypeAlias

from .errors import AbsentModuleError, AbsentNameError, StateError, near_names

__all__ = ["MXNET_VERSION", "TABLE", "Absent", "Later", "OldModule", "attribute", "install", "module_at"]

# What `mxnet.__version__` says: the version whose interface this is. rebind's own is `rebind.__version__`.
MXNET_VERSION = "1.9.1"


@dataclass(frozen=True)
class Absent:
    """What is no part of rebind, and what to use instead; the paths below it are absent too."""

    instead: str


@dataclass(frozen=True)
class Later:
    """A module of rebind's that is still to come: its place, and what to use as long as it is not there."""

    place: str
    instead: str


Row: TypeAlias = "str | tuple[str, ...] | Absent | Later"

_GLUON = Absent(
    "rebind is about MXNet's symbolic API. Build the network with mx.sym and train it with mx.mod.Module; "
    "imperative networks are what PyTorch (torch.nn) is for."
)
_NUMPY = Absent(
    "Use mx.nd and mx.sym, whose operators are those of MXNet's symbolic API, or NumPy itself on the host."
)
_TEXT = Absent("Load word vectors with NumPy or gensim, and give them to mx.sym.Embedding as its weight.")
_C_API = Absent("There is no C library underneath; PyTorch is the engine.")

# MXNet's path below `mxnet`, and what it is here: places below `rebind`, searched in this order (behind a colon an
# attribute); or another path of this table, for a shorter name; or why it is not here. Names that are neither in the
# places nor below a path are looked up in SHARED.
TABLE: dict[str, Row] = {
    "": ("",),
    "attribute": ("scope",),
    "autograd": ("autograd",),
    "base": ("base", "errors"),
    "callback": ("callback",),
    "context": ("context",),
    "contrib": ("contrib",),
    "contrib.amp": ("contrib.amp",),
    "contrib.amp.amp": ("contrib.amp.amp", "contrib.amp"),
    "contrib.amp.lists": ("contrib.amp.lists",),
    "contrib.amp.lists.symbol_bf16": ("contrib.amp.lists.symbol_bf16", "contrib.amp.lists"),
    "contrib.amp.lists.symbol_fp16": ("contrib.amp.lists.symbol_fp16", "contrib.amp.lists"),
    "contrib.amp.loss_scaler": ("contrib.amp.loss_scaler", "contrib.amp"),
    "contrib.autograd": Absent("Use mx.autograd, which took its place in MXNet 0.12."),
    "contrib.io": Absent("Its DataLoaderIter wraps a Gluon loader. Use mx.io.NDArrayIter or an iterable of DataBatch."),
    "contrib.nd": "contrib.ndarray",
    "contrib.ndarray": ("ndarray:contrib",),
    "contrib.onnx": Later("contrib.onnx", "A symbol with its parameters is saved by mx.model.save_checkpoint."),
    "contrib.quant": "contrib.quantization",
    "contrib.quantization": Later("contrib.quantization", "Its operators are in mx.sym.contrib (quantize_v2, ...)."),
    "contrib.svrg_optimization": ("contrib.svrg_optimization",),
    "contrib.svrg_optimization.svrg_module": ("contrib.svrg_optimization", "contrib.svrg_optimization.svrg_module"),
    "contrib.svrg_optimization.svrg_optimizer": (
        "contrib.svrg_optimization", "contrib.svrg_optimization.svrg_optimizer",
    ),
    "contrib.sym": "contrib.symbol",
    "contrib.symbol": ("symbol:contrib",),
    "contrib.tensorboard": Later("contrib.tensorboard", "Module.fit returns a history; mx.viz.plot_history draws it."),
    "contrib.tensorrt": Absent("Export the network to ONNX, which TensorRT reads."),
    "contrib.text": _TEXT,
    "engine": ("engine",),
    "error": ("errors",),
    "executor": ("executor",),
    "executor_manager": ("executor_manager",),
    "gluon": _GLUON,
    "image": Later("image", "The operators are in mx.nd.image; mx.nd._internal._cvimread reads pictures."),
    "image.detection": "image",
    "image.image": "image",
    "img": "image",
    "init": "initializer",
    "initializer": ("initializer",),
    "io": ("io",),
    "io.io": "io",
    "io.utils": "io",
    "kv": "kvstore",
    "kvstore": ("kvstore",),
    "kvstore.base": ("kvstore", "kvstore.base"),
    "kvstore.kvstore": "kvstore",
    "kvstore.kvstore_server": "kvstore_server",
    "kvstore_server": Later("kvstore_server", "Training on several machines is not there yet; kvstore='device' is."),
    "libinfo": ("compat:LIBINFO",),
    "library": Absent("Write operators in Python: mx.operator.CustomOp."),
    "log": ("log",),
    "lr_scheduler": ("lr_scheduler",),
    "metric": ("metric",),
    "misc": ("misc",),
    "mod": "module",
    "model": ("model",),
    "module": ("module",),
    "module.base_module": ("module.base_module", "module.checks"),
    "module.bucketing_module": ("module.bucketing_module", "module"),
    "module.executor_group": ("module.executor_group",),
    "module.module": ("module.module",),
    "module.python_module": ("module.python_module", "module"),
    "module.sequential_module": ("module.sequential_module", "module"),
    "mon": "monitor",
    "monitor": ("monitor",),
    "name": ("scope",),
    "nd": "ndarray",
    "ndarray": ("ndarray",),
    "ndarray._internal": ("ndarray:_internal",),
    "ndarray.contrib": ("ndarray:contrib",),
    "ndarray.gen__internal": "ndarray._internal",
    "ndarray.gen_contrib": "ndarray.contrib",
    "ndarray.gen_image": "ndarray.image",
    "ndarray.gen_linalg": "ndarray.linalg",
    "ndarray.gen_op": "ndarray.op",
    "ndarray.gen_sparse": "ndarray.sparse",
    "ndarray.image": ("ndarray:image",),
    "ndarray.linalg": ("ndarray:linalg",),
    "ndarray.ndarray": ("ndarray.ndarray", "ndarray"),
    "ndarray.np": _NUMPY,
    "ndarray.npx": _NUMPY,
    "ndarray.numpy": _NUMPY,
    "ndarray.numpy_extension": _NUMPY,
    "ndarray.op": ("ndarray:op",),
    "ndarray.random": ("ndarray.random",),
    "ndarray.sparse": ("ndarray:sparse",),
    "ndarray.utils": "ndarray",
    "ndarray_doc": Absent("The help of each function of mx.nd is made from its declaration."),
    "notebook": Absent("Use mx.viz.plot_history and mx.callback."),
    "np": _NUMPY,
    "np_symbol": _NUMPY,
    "npx": _NUMPY,
    "numpy": _NUMPY,
    "numpy_extension": _NUMPY,
    "onnx": Later("onnx", "A symbol with its parameters is saved by mx.model.save_checkpoint."),
    "operator": ("operator",),
    "optimizer": ("optimizer",),
    "optimizer.contrib": ("optimizer.contrib", "optimizer"),
    "optimizer.optimizer": "optimizer",
    "profiler": Later("profiler", "torch.profiler.profile() around the call shows PyTorch's operators."),
    "random": ("random",),
    "recordio": Later("recordio", "mx.io.NDArrayIter takes arrays."),
    "registry": ("registry",),
    "rnd": "random",
    "rnn": Later("rnn", "mx.sym.RNN is the fused layer; cells can be written from mx.sym.FullyConnected."),
    "rnn.io": "rnn",
    "rnn.rnn": "rnn",
    "rnn.rnn_cell": "rnn",
    "rtc": Absent("Write CUDA kernels with Triton or torch.utils.cpp_extension, and call them in a CustomOp."),
    "runtime": ("runtime",),
    "sym": "symbol",
    "symbol": ("symbol",),
    "symbol._internal": ("symbol:_internal",),
    "symbol.contrib": ("symbol:contrib",),
    "symbol.gen__internal": "symbol._internal",
    "symbol.gen_contrib": "symbol.contrib",
    "symbol.gen_image": "symbol.image",
    "symbol.gen_linalg": "symbol.linalg",
    "symbol.gen_op": "symbol.op",
    "symbol.gen_sparse": "symbol.sparse",
    "symbol.image": ("symbol:image",),
    "symbol.linalg": ("symbol:linalg",),
    "symbol.np": _NUMPY,
    "symbol.npx": _NUMPY,
    "symbol.numpy": _NUMPY,
    "symbol.numpy_extension": _NUMPY,
    "symbol.op": ("symbol:op",),
    "symbol.random": ("symbol.random",),
    "symbol.sparse": ("symbol:sparse",),
    "symbol.symbol": ("symbol.symbol", "symbol"),
    "symbol_doc": Absent("The help of each function of mx.sym is made from its declaration."),
    "test_utils": ("test_utils",),
    "th": Absent("It called Lua's Torch. PyTorch is the engine here: NDArray.tensor is the torch tensor."),
    "torch": Absent("It called Lua's Torch. PyTorch is the engine here: NDArray.tensor is the torch tensor."),
    "tvmop": Absent("PyTorch is the engine here; torch.compile is its compiler."),
    "util": ("util",),
    "visualization": ("viz",),
    "viz": "visualization",
    "_ctypes": _C_API,
    "_cy3": _C_API,
    "_ffi": _C_API,
    "_ndarray_internal": "ndarray._internal",  # both from before 0.10
    "_symbol_internal": "symbol._internal",
}  # fmt: skip

# Names that MXNet's modules have from one another; `mxnet.model.cpu` and `mxnet.executor_manager.DataDesc` work.
SHARED: dict[str, str] = {
    "AttrScope": "scope:AttrScope",
    "Context": "context:Context",
    "DataBatch": "io:DataBatch",
    "DataDesc": "io:DataDesc",
    "DataIter": "io:DataIter",
    "DataParallelExecutorGroup": "executor:DataParallelExecutorGroup",
    "DataParallelExecutorManager": "executor_manager:DataParallelExecutorManager",
    "Features": "runtime:Features",
    "Initializer": "initializer:Initializer",
    "KVStore": "kvstore:KVStore",
    "LogValidationMetricsCallback": "callback:LogValidationMetricsCallback",
    "MXNetError": "errors:MXNetError",
    "Module": "module:Module",
    "NDArray": "ndarray:NDArray",
    "Symbol": "symbol:Symbol",
    "Uniform": "initializer:Uniform",
    "_Null": "base:_Null",
    "_as_list": "base:_as_list",
    "basestring": "base:basestring",
    "c_str": "base:c_str",
    "cpu": "context:cpu",
    "current_context": "context:current_context",
    "get_updater": "optimizer:get_updater",
    "gpu": "context:gpu",
    "integer_types": "base:integer_types",
    "is_np_array": "util:is_np_array",
    "is_np_shape": "util:is_np_shape",
    "mx_real_t": "base:mx_real_t",
    "mx_uint": "base:mx_uint",
    "np_array": "util:np_array",
    "np_shape": "util:np_shape",
    "numeric_types": "base:numeric_types",
    "py_str": "base:py_str",
    "set_np_shape": "util:set_np_shape",
    "string_types": "base:string_types",
    "use_np": "util:use_np",
    "use_np_array": "util:use_np_array",
    "use_np_shape": "util:use_np_shape",
}  # fmt: skip

_ITERATORS = "mx.io.NDArrayIter takes arrays, and `fit` any iterable of mx.io.DataBatch."
_SPARSE = "Arrays are dense; nd.sparse has the operators for them."

# Names that are still to come in modules that are there, and what to use until then.
NAMES_TO_COME: dict[str, str] = {
    **dict.fromkeys(
        ("CSVIter", "ImageDetRecordIter", "ImageRecordInt8Iter", "ImageRecordIter", "ImageRecordIter_v1",
         "ImageRecordUInt8Iter", "ImageRecordUInt8Iter_v1", "LibSVMIter", "MNISTIter", "MXDataIter"),
        _ITERATORS,
    ),
    **dict.fromkeys(
        ("BaseSparseNDArray", "CSRNDArray", "RowSparseNDArray", "csr_matrix", "row_sparse_array", "create_sparse_array",
         "create_sparse_array_zd", "rand_sparse_ndarray"),
        _SPARSE,
    ),
    **dict.fromkeys(
        ("download", "get_cifar10", "get_mnist", "get_mnist_iterator", "get_mnist_pkl", "get_mnist_ubyte"),
        "Load the data with NumPy, scikit-learn or torchvision; mx.io.NDArrayIter takes arrays.",
    ),
    "KVStoreServer": "Training on several machines is not there yet; kvstore='device' is.",
}  # fmt: skip

# Helpers of MXNet's for calls into its C library; programs that import them reach below the interface.
_C_HELPERS = {
    "ExecutorHandle", "MXCallbackList", "NDArrayHandle", "SymbolHandle", "_LIB", "c2pyerror", "c_array", "c_array_buf",
    "c_handle_array", "c_str_array", "check_call", "ctypes2buffer", "ctypes2numpy_shared", "get_last_ffi_error",
    "mx_float_p",
}  # fmt: skip


def _find_lib_path(prefix: str = "libmxnet") -> list[str]:
    """Raise an error: there is no such library."""
    raise StateError(f"libinfo.find_lib_path: there is no {prefix}. {_C_API.instead}")


LIBINFO = SimpleNamespace(__version__=MXNET_VERSION, find_lib_path=_find_lib_path)


class OldModule(ModuleType):
    """A module of MXNet's by its old path. Its names are looked up at their places here when they are first used."""

    def __init__(self, path: str, places: Sequence[Any]) -> None:
        super().__init__(_full(path), f"MXNet's module `{_full(path)}`, as rebind has it.")
        self._path = path
        self._places = tuple(places)
        self.__path__: list[str] = []  # submodules come from the finder alone
        if not path:
            self.__version__ = MXNET_VERSION
            self.__file__ = sys.modules["rebind"].__file__

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [other for other in dir(self) if not other.startswith("_")]
        value = self._find(name)
        self.__dict__[name] = value  # from now on as quick as any attribute
        return value

    def _find(self, name: str) -> Any:
        path = f"{self._path}.{name}".lstrip(".")
        if path in TABLE:
            try:
                return module_at(path)
            except AbsentModuleError as error:
                raise AbsentNameError(str(error)) from None
        for place in self._places:
            if hasattr(place, name):
                return getattr(place, name)
        if self._path and name in SHARED:
            return _resolve(SHARED[name])
        if name in NAMES_TO_COME:
            raise AbsentNameError(f"{self.__name__}.{name} is not part of rebind yet. {NAMES_TO_COME[name]}")
        if name in _C_HELPERS:
            raise AbsentNameError(f"{self.__name__}.{name} is not part of rebind. {_C_API.instead}")
        hint = "." if name.startswith("_") else near_names(name, dir(self))
        raise AbsentNameError(f"{self.__name__}: rebind has no {name!r} there{hint}")

    def __dir__(self) -> list[str]:
        names = (
            {name for place in self._places for name in dir(place)}
            | set(vars(self))
            | set(_children(self._path))
        )
        return sorted(names)


_modules: dict[str, OldModule] = {}


def module_at(path: str) -> OldModule:
    """Return the module of MXNet's `path` below ``mxnet``; there is one for all of its names.

    Raises
    ------
    AbsentModuleError
        If rebind does not have it, or not yet; it says what to use instead.
    """
    path, row = _row(path)
    if path not in _modules:
        _modules[path] = OldModule(path, _places(path, row))
    return _modules[path]


def attribute(name: str) -> Any:
    """Return what ``rebind.name`` is for a name that the package itself lacks: a module that comes when it is used.

    So ``import rebind as mx`` gives `mx.engine`, `mx.base`, `mx.img` and the like too.
    """
    if name not in TABLE:
        if SHARED.get(name, "").startswith("util:"):  # MXNet has the switches of `util` at the top too
            return _resolve(SHARED[name])
        known = dir(sys.modules["rebind"])
        raise AttributeError(f"module 'rebind' has no attribute {name!r}{near_names(name, known)}")
    try:
        module = module_at(name)
    except AbsentModuleError as error:
        raise AbsentNameError(str(error)) from None
    place = module._places[0]
    return place if len(module._places) == 1 and isinstance(place, ModuleType) else module


def install() -> None:
    """Make ``import mxnet``, and the import of every path below it, give rebind in this process.

    Raises
    ------
    StateError
        If another `mxnet` is imported already.
    """
    there = sys.modules.get("mxnet")
    if there is not None and not isinstance(there, OldModule):
        version, place = getattr(there, "__version__", ""), getattr(there, "__file__", None)
        raise StateError(
            "install_as_mxnet: must come before the first import of mxnet; "
            f"got mxnet {version} from {place or 'somewhere'}, imported already"
        )
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder, Loader):
    """Finds and loads ``mxnet`` and the paths below it, before any other finder."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        parent, _, below = fullname.partition(".")
        if parent != "mxnet" or not _is_known(below):
            return None
        return ModuleSpec(fullname, self, origin="rebind", is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        try:
            return module_at(spec.name.partition(".")[2])
        except AbsentModuleError as error:
            error.name = spec.name
            raise

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: names are looked up when they are used."""


def _full(path: str) -> str:
    return f"mxnet.{path}" if path else "mxnet"


def _canonical(path: str) -> str:
    """Return the path with shorter names written out: ``nd.contrib`` is ``ndarray.contrib``."""
    whole = ""
    for part in path.split("."):
        whole = f"{whole}.{part}".lstrip(".")
        row = TABLE.get(whole)
        while isinstance(row, str):
            whole, row = row, TABLE[row]
    return whole


def _row(path: str) -> tuple[str, Row]:
    """Return the canonical path and its row; a path below one that is absent has that one's row."""
    path = _canonical(path)
    above = path
    while above not in TABLE:
        above = above.rpartition(".")[0]
    row = TABLE[above]
    if above != path and not isinstance(row, Absent):
        raise AbsentModuleError(f"mxnet has no module {path!r} that rebind knows of")
    return path, row


def _is_known(path: str) -> bool:
    path = _canonical(path)
    return path in TABLE or any(
        isinstance(TABLE.get(path[:end]), Absent) for end, letter in enumerate(path) if letter == "."
    )


def _children(path: str) -> Iterator[str]:
    """Yield the names of modules below a path, without those that are absent or still to come."""
    for other in TABLE:
        parent, _, name = other.rpartition(".")
        if parent != path or not name:
            continue
        row = TABLE[_canonical(other)]
        if isinstance(row, Later) and importlib.util.find_spec(f"rebind.{row.place}") is None:
            continue
        if not isinstance(row, Absent):
            yield name


def _places(path: str, row: Row) -> list[Any]:
    """Return the modules (or namespaces) that hold a path's names."""
    if isinstance(row, Absent):
        raise AbsentModuleError(f"{_full(path)} is not part of rebind. {row.instead}")
    wanted = (row.place,) if isinstance(row, Later) else tuple(row)
    found = []
    for place in wanted:
        try:
            found.append(_resolve(place))
        except ModuleNotFoundError as error:
            if not f"rebind.{place}.".startswith(f"{error.name}."):
                raise  # another package, which the place needs
    if not found:
        instead = f" {row.instead}" if isinstance(row, Later) else ""
        raise AbsentModuleError(f"{_full(path)} is not part of rebind yet.{instead}")
    return found


def _resolve(place: str) -> Any:
    """Return what a place of the table names: a module below rebind, or an attribute of one."""
    module, _, name = place.partition(":")
    found = importlib.import_module(f"rebind.{module}".rstrip("."))
    return getattr(found, name) if name else found
