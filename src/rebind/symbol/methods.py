"""Operators as methods of symbols: ``x + y``, ``x.sum(axis=1)``, and errors for what only arrays can do.

The methods that are made from the table of operators are declared in ``fluent.pyi``, which `make stubs` writes.
"""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable, Mapping, Sequence
from types import NotImplementedType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from ..dtypes import DTypeLike
from ..errors import ArgumentError, MXNetError, NotImplementedForSymbol
from ..ops import OPERATORS, Operator, find
from ..ops.frontend import split_parameters
from ..ops.methods import FLUENT_METHODS
from ..ops.python_operators import PYTHON_OPERATORS, BinaryNames, binary_methods
from .base import SymbolBase
from .composition import apply
from .fluent import FluentMethods

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["BINARY", "Operand", "OperatorMethods", "combine"]

#: What can be on either side of a binary operator.
Operand: TypeAlias = "SymbolBase | float | np.number | np.bool_ | np.ndarray"

#: The names of operators by the name in Python's method, such as ``add``.
BINARY = {name: names.symbols for name, names in PYTHON_OPERATORS.items()}


def combine(names: BinaryNames, left: Operand, right: Operand) -> SymbolBase | NotImplementedType:
    """Apply a binary operator to two symbols, or to a symbol and a number; NotImplemented for anything else.

    >>> import rebind as mx
    >>> combine(BINARY["sub"], 1, mx.sym.var("x")).list_arguments()
    ['x']
    """
    if isinstance(left, SymbolBase) and isinstance(right, SymbolBase):
        return left.symbol_class(apply(find(names.pair), names.pair.lower(), (left, right), {}))
    name = names.scalar if isinstance(left, SymbolBase) else names.reverse
    symbol, number = (left, right) if isinstance(left, SymbolBase) else (right, left)
    if isinstance(number, np.ndarray):
        raise ArgumentError(
            "Symbol: arithmetic takes symbols and numbers; got a NumPy array. Make it an input: sym.var()"
        )
    if isinstance(number, (bool, np.bool_)):
        number = int(number)  # MXNet's files know no other numbers
    if (
        not isinstance(number, (numbers.Number, np.number))
        or not isinstance(symbol, SymbolBase)
        or name is None
    ):
        return NotImplemented
    return symbol.symbol_class(apply(find(name), name.lower(), (symbol,), {"scalar": number}))


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


class OperatorMethods(FluentMethods):
    """Python's operators, operators as methods, and what NumPy and Python ask of numbers.

    What NumPy does by the symbol's own method (``np.sum(x)``), or by Python's operators (``np.float32(2) * x``), works.

    Examples
    --------
    >>> import numpy as np
    >>> import rebind as mx
    >>> np.exp(mx.sym.var("x"))
    Traceback (most recent call last):
    rebind.errors.NotImplementedForSymbol: numpy.exp: a symbol has no numbers before it is bound; got 'x'. Use ...
    >>> mx.sym.var("x").asnumpy()
    Traceback (most recent call last):
    rebind.errors.NotImplementedForSymbol: Symbol.asnumpy: only an array can do this; 'x' has no values before it ...
    """

    __slots__ = ()
    # ``x == y`` is element by element and says nothing of identity, by which symbols are hashed.
    __hash__ = object.__hash__

    if TYPE_CHECKING:  # set below

        def _binary(self, other: Operand, /) -> Self: ...

        __add__ = __sub__ = __mul__ = __truediv__ = __mod__ = __pow__ = _binary
        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rmod__ = __rpow__ = _binary
        __gt__ = __ge__ = __lt__ = __le__ = _binary
        __eq__ = __ne__ = _binary  # type: ignore[assignment]  # element by element, unlike object's

    def _applied(self, op: Operator, hint: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Self:
        return self.symbol_class(apply(op, hint, args, kwargs))

    def __neg__(self) -> Self:
        return self * -1.0

    def __abs__(self) -> Self:
        return self._applied(find("abs"), "abs", (self,), {})

    def astype(self, dtype: DTypeLike) -> Self:
        """Return the symbol converted to `dtype`.

        >>> import rebind as mx
        >>> mx.sym.var("x").astype("float16").infer_type(x="float32")[1]
        [<class 'numpy.float16'>]
        """
        return self._applied(find("Cast"), "cast", (self,), {"dtype": dtype})

    def reshape(self, *shape: int | Sequence[int], **kwargs: int | Sequence[int] | bool | str) -> Self:
        """Return the symbol in another shape; see the operator `Reshape` for the codes.

        >>> import rebind as mx
        >>> mx.sym.var("x").reshape(-1, 2).infer_shape(x=(3, 4))[1]
        [(6, 2)]
        """
        if not shape:
            return self._applied(find("Reshape"), "reshape", (self,), kwargs)
        sizes = shape[0] if isinstance(shape[0], (tuple, list)) else shape
        return self._applied(find("Reshape"), "reshape", (self,), {**kwargs, "shape": sizes})

    def split_v2(
        self, indices_or_sections: int | Sequence[int], axis: int = 0, squeeze_axis: bool = False
    ) -> Self:
        """Split the symbol into so many equal sections, or before each of some indices.

        >>> import rebind as mx
        >>> mx.sym.var("x").split_v2((1,)).infer_shape(x=(3, 2))[1]
        [(1, 2), (2, 2)]
        """
        given = split_parameters(indices_or_sections, axis, squeeze_axis)
        return self._applied(find("_split_v2"), "_split_v2", (self,), given)

    # What NumPy and Python ask of numbers.

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


def _method(op: Operator, name: str) -> Callable[..., SymbolBase]:
    hint = name.lower()

    def method(self: SymbolBase, *args: object, **kwargs: object) -> SymbolBase:
        return self.symbol_class(apply(op, hint, (self, *args), kwargs, name))

    functools.update_wrapper(method, op.kernels.function)
    method.__name__, method.__qualname__ = name, f"Symbol.{name}"
    return method


def _only_for_arrays(name: str) -> Callable[..., NoReturn]:
    def method(self: SymbolBase, *args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedForSymbol(
            f"Symbol.{name}: only an array can do this; {self.name or 'a group'!r} has no values before it is bound. "
            "Bind it (simple_bind, bind) and run forward(), or call eval()."
        )

    method.__name__, method.__qualname__ = name, f"Symbol.{name}"
    method.__doc__ = f"Raise an error: `{name}` is for arrays only."
    return method


for _name, _made in binary_methods(combine, BINARY).items():
    setattr(OperatorMethods, _name, _made)
for _name in FLUENT_METHODS:
    if _name not in vars(OperatorMethods):
        setattr(OperatorMethods, _name, _method(find(_name), _name))
# Set rather than written, so that a type checker refuses them.
for _name in (
    "as_in_context", "asnumpy", "asscalar", "backward", "copy", "detach", "gradient", "wait_to_read",
):  # fmt: skip
    setattr(OperatorMethods, _name, _only_for_arrays(_name))
