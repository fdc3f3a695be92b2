"""How a network runs: lowering to straight-line code, executors, data-parallel groups of them."""

from ..graph import Target
from .allocate import ArraySpec, SharedArgumentError, Sharing, allocate
from .arguments import Arrays, GradReq, GradReqs, arrays_by_name, read_grad_req
from .backward import Backward, Record
from .bind import bind, simple_bind
from .cached_op import CachedOp
from .executor import Executor
from .group import DataParallelExecutorGroup, batch_axis, join, split_batch
from .lower import Plan, head_gradient_reaches, lower
from .step import Step, compiled, make_step

__all__ = [
    "ArraySpec",
    "Arrays",
    "Backward",
    "CachedOp",
    "DataParallelExecutorGroup",
    "Executor",
    "GradReq",
    "GradReqs",
    "Plan",
    "Record",
    "SharedArgumentError",
    "Sharing",
    "Step",
    "Target",
    "allocate",
    "arrays_by_name",
    "batch_axis",
    "bind",
    "compiled",
    "head_gradient_reaches",
    "join",
    "lower",
    "make_step",
    "read_grad_req",
    "simple_bind",
    "split_batch",
]
