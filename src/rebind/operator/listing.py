"""Which operators there are, and what they take."""

from __future__ import annotations

import types
from typing import Annotated, Literal, NamedTuple, Union, get_args, get_origin

import numpy as np
import torch

from ..dtypes import DTYPES
from ..dtypes import name as dtype_name
from ..ops import OPERATORS, find
from ..params import Listed, Parameter

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
    """Return an operator's arguments, arrays first, with their types in MXNet's words.

    >>> get_operator_arguments("clip").types
    ['NDArray-or-Symbol', 'float, required', 'float, required']
    """
    op = find(op_name)
    signature, listed = op.signature, op.record.listed
    kind = "NDArray-or-Symbol[]" if signature.variadic else "NDArray-or-Symbol"
    # In the order of a call: ``clip(data, a_min, a_max)``.
    words: dict[str, str | None] = {
        name: text for name, text in listed.items() if name not in signature.order
    }
    words.update(dict.fromkeys(signature.input_names, kind))
    words.update((name, words_of(parameter)) for name, parameter in signature.parameters.items())
    if signature.count:
        words[signature.count] = "int, required"  # of MXNet's caller, who is a front end that counts
    words.update(listed)
    found = {name: text for name, text in words.items() if text is not None}
    return OperatorArguments(len(found), list(found), list(found.values()))


def words_of(parameter: Parameter) -> str:
    """Return the type of a parameter in MXNet's words, with its default.

    >>> from rebind.ops import find
    >>> parameters = find("Pooling").signature.parameters
    >>> words_of(parameters["global_pool"]), words_of(parameters["kernel"])
    ('boolean, optional, default=0', 'Shape(tuple), optional, default=[]')
    """
    kind, optional = _kind(parameter.annotation)
    comma = "," if kind.startswith("{") else ", "  # so MXNet writes them
    text = f"{kind} or None" if optional and not kind.startswith("{") else kind
    if parameter.required:
        return f"{text}, required"
    return f"{text}{comma}optional, default={_default(parameter.default, kind)}"


def _kind(annotation: object) -> tuple[str, bool]:
    """Return MXNet's word for an annotation, and whether None is allowed."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        word = next((each.word for each in arguments[1:] if isinstance(each, Listed)), None)
        return _kind(arguments[0]) if word is None else (word, False)
    if origin in (Union, types.UnionType):
        inner = next(each for each in arguments if each is not type(None))
        kind, _ = _kind(inner)
        if kind.startswith("{"):
            # MXNet lists None among the choices.
            kind = "{None, " + kind[1:]
        return "Shape" if kind == "Shape(tuple)" else kind, True
    if origin is Literal:
        return "{" + ", ".join(sorted(map(repr, arguments))) + "}", False
    if origin is tuple:
        element, _ = _kind(arguments[0])
        return "tuple of <float>" if element == "float" else "Shape(tuple)", False
    if annotation in _WORDS:
        return _WORDS[annotation], False
    return "{" + ", ".join(sorted(repr(row.name) for row in DTYPES)) + "}", False  # a type of elements


def _default(value: object, kind: str) -> str:
    """Return a default as MXNet writes it."""
    if isinstance(value, bool):
        return str(int(value))
    if value is None:
        return "'None'" if kind == "int" or kind.startswith("{") else "None"
    if isinstance(value, float):
        # MXNet's constants are of single precision, those of a double too.
        return f"{np.float32(value):{'.17g' if kind.startswith('double') else '.9g'}}"
    if isinstance(value, int) and kind != "int":
        return str(value)
    if isinstance(value, (tuple, list)):
        return "[" + ",".join(f"{each:.9g}" if isinstance(each, float) else str(each) for each in value) + "]"
    if isinstance(value, torch.dtype):
        value = dtype_name(value)
    return f"'{value}'"


_WORDS: dict[object, str] = {bool: "boolean", int: "int", float: "float", str: "string"}
