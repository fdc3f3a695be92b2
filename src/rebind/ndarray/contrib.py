"""`nd.contrib`: the operators whose names begin with ``_contrib_``, and functions written by hand."""

from ..ops.frontend import make_namespace
from .arithmetic import isfinite, isinf, isnan
from .control_flow import cond, foreach, while_loop
from .functions import make_function
from .random import rand_zipfian
from .updates import (
    adamw_update,
    mp_adamw_update,
    multi_adamw_update,
    multi_lamb_update,
    multi_mp_adamw_update,
    multi_mp_lamb_update,
)

__all__ = [
    "adamw_update",
    "cond",
    "foreach",
    "isfinite",
    "isinf",
    "isnan",
    "mp_adamw_update",
    "multi_adamw_update",
    "multi_lamb_update",
    "multi_mp_adamw_update",
    "multi_mp_lamb_update",
    "rand_zipfian",
    "while_loop",
]

#: In the stub these are functions with signatures (``make stubs``).
FUNCTIONS = make_namespace("contrib", make_function)
__all__ += [name for name in FUNCTIONS if name not in __all__]
# Asked for what is not above: what is written by hand stands.
__getattr__, __dir__ = FUNCTIONS.attributes(globals())
