"""MXNet's paths and names, and what has each of them in rebind: data, which `old_modules` and `finder` read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = [
    "BY_NAME",
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

_NUMPY = Absent(
    "Use mx.nd and mx.sym, whose operators are those of MXNet's symbolic API, or NumPy itself on the host."
)
_SERVER = "A process with DMLC_ROLE=server in its environment serves when it imports rebind."
C_API = Absent("There is no C library underneath; PyTorch is the engine.")

# Modules of gluon whose names say that they are not part of rebind, once they are used.
_GLUON_BY_NAME = """
contrib contrib.cnn contrib.cnn.conv_layers contrib.data contrib.data.sampler contrib.data.text contrib.estimator
contrib.estimator.batch_processor contrib.estimator.estimator contrib.estimator.event_handler contrib.nn
contrib.nn.basic_layers contrib.rnn contrib.rnn.conv_rnn_cell contrib.rnn.rnn_cell data data.dataloader data.dataset
data.sampler data.vision data.vision.datasets data.vision.transforms loss model_zoo model_zoo.model_store
model_zoo.vision model_zoo.vision.alexnet model_zoo.vision.densenet model_zoo.vision.inception
model_zoo.vision.mobilenet model_zoo.vision.resnet model_zoo.vision.squeezenet model_zoo.vision.vgg rnn rnn.rnn_cell
rnn.rnn_layer trainer
"""

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
    "contrib.autograd": ("contrib.autograd",),
    "contrib.io": Absent("Its DataLoaderIter wraps a Gluon loader. Use mx.io.NDArrayIter or an iterable of DataBatch."),
    "contrib.nd": "contrib.ndarray",
    "contrib.ndarray": ("ndarray:contrib",),
    "contrib.onnx": ("onnx",),
    "contrib.onnx.mx2onnx": ("onnx",),
    "contrib.onnx.onnx2mx": ("onnx.reading", "onnx"),
    "contrib.onnx.onnx2mx.import_model": ("onnx.reading", "onnx"),
    "contrib.onnx.onnx2mx.import_onnx": ("onnx.reading", "onnx"),
    "contrib.onnx.onnx2mx.import_to_gluon": ("onnx.reading", "onnx"),
    "contrib.quant": "contrib.quantization",
    "contrib.quantization": ("contrib.quantization",),
    "contrib.svrg_optimization": ("contrib.svrg_optimization",),
    "contrib.svrg_optimization.svrg_module": ("contrib.svrg_optimization", "contrib.svrg_optimization.svrg_module"),
    "contrib.svrg_optimization.svrg_optimizer": (
        "contrib.svrg_optimization", "contrib.svrg_optimization.svrg_optimizer",
    ),
    "contrib.sym": "contrib.symbol",
    "contrib.symbol": ("symbol:contrib",),
    "contrib.tensorboard": ("contrib.tensorboard",),
    "contrib.tensorrt": Absent("Export the network to ONNX, which TensorRT reads."),
    "contrib.text": ("contrib.text",),
    "contrib.text.embedding": ("contrib.text.embedding",),
    "contrib.text.utils": ("contrib.text.utils",),
    "contrib.text.vocab": ("contrib.text.vocab",),
    "engine": ("legacy.engine",),
    "error": ("errors",),
    "executor": ("executor",),
    "executor_manager": ("legacy.executor_manager",),
    "gluon": ("gluon",),
    "gluon.block": ("gluon.block", "gluon.parameter"),
    "gluon.nn": ("gluon.nn",),
    "gluon.nn.activations": ("gluon.nn.activations",),
    "gluon.nn.basic_layers": ("gluon.nn.basic_layers", "gluon.nn.activations"),
    "gluon.nn.conv_layers": ("gluon.nn.conv_layers", "gluon.nn"),
    "gluon.parameter": ("gluon.parameter",),
    "gluon.utils": ("gluon.utils",),
    **{f"gluon.{path}": (f"gluon.absent:{path}",) for path in _GLUON_BY_NAME.split()},
    "image": ("image",),
    "image.detection": ("image.detection", "image"),
    "image.det": "image.detection",
    "image.image": ("image",),
    "img": "image",
    "init": "initializer",
    "initializer": ("initializer",),
    "io": ("io",),
    "io.io": "io",
    "io.utils": ("legacy.io", "io"),
    "kv": "kvstore",
    "kvstore": ("kvstore",),
    "kvstore.base": ("kvstore", "kvstore.base"),
    "kvstore.kvstore": "kvstore",
    "kvstore.kvstore_server": "kvstore_server",
    "kvstore_server": Later("kvstore_server", _SERVER),
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
    "module.bucketing_module": ("module.bucketing_module", "module", "module.checks", "scope"),
    "module.executor_group": ("legacy.executor_group",),
    "module.module": ("module.module", "module.base_module", "module.checks", "model"),
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
    "ndarray.sparse_ndarray": "ndarray.sparse",
    "ndarray.utils": "ndarray",
    "ndarray_doc": Absent("The help of each function of mx.nd is made from its declaration."),
    "notebook": Absent("Use mx.viz.plot_history and mx.callback."),
    "np": _NUMPY,
    "np_symbol": _NUMPY,
    "npx": _NUMPY,
    "numpy": _NUMPY,
    "numpy_extension": _NUMPY,
    "onnx": ("onnx",),
    "onnx.mx2onnx": ("onnx",),
    "onnx.mx2onnx._export_model": ("onnx",),
    "operator": ("operator",),
    "optimizer": ("optimizer",),
    "optimizer.contrib": ("optimizer.contrib", "optimizer"),
    "optimizer.optimizer": "optimizer",
    "profiler": ("profiler",),
    "random": ("random",),
    "recordio": ("recordio",),
    "registry": ("registry",),
    "rnd": "random",
    "rnn": ("rnn",),
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
    "_ctypes": ("legacy.base",),
    "_ctypes.ndarray": ("ndarray",),
    "_ctypes.symbol": ("symbol",),
    "_cy3": C_API,
    "_ffi": C_API,
    "_ndarray_internal": "ndarray._internal",  # both from before 0.10
    "_symbol_internal": "symbol._internal",
}  # fmt: skip

# Names that MXNet's modules import from one another: `mxnet.model.cpu` and `mxnet.executor_manager.DataDesc` work.
# Those with a path are for this one only.
SHARED: dict[str, str] = {
    "AttrScope": "scope:AttrScope",
    "Context": "device:Context",
    "DataBatch": "io:DataBatch",
    "DataDesc": "io:DataDesc",
    "DataIter": "io:DataIter",
    "DataParallelExecutorGroup": "executor:DataParallelExecutorGroup",
    "Executor": "executor:Executor",
    "DataParallelExecutorManager": "legacy.executor_manager:DataParallelExecutorManager",
    "Features": "legacy.runtime:Features",
    "Initializer": "initializer:Initializer",
    "KVStore": "kvstore:KVStore",
    "LogValidationMetricsCallback": "callback:LogValidationMetricsCallback",
    "MXNetError": "errors:MXNetError",
    "Module": "module:Module",
    "InitDesc": "initializer:InitDesc",
    "InternalError": "legacy.base:InternalError",
    "NDArray": "ndarray:NDArray",
    "Symbol": "symbol:Symbol",
    "Uniform": "initializer:Uniform",
    "BaseSparseNDArray": "ndarray.sparse:BaseSparseNDArray",
    "CSRNDArray": "ndarray.sparse:CSRNDArray",
    "NotImplementedForSymbol": "errors:NotImplementedForSymbol",
    "NotSupportedForSparseNDArray": "errors:NotSupportedForSparseNDArray",
    "RowSparseNDArray": "ndarray.sparse:RowSparseNDArray",
    "_DTYPE_MX_TO_NP": "legacy.base:_DTYPE_MX_TO_NP",
    "_DTYPE_NP_TO_MX": "legacy.base:_DTYPE_NP_TO_MX",
    "_GRAD_REQ_MAP": "legacy.base:_GRAD_REQ_MAP",
    "_LIB": "legacy.base:_LIB",
    "_Null": "legacy.base:_Null",
    "_STORAGE_TYPE_CSR": "legacy.base:_STORAGE_TYPE_CSR",
    "_STORAGE_TYPE_DEFAULT": "legacy.base:_STORAGE_TYPE_DEFAULT",
    "_STORAGE_TYPE_ID_TO_STR": "legacy.base:_STORAGE_TYPE_ID_TO_STR",
    "_STORAGE_TYPE_ROW_SPARSE": "legacy.base:_STORAGE_TYPE_ROW_SPARSE",
    "_STORAGE_TYPE_STR_TO_ID": "legacy.base:_STORAGE_TYPE_STR_TO_ID",
    "_STORAGE_TYPE_UNDEFINED": "legacy.base:_STORAGE_TYPE_UNDEFINED",
    "_as_list": "legacy.base:_as_list",
    "_ctypes.ndarray.NDArrayBase": "ndarray.base:ArrayBase",
    "ndarray.op.CachedOp": "executor:CachedOp",
    "_ctypes.symbol.SymbolBase": "symbol.base:SymbolBase",
    "array": "ndarray:array",
    "basestring": "legacy.base:basestring",
    "c_str": "legacy.base:c_str",
    "callback.save_checkpoint": "model:save_checkpoint",
    "rnn.load_checkpoint": "model:load_checkpoint",
    "rnn.save_checkpoint": "model:save_checkpoint",
    "classproperty": "legacy.base:classproperty",
    "context": "legacy.context",
    "cpu": "device:cpu",
    "ctx": "legacy.context",
    "csr_matrix": "ndarray.sparse:csr_matrix",
    "current_context": "device:current_context",
    "get_updater": "optimizer:get_updater",
    "gpu": "device:gpu",
    "gs_retain": "ndarray.sparse:retain",
    "image.image._get_interp_method": "image.resizing:interpolation_method",
    "initializer.load": "ndarray:load",
    "integer_types": "legacy.base:integer_types",
    "is_np_array": "legacy.util:is_np_array",
    "is_np_shape": "legacy.util:is_np_shape",
    "io": "io",
    "kvs": "kvstore",
    "metric": "metric",
    "mx_float": "legacy.base:mx_float",
    "mx_int": "legacy.base:mx_int",
    "mx_int64": "legacy.base:mx_int64",
    "mx_real_t": "legacy.base:mx_real_t",
    "mx_uint": "legacy.base:mx_uint",
    "nd": "ndarray",
    "ndarray": "ndarray",
    "ndarray.contrib.uniform": "ndarray.random:uniform",
    "np_array": "legacy.util:np_array",
    "np_shape": "legacy.util:np_shape",
    "numeric_types": "legacy.base:numeric_types",
    "opt": "optimizer",
    "py_slice": "legacy.base:py_slice",
    "py_str": "legacy.base:py_str",
    "registry": "registry",
    "row_sparse_array": "ndarray.sparse:row_sparse_array",
    "set_np_shape": "legacy.util:set_np_shape",
    "sparse_array": "ndarray.sparse:array",
    "string_types": "legacy.base:string_types",
    "sym": "symbol",
    "symbol": "symbol",
    "symbol.contrib.uniform": "symbol.random:uniform",
    "test_utils.array": "ndarray:array",
    "use_np": "legacy.util:use_np",
    "use_np_array": "legacy.util:use_np_array",
    "use_np_shape": "legacy.util:use_np_shape",
    "with_metaclass": "legacy.base:with_metaclass",
}  # fmt: skip

_ITERATORS = "mx.io.NDArrayIter takes arrays, and `fit` any iterable of mx.io.DataBatch."
_FILES = "Load the data with NumPy, scikit-learn or torchvision; mx.io.NDArrayIter takes arrays."
_GLUON = "rebind has the part of gluon that makes symbols; train them with mx.mod.Module."

# Names that rebind does not have, by what to use instead. Programs import them and do not always use them: so they are
# there under every path, and say so when they are called, or made if they are classes.
_INSTEAD: dict[str, str] = {
    C_API.instead: """
        CachedOpHandle CudaKernelHandle CudaModuleHandle DLContext DLDataType DLManagedTensor DLPackHandle DLTensor
        DataIterCreatorHandle DataIterHandle ExecutorHandle FunctionHandle KVStoreHandle MXCallbackList NDArrayHandle
        OpHandle ProfileHandle RecordIOHandle RtcHandle SymbolHandle add_fileline_to_docstring build_param_doc c2pyerror
        c_array c_array_buf c_handle_array c_str_array check_call ctypes2buffer ctypes2numpy_shared find_conf_path
        find_include_path get_last_ffi_error mx_float_p register_error set_kvstore_handle _init_op_module _load_lib
        error.register _new_alloc_handle _new_empty_handle _new_from_shared_mem _notify_shutdown
    """,
    _ITERATORS: """
        MXDataIter
    """,
    _FILES: """
        get_im2rec_path
    """,
    _GLUON: "check_gluon_hybridize_consistency convert_hybrid_block np_symbol",
    _NUMPY.instead: "np_ufunc_legal_option wrap_np_binary_func wrap_np_unary_func",
    "Graphs of nodes and edges are what PyTorch Geometric and DGL are for.": """
        dgl_adjacency dgl_csr_neighbor_non_uniform_sample dgl_csr_neighbor_uniform_sample dgl_graph_compact dgl_subgraph
    """,
    "Gradients come from autograd, or from Executor.backward.": """
        backward_gradientmultiplier backward_hawkesll backward_index_copy backward_quadratic
    """,
    "NDArray.__getitem__ does it.": """
        get_indexing_dispatch_code get_oshape_of_gather_nd_op indexing_key_expand_implicit_axes
    """,
    "Use broadcast_mul(lhs, mask.reshape((-1, 1))).": "element_mask",
    _SERVER: "KVStoreServer",
    "Use assert_almost_equal.": "checkShapes locationError",
    "Use torch.cuda.get_device_capability.": "get_cuda_compute_capability",
}
BY_NAME: dict[str, str] = {name: instead for instead, names in _INSTEAD.items() for name in names.split()}


def legacy_module(path: str) -> str | None:
    """Return which module of `legacy` MXNet's `path` is; None for one that does not exist for old programs only.

    >>> legacy_module("base"), legacy_module("ndarray")
    ('legacy.base', None)
    """
    row = TABLE.get(path)
    return row[0] if isinstance(row, tuple) and row[0].startswith("legacy.") else None
