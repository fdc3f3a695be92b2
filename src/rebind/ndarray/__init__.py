"""Arrays: `mx.nd`. Functions for all operators are made from the table of operators (`ops`)."""

from types import SimpleNamespace

from ..ops.frontend import make_functions, make_namespaces
from . import control_flow, pairs, random, updates
from .creation import (
    arange,
    concatenate,
    empty,
    eye,
    from_dlpack,
    from_numpy,
    from_torch,
    full,
    histogram,
    imdecode,
    linspace,
    moveaxis,
    onehot_encode,
    ones,
    split_v2,
    to_dlpack_for_read,
    to_dlpack_for_write,
    waitall,
    zeros,
)  # fmt: skip
from .functions import make_function
from .ndarray import NDArray, array, invoke
from .pairs import (
    add,
    divide,
    equal,
    greater,
    greater_equal,
    lesser,
    lesser_equal,
    logical_and,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    modulo,
    multiply,
    not_equal,
    power,
    subtract,
    true_divide,
)  # fmt: skip
from .serialization import load, load_frombuffer, save

__all__ = [
    "NDArray", "add", "arange", "array", "concatenate", "divide", "empty", "equal", "eye", "from_dlpack",
    "from_numpy", "from_torch", "full", "greater", "greater_equal", "histogram", "imdecode", "invoke",
    "lesser", "lesser_equal", "linspace", "load", "load_frombuffer", "logical_and", "logical_or",
    "logical_xor", "maximum", "minimum", "modulo", "moveaxis", "multiply", "not_equal", "onehot_encode",
    "ones", "power", "random", "save", "split_v2", "subtract", "to_dlpack_for_read", "to_dlpack_for_write",
    "true_divide", "waitall", "zeros",
]  # fmt: skip

_functions = make_functions(make_function)
# The operators whose names begin with an underscore, and all others: ``nd._internal._plus_scalar``.
_internal = SimpleNamespace(**_functions)
_public = {name: function for name, function in _functions.items() if name not in __all__}
_public |= make_namespaces(make_function)  # type: ignore[arg-type]
for _function in (
    control_flow.cond, control_flow.foreach, control_flow.while_loop, pairs.isfinite, pairs.isinf, pairs.isnan,
    random.rand_zipfian,
    updates.adamw_update, updates.mp_adamw_update, updates.multi_adamw_update, updates.multi_lamb_update,
    updates.multi_mp_adamw_update, updates.multi_mp_lamb_update,
):  # fmt: skip
    setattr(_public["contrib"], _function.__name__, _function)
globals().update(_public)
op = SimpleNamespace(**_public)
__all__ += [name for name in _public if not name.startswith("_")]
