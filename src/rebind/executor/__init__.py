"""How a network runs: lowering to straight-line code, executors, data-parallel groups of them."""

import typing as _typing

from ..first_use import OnFirstUse as _OnFirstUse
from ..graph import Target
from .allocate import ArraySpec, SharedArgumentError, Sharing, allocate
from .arguments import Arrays, GradReq, GradReqs, arrays_by_name, read_grad_req
from .backward import Backward, Record
from .bind import bind, simple_bind
from .cached_op import CachedOp
from .executor import Executor
from .gradient_flow import head_gradient_reaches
from .holder import run_as
from .joint_update import Update
from .lower import Plan, lower
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
    "Update",
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
    "run_as",
    "simple_bind",
    "split_batch",
]

if _typing.TYPE_CHECKING:
    from .group import DataParallelExecutorGroup as DataParallelExecutorGroup
    from .group import batch_axis as batch_axis
    from .group import join as join
    from .group import split_batch as split_batch
else:  # a symbol is bound without
    __getattr__, __dir__ = _OnFirstUse.from_modules(
        __name__, dict.fromkeys(("DataParallelExecutorGroup", "batch_axis", "join", "split_batch"), "group")
    ).attributes(globals())
