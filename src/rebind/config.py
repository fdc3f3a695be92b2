"""Environment options: name, default and meaning. Nothing else in rebind reads them.

What launchers tell a process about its job is read in `rebind.distributed.environment`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .errors import ParameterError

__all__ = ["OPTIONS", "Option", "get"]

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
            "0: on a GPU nothing of float32 is rounded to TF32; below 0, the default: as PyTorch is set.",
        ),
        Option(
            "MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION",
            int,
            -1,
            "1: on a GPU products of float32 arrays may be rounded to TF32; below 0, the default: as PyTorch is set.",
        ),
        Option(
            "MXNET_CUDNN_AUTOTUNE_DEFAULT",
            int,
            -1,
            "1 or 2: on a GPU convolutions are timed in several ways for each shape, 0: they are not; below 0, the "
            "default: as PyTorch is set.",
        ),
        Option(
            "MXNET_ENFORCE_DETERMINISM",
            int,
            0,
            "1: on a GPU convolutions are computed in ways only that give the same results each time.",
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
            "How many elements make an array big. With kvstore='local' on several devices, gradients are summed and "
            "each device updates, instead of the store, when a parameter has more (without it, 16 Mi). Smaller ones "
            "are not divided over the workers of 'dist_sync' (without it, all are), nor over servers (4096).",
        ),
        Option(
            "MXNET_OPTIMIZER_AGGREGATION_SIZE",
            int,
            -1,
            "How many weights at a time the methods get that a program overrides in SGD, LARS and LAMB; 0: one, "
            "without a tuple; below 0, the default: 4, and 45 for LAMB. Where nothing is overridden all weights of one "
            "kind go together.",
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
