"""Operators that users write in Python: `CustomOp`, `CustomOpProp`, `register`.

A `CustomOpProp` declares what an operator takes and returns; a `CustomOp`, which it creates, computes. Once registered
it is ``mx.sym.Custom(..., op_type=name)`` in a symbol and ``mx.nd.Custom`` on arrays. It runs in the caller's own
thread, where its turn comes: it cannot wait for anything that waits for it.
"""

import typing as _typing

from ..absent import old_names as _old_names
from .custom_op import CustomOp, CustomOpProp
from .listing import OperatorArguments, get_all_registered_operators, get_operator_arguments
from .python_op import NDArrayOp, NumpyOp, PythonOp
from .registration import register

__all__ = [
    "CustomOp", "CustomOpProp", "NDArrayOp", "NumpyOp", "OperatorArguments", "PythonOp", "get_all_registered_operators",
    "get_operator_arguments", "register",
]  # fmt: skip

if not _typing.TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = _old_names(__name__)
