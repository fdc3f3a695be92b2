"""How a network runs: lowering to straight-line code, executors, data-parallel groups of them."""

from .allocate import ArraySpec, Sharing, allocate
from .arguments import arrays_by_name, read_grad_req
from .executor import Executor
from .group import DataParallelExecutorGroup
from .lower import Plan, lower
from .split import batch_axis, join, split_batch

__all__ = [
    "ArraySpec",
    "DataParallelExecutorGroup",
    "Executor",
    "Plan",
    "Sharing",
    "allocate",
    "arrays_by_name",
    "batch_axis",
    "join",
    "lower",
    "read_grad_req",
    "split_batch",
]
