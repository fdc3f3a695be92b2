"""Environment options: name, default and meaning. Nothing else in rebind reads them.

What launchers tell a process about its job is read in `rebind.distributed.environment`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .errors import ParameterError, near_names

__all__ = ["OPTIONS", "WITHOUT_EFFECT", "Option", "get", "why_without_effect"]

T = TypeVar("T")


@dataclass(frozen=True)
class Option(Generic[T]):
    """One environment variable: how its text is parsed, its default, and what it means."""

    name: str
    parse: Callable[[str], T]
    default: T
    meaning: str


OPTIONS: dict[str, Option] = {
    option.name: option
    for option in (
        Option(
            "MXNET_BACKWARD_DO_MIRROR",
            int,
            0,
            "1: training keeps fewer results for backward, which computes them again; see Symbol.bind.",
        ),
        Option(
            "MXNET_CUDA_ALLOW_TENSOR_CORE",
            int,
            -1,
            "0: GPUs compute float32 in full precision, without TF32; below 0, the default: as PyTorch is set.",
        ),
        Option(
            "MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION",
            int,
            -1,
            "1: GPUs may use TF32 for products of float32 arrays; below 0, the default: as PyTorch is set.",
        ),
        Option(
            "MXNET_CUDNN_AUTOTUNE_DEFAULT",
            int,
            -1,
            "1 or 2: cuDNN measures which algorithm is the fastest for convolutions of each shape, 0: it does not; "
            "below 0, the default: as PyTorch is set.",
        ),
        Option(
            "MXNET_ENFORCE_DETERMINISM",
            int,
            0,
            "1: convolutions on a GPU use deterministic algorithms only.",
        ),
        Option(
            "MXNET_HOME",
            str,
            "",
            "The folder for downloaded data, `mx.base.data_dir()`; ~/.mxnet without it.",
        ),
        Option(
            "MXNET_KVSTORE_BIGARRAY_BOUND",
            int,
            0,
            "From how many elements an array counts as big. With kvstore='local' on several devices, gradients are "
            "summed and each device updates, instead of the store, when a parameter has more (without it, 16 Mi). "
            "Smaller ones are not divided over the workers of 'dist_sync' (without it, all are), nor over servers "
            "(4096).",
        ),
        Option(
            "MXNET_OPTIMIZER_AGGREGATION_SIZE",
            int,
            -1,
            "How many weights are passed at a time to the methods that a program overrides in SGD, LARS and LAMB; 0: "
            "one, not in a tuple; below 0, the default: 4, and 45 for LAMB. Where nothing is overridden all weights of "
            "one kind go together.",
        ),
        Option(
            "MXNET_PROFILER_AUTOSTART",
            int,
            0,
            "1: the profiler runs from the import on, and writes profile.json at the end.",
        ),
        Option(
            "MXNET_PROFILER_MODE",
            int,
            0,
            "With MXNET_PROFILER_AUTOSTART, 0: operators of graphs only are recorded, 1: all kinds.",
        ),
        Option(
            "MXNET_UPDATE_ON_KVSTORE",
            int,
            1,
            "0: stores only sum gradients, and each device of each worker updates its weights.",
        ),
        Option(
            "REBIND_BACKEND",
            str,
            "default",
            "The backend of networks that are bound without one, such as 'inductor' or 'openvino'; see Symbol.bind.",
        ),
        Option(
            "REBIND_CHECK_GRAPHS",
            int,
            0,
            "1 checks after each pass that the graph is well-formed. The tests set it.",
        ),
        Option(
            "MXNET_STORAGE_FALLBACK_LOG_VERBOSE",
            int,
            1,
            "Whether an operator without a kernel for the storage types of its inputs logs, once, that it is computed "
            "on dense copies; 0: no.",
        ),
        Option(
            "REBIND_PRIVATE_TORCH",
            int,
            1,
            "0, before rebind is imported: PyTorch's documented functions alone are used; slower, the same numbers.",
        ),
        Option(
            "REBIND_TIMEOUT",
            float,
            300.0,
            "How many seconds the workers of a job wait for each other before it is an error.",
        ),
        Option(
            "REBIND_KEPT_NUMBERS",
            int,
            128,
            "How many MB of a text file's numbers `CSVIter` and `LibSVMIter` keep for the next epochs, which need not "
            "parse that part of the file again; 0: none, as in MXNet.",
        ),
        Option(
            "REBIND_MAPPED_FILES",
            int,
            1,
            "Whether nd.load maps the numbers of large arrays into memory: they are read from the file when they are "
            "first used. Such a file must not be overwritten in place while its arrays are in use; 0: all is read.",
        ),
        Option(
            "REBIND_SIGN_TIMEOUT",
            float,
            30.0,
            "How many seconds a worker that others wait for may give no sign of life before it is an error; "
            "REBIND_TIMEOUT at most.",
        ),
        Option(
            "REBIND_LOG_WORKERS",
            str,
            "first",
            "Which workers of a job log the figures of a training run: 'first', worker 0 for all; or 'all'.",
        ),
        Option(
            "REBIND_STALENESS",
            int,
            -1,
            "With kvstore='dist_async': how many pushes of a key a worker may be ahead of the slowest one before it "
            "waits; below 0, which is the default, any number, as in MXNet.",
        ),
        Option(
            "REBIND_UPDATE_EVERY",
            int,
            1,
            "With kvstore='dist_sync': after how many updates of its own weights a worker averages them with the "
            "others; 1: each update is by the gradients of all.",
        ),
        Option(
            "REBIND_OUTER_MOMENTUM",
            float,
            0.0,
            "With REBIND_UPDATE_EVERY: the momentum by which the weights follow the average, as in DiLoCo, where it is "
            "0.9; 0: they are the average.",
        ),
        Option(
            "REBIND_TUNE",
            int,
            0,
            "1: `import rebind` calls `rebind.tune()`, before PyTorch is loaded. `rebind run` and `rebind launch` set "
            "it for the programs that they start, unless it is set.",
        ),
        Option(
            "REBIND_PROGRESS",
            str,
            "auto",
            "What Module.fit shows: 'auto' shows it in a terminal or a notebook only, 'on' always, 'off' never.",
        ),
    )
}

_THREADS = "PyTorch has the threads: OMP_NUM_THREADS or torch.set_num_threads sets how many"
_GPU_MEMORY = "PyTorch manages a GPU's memory: see its PYTORCH_ALLOC_CONF"
_LOWERED = "a network is always lowered as a whole"
_ONEDNN = "PyTorch uses oneDNN by itself; torch.backends.mkldnn.flags turns it off"
_LOGS = "nothing is logged of it"
_SUMS = "PyTorch sums over devices and workers"
_C_LIBRARY = "there is no library of MXNet's to load"

#: Variables that MXNet's documentation has and rebind does not, with what is to be known instead.
WITHOUT_EFFECT: dict[str, str] = {
    f"MXNET_{name}": reason
    for reason, names in {
        _THREADS: "GPU_WORKER_NTHREADS GPU_COPY_NTHREADS GPU_WORKER_NSTREAMS CPU_WORKER_NTHREADS CPU_PRIORITY_NTHREADS "
        "CPU_NNPACK_NTHREADS OMP_MAX_THREADS KVSTORE_REDUCTION_NTHREADS USE_OPERATOR_TUNING "
        "USE_NUM_CORES_OPERATOR_TUNING CPU_PARALLEL_SIZE CPU_PARALLEL_COPY_SIZE",
        "a process that is forked computes in one thread": "MP_WORKER_NTHREADS MP_OPENCV_NUM_THREADS",
        _GPU_MEMORY: "GPU_MEM_POOL_TYPE GPU_MEM_POOL_RESERVE GPU_MEM_POOL_ROUND_LINEAR_CUTOFF "
        "GPU_MEM_LARGE_ALLOC_ROUND_SIZE EXEC_NUM_TEMP EXEC_ENABLE_INPLACE EXEC_INPLACE_GRAD_SUM_CAP",
        "an operator that fails raises its error at once, as with NaiveEngine": "ENGINE_TYPE ENGINE_INFO",
        _LOWERED: "EXEC_BULK_EXEC_INFERENCE EXEC_BULK_EXEC_TRAIN EXEC_BULK_EXEC_MAX_NODE_TRAIN "
        "EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD ELIMINATE_COMMON_EXPR USE_FUSION",
        "REBIND_BACKEND names the backend": "SUBGRAPH_BACKEND",
        _ONEDNN: "MKLDNN_ENABLED MKLDNN_CACHE_NUM USE_MKLDNN_RNN "
        "DISABLE_MKLDNN_CONV_OPT DISABLE_MKLDNN_FC_OPT",
        _LOGS: "EXEC_VERBOSE_LOGGING INFER_STORAGE_TYPE_VERBOSE_LOGGING SUBGRAPH_VERBOSE KVSTORE_LOGTREE "
        "FUSION_VERBOSE",
        _SUMS: "KVSTORE_USETREE KVSTORE_TREE_ARRAY_BOUND KVSTORE_TREE_BACKTRACK KVSTORE_TREE_LINK_USAGE_PENALTY "
        "ENABLE_GPU_P2P",
        "PyTorch sums float16 in float32": "SAFE_ACCUMULATION",
        "PyTorch draws the random numbers": "CPU_PARALLEL_RAND_COPY GPU_PARALLEL_RAND_COPY "
        "GPU_CUDNN_DROPOUT_STATE_COPY",
        "PyTorch has the scratch memory of operators": "CPU_TEMP_COPY GPU_TEMP_COPY RNN_USE_WEIGHT_CACHE",
        "nothing is downloaded: files must be there": "GLUON_REPO",
        _C_LIBRARY: "LIBRARY_PATH ENABLE_CYTHON ENFORCE_CYTHON CUDA_LIB_CHECKING CUDNN_LIB_CHECKING",
    }.items()
    for name in names.split()
} | {
    "NNVM_EXEC_MATCH_RANGE": "PyTorch has the memory of results",
    "DMLC_LOG_STACK_TRACE_DEPTH": "an error has the whole traceback of Python",
    "PS_VERBOSE": "TORCH_DISTRIBUTED_DEBUG=DETAIL has PyTorch log its messages",
    **dict.fromkeys(("PS_RESEND", "PS_RESEND_TIMEOUT"), "TCP sends again what was lost"),
}


def why_without_effect(name: str) -> str:
    """Return why a variable of MXNet's, or one that begins with ``MXNET_``, changes nothing here; '' of any other.

    >>> why_without_effect("MXNET_ENGINE_TYPE")
    'MXNET_ENGINE_TYPE has no effect here: an operator that fails raises its error at once, as with NaiveEngine'
    >>> why_without_effect("MXNET_HOM")
    "MXNET_HOM has no effect: rebind has no such variable; did you mean 'MXNET_HOME'?"
    >>> why_without_effect("MXNET_HOME"), why_without_effect("HOME")
    ('', '')
    """
    if name in WITHOUT_EFFECT:
        return f"{name} has no effect here: {WITHOUT_EFFECT[name]}"
    if name in OPTIONS or not name.startswith("MXNET_"):
        return ""
    near = near_names(name, [*OPTIONS, *WITHOUT_EFFECT]).removesuffix(".")
    return f"{name} has no effect: rebind has no such variable{near}"


def get(name: str) -> Any:
    """Return the value of option `name`: that of the environment, or else its default.

    >>> import rebind as mx
    >>> with mx.test_utils.environment("REBIND_CHECK_GRAPHS", "1"):
    ...     get("REBIND_CHECK_GRAPHS")
    1
    """
    option = OPTIONS[name]
    # Read at each call: a program may set it after the import.
    text = os.environ.get(name)
    if text is None:
        return option.default
    try:
        return option.parse(text)
    except ValueError:
        raise ParameterError(
            f"environment variable {name}: must be of type {option.parse.__name__}; got {text!r}"
        ) from None
