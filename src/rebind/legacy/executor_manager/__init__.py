"""`mx.executor_manager`: data parallelism step by step, for programs that are older than `Module`.

A `DataParallelExecutorManager` binds one network on several devices, each with its slice of a batch, and leaves the
update to the caller, who reads `param_arrays` and `grad_arrays`. The work is done by the modules of
`rebind.executor.group`: `split`, `routing`, `replicas` and `outputs`; here are MXNet's names for it, and what it
promises under them. The names that begin with an underscore are here because programs import them.
"""

from typing import TYPE_CHECKING

from ...absent import old_names
from ...executor import split_batch as _split_input_slice
from .binding import _bind_exec, _check_arguments
from .group import DataParallelExecutorGroup
from .loading import _load_data, _load_general, _load_label
from .manager import DataParallelExecutorManager

__all__ = [
    "DataParallelExecutorGroup",
    "DataParallelExecutorManager",
    "_bind_exec",
    "_check_arguments",
    "_load_data",
    "_load_general",
    "_load_label",
    "_split_input_slice",
]

if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
