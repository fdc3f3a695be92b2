"""NumPy's functions, and Python's conversions to numbers, on symbols: errors that say which operator to use.

What NumPy does by the symbol's own method (``np.sum(x)``), or by Python's operators (``np.float32(2) * x``), works.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from ..errors import MXNetError, NotImplementedForSymbol
from ..ops import OPERATORS
from .arithmetic import BINARY, combine
from .base import SymbolBase

__all__ = ["NumpyCalls"]

#: NumPy's universal functions that Python's operators stand for.
_AS_OPERATORS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "true_divide": "truediv",
    "remainder": "mod", "power": "pow", "equal": "eq", "not_equal": "ne", "greater": "gt", "greater_equal": "ge",
    "less": "lt", "less_equal": "le",
}  # fmt: skip

#: A comparison with its sides exchanged.
_EXCHANGED = {"eq": "eq", "ne": "ne", "gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}

#: Operators for functions of NumPy that have another name.
_OTHER_NAMES = {
    "absolute": "abs", "amax": "max", "amin": "min", "array_split": "split", "concatenate": "concat",
    "hstack": "concat", "matmul": "dot", "vstack": "concat",
}  # fmt: skip


class NumpyCalls(SymbolBase):
    """What NumPy and Python ask of numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import rebind as mx
    >>> np.exp(mx.sym.var("x"))
    Traceback (most recent call last):
    rebind.errors.NotImplementedForSymbol: numpy.exp: a symbol has no numbers before it is bound; got 'x'. Use ...
    """

    __slots__ = ()

    def __array_ufunc__(
        self, ufunc: Callable[..., object], method: str, *inputs: Any, **kwargs: object
    ) -> object:
        name = ufunc.__name__
        if name in _AS_OPERATORS and method == "__call__" and not kwargs:
            # NumPy hands its numbers as arrays without axes to some.
            left, right = (
                each[()] if isinstance(each, np.ndarray) and not each.ndim else each for each in inputs
            )
            wanted = _AS_OPERATORS[name]
            found = combine(BINARY[wanted], left, right)
            if found is NotImplemented and wanted in _EXCHANGED:
                found = combine(BINARY[_EXCHANGED[wanted]], right, left)
            if found is not NotImplemented:
                return found
        self._has_no_numbers(f"numpy.{name}", name)

    def __array_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object],
        kwargs: Mapping[str, object],
    ) -> object:
        # What NumPy runs without this protocol: it asks for the method of that name.
        plain = getattr(func, "_implementation", None)
        try:
            if plain is not None:
                return plain(*args, **kwargs)
        except (MXNetError, TypeError, ValueError, AttributeError):
            pass
        self._has_no_numbers(f"numpy.{func.__name__}", func.__name__)

    def __array__(self, *args: object, **kwargs: object) -> NoReturn:
        self._has_no_numbers("numpy.asarray")

    def __float__(self) -> NoReturn:
        self._has_no_numbers("float")

    def __int__(self) -> NoReturn:
        self._has_no_numbers("int")

    def __round__(self, digits: int = 0) -> NoReturn:
        self._has_no_numbers("round", "round")

    def _has_no_numbers(self, who: str, function: str = "") -> NoReturn:
        operator = _OTHER_NAMES.get(function, function)
        known = operator in OPERATORS or operator in ("maximum", "minimum")
        instead = (
            f"Use mx.sym.{operator} in the network" if known else "Use operators of mx.sym in the network"
        )
        raise NotImplementedForSymbol(
            f"{who}: a symbol has no numbers before it is bound; got {self.name or 'a group'!r}. {instead}, or bind it "
            "(simple_bind, bind), run forward() and take the outputs."
        )
