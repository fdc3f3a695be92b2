"""Arrays: `mx.nd`. Functions for all operators are made from the table of operators (`ops`)."""

from types import SimpleNamespace

from ..ops.frontend import make_functions, make_namespaces
from . import random
from .creation import (
    add,
    arange,
    concatenate,
    divide,
    empty,
    equal,
    eye,
    from_dlpack,
    from_numpy,
    from_torch,
    full,
    greater,
    greater_equal,
    lesser,
    lesser_equal,
    linspace,
    logical_and,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    modulo,
    moveaxis,
    multiply,
    not_equal,
    onehot_encode,
    ones,
    power,
    split_v2,
    subtract,
    to_dlpack_for_read,
    to_dlpack_for_write,
    true_divide,
    waitall,
    zeros,
)  # fmt: skip
from .functions import make_function
from .ndarray import NDArray, array, invoke
from .serialization import load, load_frombuffer, save

__all__ = [
    "NDArray", "add", "arange", "array", "concatenate", "divide", "empty", "equal", "eye", "from_dlpack",
    "from_numpy", "from_torch", "full", "greater", "greater_equal", "invoke", "lesser", "lesser_equal", "linspace",
    "load", "load_frombuffer", "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "modulo", "moveaxis",
    "multiply", "not_equal", "onehot_encode", "ones", "power", "random", "save", "split_v2", "subtract",
    "to_dlpack_for_read", "to_dlpack_for_write", "true_divide", "waitall", "zeros",
]  # fmt: skip

_functions = make_functions(make_function)
# The operators whose names begin with an underscore, and all others: ``nd._internal._plus_scalar``.
_internal = SimpleNamespace(**_functions)
_public = {name: function for name, function in _functions.items() if name not in __all__}
_public |= make_namespaces(make_function)  # type: ignore[arg-type]
globals().update(_public)
op = SimpleNamespace(**_public)
__all__ += [name for name in _public if not name.startswith("_")]
