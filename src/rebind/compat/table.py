"""MXNet's paths and names, and what has each of them in rebind: data, which `old_modules` and `finder` read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = [
    "C_API",
    "C_HELPERS",
    "NAMES_TO_COME",
    "SHARED",
    "TABLE",
    "Absent",
    "Later",
    "Row",
    "legacy_module",
]


@dataclass(frozen=True)
class Absent:
    """A module that rebind does not have, and what to use instead; the paths below it are absent too."""

    instead: str


@dataclass(frozen=True)
class Later:
    """A module that rebind does not have yet: its name, and what to use until then."""

    module: str
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
C_API = Absent("There is no C library underneath; PyTorch is the engine.")

# MXNet's path below `mxnet`, and what it is here: modules below `rebind`, searched in this order (after a colon: an
# attribute); or, for an alias, another path of this table; or why there is none. Names that are neither in those
# modules nor below a path are looked up in SHARED. What begins with `legacy.` exists for old programs only: `rebind`
# has those modules under MXNet's paths too (`import rebind.base`).
TABLE: dict[str, Row] = {
    "": ("",),
    "attribute": ("scope",),
    "autograd": ("autograd",),
    "base": ("legacy.base", "errors"),
    "callback": ("callback",),
    "context": ("legacy.context",),
    "contrib": ("contrib",),
    "contrib.amp": ("contrib.amp",),
    "contrib.amp.amp": ("contrib.amp.amp", "contrib.amp"),
    "contrib.amp.lists": ("contrib.amp.lists",),
    "contrib.amp.lists.symbol_bf16": ("contrib.amp.lists.symbol_bf16", "contrib.amp.lists"),
    "contrib.amp.lists.symbol_fp16": ("contrib.amp.lists.symbol_fp16", "contrib.amp.lists"),
    "contrib.amp.loss_scaler": ("contrib.amp.loss_scaler", "contrib.amp"),
    "contrib.autograd": Absent("Use mx.autograd, which replaced it in MXNet 0.12."),
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
    "engine": ("legacy.engine",),
    "error": ("errors",),
    "executor": ("executor",),
    "executor_manager": ("legacy.executor_manager",),
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
    "kvstore_server": Later("kvstore_server", "Training is on one machine for now: kvstore='device' has all its GPUs."),
    "libinfo": ("legacy.libinfo",),
    "library": Absent("Write operators in Python: mx.operator.CustomOp."),
    "log": ("legacy.log",),
    "lr_scheduler": ("lr_scheduler",),
    "metric": ("metric",),
    "misc": ("legacy.misc",),
    "mod": "module",
    "model": ("model",),
    "module": ("module",),
    "module.base_module": ("module.base_module", "module.checks"),
    "module.bucketing_module": ("module.bucketing_module", "module"),
    "module.executor_group": ("legacy.executor_group",),
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
    "runtime": ("legacy.runtime",),
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
    "util": ("legacy.util",),
    "visualization": ("viz",),
    "viz": "visualization",
    "_ctypes": C_API,
    "_cy3": C_API,
    "_ffi": C_API,
    "_ndarray_internal": "ndarray._internal",  # both from before 0.10
    "_symbol_internal": "symbol._internal",
}  # fmt: skip

# Names that MXNet's modules import from one another: `mxnet.model.cpu` and `mxnet.executor_manager.DataDesc` work.
SHARED: dict[str, str] = {
    "AttrScope": "scope:AttrScope",
    "Context": "device:Context",
    "DataBatch": "io:DataBatch",
    "DataDesc": "io:DataDesc",
    "DataIter": "io:DataIter",
    "DataParallelExecutorGroup": "executor:DataParallelExecutorGroup",
    "DataParallelExecutorManager": "legacy.executor_manager:DataParallelExecutorManager",
    "Features": "legacy.runtime:Features",
    "Initializer": "initializer:Initializer",
    "KVStore": "kvstore:KVStore",
    "LogValidationMetricsCallback": "callback:LogValidationMetricsCallback",
    "MXNetError": "errors:MXNetError",
    "Module": "module:Module",
    "NDArray": "ndarray:NDArray",
    "Symbol": "symbol:Symbol",
    "Uniform": "initializer:Uniform",
    "_Null": "legacy.base:_Null",
    "_as_list": "legacy.base:_as_list",
    "basestring": "legacy.base:basestring",
    "c_str": "legacy.base:c_str",
    "cpu": "device:cpu",
    "current_context": "device:current_context",
    "get_updater": "optimizer:get_updater",
    "gpu": "device:gpu",
    "integer_types": "legacy.base:integer_types",
    "is_np_array": "legacy.util:is_np_array",
    "is_np_shape": "legacy.util:is_np_shape",
    "mx_real_t": "legacy.base:mx_real_t",
    "mx_uint": "legacy.base:mx_uint",
    "np_array": "legacy.util:np_array",
    "np_shape": "legacy.util:np_shape",
    "numeric_types": "legacy.base:numeric_types",
    "py_str": "legacy.base:py_str",
    "set_np_shape": "legacy.util:set_np_shape",
    "string_types": "legacy.base:string_types",
    "use_np": "legacy.util:use_np",
    "use_np_array": "legacy.util:use_np_array",
    "use_np_shape": "legacy.util:use_np_shape",
}  # fmt: skip

_ITERATORS = "mx.io.NDArrayIter takes arrays, and `fit` any iterable of mx.io.DataBatch."
_SPARSE = "Arrays are dense; nd.sparse has the operators for them."

# Names that rebind's modules do not have yet, and what to use until then.
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
    "KVStoreServer": "Training is on one machine for now: kvstore='device' has all its GPUs.",
}  # fmt: skip

# Helpers of MXNet's for calls into its C library; programs that import them go below the public interface.
C_HELPERS = {
    "ExecutorHandle", "MXCallbackList", "NDArrayHandle", "SymbolHandle", "_LIB", "c2pyerror", "c_array", "c_array_buf",
    "c_handle_array", "c_str_array", "check_call", "ctypes2buffer", "ctypes2numpy_shared", "get_last_ffi_error",
    "mx_float_p",
}  # fmt: skip


def legacy_module(path: str) -> str | None:
    """Return which module of `legacy` MXNet's `path` is; None for one that does not exist for old programs only.

    >>> legacy_module("base"), legacy_module("ndarray")
    ('legacy.base', None)
    """
    row = TABLE.get(path)
    return row[0] if isinstance(row, tuple) and row[0].startswith("legacy.") else None
