"""Which operators there are, and what they take."""

from __future__ import annotations

from typing import NamedTuple

from ..ops import OPERATORS, find

__all__ = ["OperatorArguments", "get_all_registered_operators", "get_operator_arguments"]


class OperatorArguments(NamedTuple):
    """An operator's arrays and parameters: how many, their names and their types as text."""

    narg: int
    names: list[str]
    types: list[str]


def get_all_registered_operators() -> list[str]:
    """Return the names of all operators, other names of the same operator included.

    >>> "FullyConnected" in get_all_registered_operators()
    True
    """
    return sorted(OPERATORS)


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """Return an operator's arguments, arrays first.

    >>> get_operator_arguments("clip")
    OperatorArguments(narg=3, names=['data', 'a_min', 'a_max'], types=['NDArray-or-Symbol', 'a float', 'a float'])
    """
    op = find(op_name)
    kind = "NDArray-or-Symbol[]" if op.signature.variadic else "NDArray-or-Symbol"
    signature = op.signature
    # In the order of a call: ``clip(data, a_min, a_max)``.
    names = [*signature.input_names, *signature.parameters]
    types = [kind] * len(signature.input_names)
    types += [parameter.type_text for parameter in signature.parameters.values()]
    return OperatorArguments(len(names), names, types)
