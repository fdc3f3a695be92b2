"""Networks: `mx.sym`. Functions for all operators are made from the table of operators (`ops`)."""

from types import SimpleNamespace

from ..ops.frontend import make_functions, make_namespaces
from . import control_flow, random, updates
from .creation import (
    arange,
    eye,
    full,
    histogram,
    hypot,
    linspace,
    maximum,
    minimum,
    ones,
    pow,
    power,
    split_v2,
    zeros,
)  # fmt: skip
from .functions import make_function
from .symbol import Group, Symbol, Variable, fromjson, load, load_json, var

__all__ = [
    "Group", "Symbol", "Variable", "arange", "eye", "fromjson", "full", "histogram", "hypot", "linspace", "load",
    "load_json", "maximum", "minimum", "ones", "pow", "power", "random", "split_v2", "var", "zeros",
]  # fmt: skip

_functions = make_functions(make_function)
# The operators whose names begin with an underscore, and all others: ``sym._internal._plus_scalar``.
_internal = SimpleNamespace(**_functions)
_public = {name: function for name, function in _functions.items() if name not in __all__}
_public |= make_namespaces(make_function)  # type: ignore[arg-type]
for _function in (
    control_flow.cond, control_flow.foreach, control_flow.while_loop, random.rand_zipfian,
    updates.adamw_update, updates.mp_adamw_update,
):  # fmt: skip
    setattr(_public["contrib"], _function.__name__, _function)
globals().update(_public)
op = SimpleNamespace(**_public)
__all__ += [name for name in _public if not name.startswith("_")]
