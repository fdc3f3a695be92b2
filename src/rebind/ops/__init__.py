"""What operators compute: functions from tensors to tensors, one declaration each.

This package sees torch and the ground only; `nd.X` and `sym.X` are made from its table `OPERATORS`.
"""

from . import (
    contrib,
    creation,
    custom,
    elementwise,
    indexing,
    joining,
    linalg,
    loss,
    matmul,
    nn,
    ordering,
    reduce,
    reshape,
    sampling,
    sequence,
    slicing,
    sparse,
    unary,
)
from ._misfit import misfit
from ._spec import OPERATORS, Operator, all_operators, find, operator

__all__ = [
    "OPERATORS", "Operator", "all_operators", "contrib", "creation", "custom", "elementwise", "find", "indexing",
    "joining", "linalg", "loss", "matmul", "misfit", "nn", "operator", "ordering", "reduce", "reshape", "sampling",
    "sequence", "slicing", "sparse", "unary",
]  # fmt: skip
