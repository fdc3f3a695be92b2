"""What operators compute: functions from tensors to tensors, one declaration each.

This package sees torch and the ground only; `nd.X` and `sym.X` are made from its table `OPERATORS`.
"""

from . import (
    contrib,
    control_flow,
    creation,
    custom,
    elementwise,
    histogram,
    image,
    indexing,
    joining,
    linalg,
    loss,
    matmul,
    nn,
    opencv,
    ordering,
    patches,
    pdf,
    quantization,
    reduce,
    regions,
    regularization,
    reset,
    reshape,
    sampler,
    sampling,
    sequence,
    slicing,
    sparse,
    spatial,
    storage,
    unary,
    update,
)
from .failures import explain, misfit
from .spec import (
    OPERATORS,
    Function,
    Inference,
    Input,
    Kernels,
    Operator,
    Record,
    Shapes,
    Signature,
    Types,
    TypeSlot,
    TypeSlots,
    all_operators,
    find,
    operator,
)

__all__ = [
    "OPERATORS", "Function", "Inference", "Input", "Kernels", "Operator", "Record", "Shapes", "Signature",
    "TypeSlot", "TypeSlots", "Types", "all_operators", "contrib", "control_flow", "creation", "custom",
    "elementwise", "explain", "find", "histogram", "image", "indexing", "joining", "linalg", "loss", "matmul",
    "misfit", "nn", "opencv", "operator", "ordering", "patches", "pdf", "quantization", "reduce", "regions",
    "regularization", "reset", "reshape", "sampler", "sampling", "sequence", "slicing", "sparse", "spatial",
    "storage", "unary", "update",
]  # fmt: skip
