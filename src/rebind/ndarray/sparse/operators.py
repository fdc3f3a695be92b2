"""The operators of `nd.sparse`: those whose names begin with ``_sparse_``."""

from ...ops.frontend import make_namespace
from ..functions import make_function

#: In the stub these are functions with signatures (``make stubs``).
FUNCTIONS = make_namespace("sparse", make_function)
__all__ = [*FUNCTIONS]
__getattr__, __dir__ = FUNCTIONS.attributes(globals())
