"""A function on symbols for each operator, under each of its names: ``sym._internal``, and most of `sym`.

They are made from the declarations in `ops`, each when it is first used. Their signatures, for type checkers and
editors, are in ``generated.pyi``, which ``make stubs`` writes.
"""

from ..ops.frontend import make_functions
from .functions import make_function

FUNCTIONS = make_functions(make_function)
__all__ = [*FUNCTIONS]
__getattr__, __dir__ = FUNCTIONS.attributes(globals())
