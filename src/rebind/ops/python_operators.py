"""Python's binary operators on arrays and symbols: which operators compute them, and the methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

__all__ = ["PYTHON_OPERATORS", "BinaryNames", "PythonOperator", "binary_methods"]

Operators = TypeVar("Operators")


class BinaryNames(NamedTuple):
    """Names of operators: for two arrays, an array and a number, and the number on the left (None: no such form)."""

    pair: str
    scalar: str
    reverse: str | None


class PythonOperator(NamedTuple):
    """What computes one of Python's operators on arrays, and on symbols.

    The sum of two arrays broadcasts; that of two symbols wants equal shapes, as in MXNet. An operator has several
    names: those in `symbols` are the ones that automatic names come from (``_plus0``).
    """

    arrays: BinaryNames
    symbols: BinaryNames


def _both(arrays: tuple[str, str, str | None], symbols: tuple[str, str, str | None]) -> PythonOperator:
    return PythonOperator(BinaryNames(*arrays), BinaryNames(*symbols))


def _comparison(name: str) -> PythonOperator:
    # No form for a number on the left: Python itself turns ``2 < x`` into ``x > 2``.
    scalar = f"_{name}_scalar"
    return _both((f"broadcast_{name}", scalar, None), (f"_{name}", scalar, None))


#: By the name in Python's method: ``__add__``, ``__radd__``.
PYTHON_OPERATORS = {
    "add": _both(("broadcast_add", "_plus_scalar", "_plus_scalar"), ("_Plus", "_PlusScalar", "_PlusScalar")),
    "sub": _both(
        ("broadcast_sub", "_minus_scalar", "_rminus_scalar"), ("_Minus", "_MinusScalar", "_RMinusScalar")
    ),
    "mul": _both(("broadcast_mul", "_mul_scalar", "_mul_scalar"), ("_Mul", "_MulScalar", "_MulScalar")),
    "truediv": _both(("broadcast_div", "_div_scalar", "_rdiv_scalar"), ("_Div", "_DivScalar", "_RDivScalar")),
    "mod": _both(("broadcast_mod", "_mod_scalar", "_rmod_scalar"), ("_Mod", "_ModScalar", "_RModScalar")),
    # MXNet names ``2 ** x`` unlike the others, ``_rpower_scalar0``.
    "pow": _both(
        ("broadcast_power", "_power_scalar", "_rpower_scalar"), ("_Power", "_PowerScalar", "_rpower_scalar")
    ),
    "eq": _comparison("equal"),
    "ne": _comparison("not_equal"),
    "gt": _comparison("greater"),
    "ge": _comparison("greater_equal"),
    "lt": _comparison("lesser"),
    "le": _comparison("lesser_equal"),
}


def binary_methods(
    combine: Callable[[Operators, Any, Any], Any], operators: Mapping[str, Operators]
) -> dict[str, Callable[[Any, Any], Any]]:
    """Return the methods for Python's binary operators, by name: ``x + y``, ``2 / x``, ``x < y``.

    Parameters
    ----------
    combine
        Computes them: ``combine(operators, left, right)``.
    operators
        What `combine` is given for each of Python's operators.

    Examples
    --------
    >>> methods = binary_methods(lambda *given: given, {"sub": "minus"})
    >>> methods["__sub__"]("x", 1), methods["__rsub__"]("x", 1)
    (('minus', 'x', 1), ('minus', 1, 'x'))
    """
    methods = {}
    for name, found in operators.items():
        methods[f"__{name}__"] = _forward(combine, found)
        if PYTHON_OPERATORS[name].arrays.reverse is not None:
            methods[f"__r{name}__"] = _reflected(combine, found)
    return methods


# The operators are bound here, once: ``x + y`` is the most frequent call, and looks nothing up.
def _forward(
    combine: Callable[[Operators, Any, Any], Any], operators: Operators
) -> Callable[[Any, Any], Any]:
    return lambda self, other: combine(operators, self, other)


def _reflected(
    combine: Callable[[Operators, Any, Any], Any], operators: Operators
) -> Callable[[Any, Any], Any]:
    return lambda self, other: combine(operators, other, self)
