"""Parameters of operators: from annotations to parsing, checking and printing.

An operator's function annotates its parameters with ordinary types. `Parameter.from_annotation` turns each
annotation into a parser that takes a Python value or the string in a symbol's JSON.

====================================  ==============================================================
annotation                            accepts
====================================  ==============================================================
``int``, ``float``, ``bool``, ``str``  the value, a NumPy scalar, or its text
``Literal['a', 'b']``                 one of the words
``torch.dtype``                       a name, NumPy type or torch dtype
``tuple[int, ...]``                   an int, a sequence of ints, or text such as ``(3, 3)``
``tuple[float, ...]``                 likewise for floats
``tuple[int | None, ...]``            likewise, with None for "to the end" (`slice`)
``X | None``                          also None and the text ``None``
``Annotated[X, AtLeast(1)]``          X within bounds, for each element of a tuple
====================================  ==============================================================
"""

from __future__ import annotations

import ast
import numbers
import operator
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    SupportsFloat,
    SupportsIndex,
    TypeAlias,
    Union,
    cast,
    get_args,
    get_origin,
)

import numpy as np
import torch

from . import dtypes
from .errors import ArgumentError, DTypeError, ParameterError

__all__ = [
    "NULL",
    "REQUIRED",
    "AtLeast",
    "Between",
    "Listed",
    "Parameter",
    "ParameterValue",
    "Params",
    "format_value",
    "without_long",
]


class _Required:
    """The default of a parameter that has none."""

    def __repr__(self) -> str:
        return "<required>"


REQUIRED = _Required()


class _NullType:
    """A value that counts as missing: MXNet's functions have it as the default of optional parameters."""

    def __repr__(self) -> str:
        return "_Null"

    def __reduce__(self) -> str:
        return "NULL"  # there is one only, in copies and pickles too


NULL = _NullType()


@dataclass(frozen=True)
class AtLeast:
    """An inclusive lower bound."""

    bound: float

    def allows(self, value: float) -> bool:
        """Return whether `value` is within the bound.

        >>> AtLeast(1).allows(1), AtLeast(1).allows(0)
        (True, False)
        """
        return value >= self.bound

    def __str__(self) -> str:
        return f">= {self.bound}"


@dataclass(frozen=True)
class Between:
    """Inclusive bounds."""

    low: float
    high: float

    def allows(self, value: float) -> bool:
        """Return whether `value` is within the bounds.

        >>> Between(0, 1).allows(0.5), str(Between(0, 1))
        (True, 'in [0, 1]')
        """
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"in [{self.low}, {self.high}]"


@dataclass(frozen=True)
class Listed:
    """MXNet's word for a kind of parameter, for `operator.get_operator_arguments`; nothing is accepted by it.

    For what the annotation alone does not say: C++ has more types of numbers, and MXNet's operators name the element
    types that they take, where those here take all.
    """

    word: str


#: A parsed parameter.
ParameterValue: TypeAlias = "bool | int | float | str | torch.dtype | tuple[ParameterValue, ...] | None"


class Params(dict[str, Any]):
    """Parsed parameters of one node: a dict whose keys can be read as attributes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.__dict__ = self  # reading an attribute is then as quick as on any object

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


@dataclass(frozen=True)
class Parameter:
    """One parameter: its name, default, parser, and how its type reads in messages and documentation."""

    name: str
    default: Any
    type_text: str
    convert: Callable[[object], ParameterValue]
    annotation: Any = None

    @classmethod
    def from_annotation(cls, name: str, annotation: object, default: object = REQUIRED) -> Parameter:
        """Return the parameter that `annotation` describes.

        >>> Parameter.from_annotation("axis", int | None, default=None).type_text
        'an int or None'
        """
        text, convert = _converter(annotation)
        return cls(name, default, text, convert, annotation)

    @property
    def required(self) -> bool:
        """Whether there is no default.

        >>> Parameter.from_annotation("num_hidden", int).required
        True
        """
        return self.default is REQUIRED

    def parse(self, value: object) -> ParameterValue:
        """Return the parsed `value`; a ParameterError names the parameter, what must hold and the value.

        >>> kernel = Parameter.from_annotation("kernel", tuple[Annotated[int, AtLeast(1)], ...])
        >>> kernel.parse("(3, 3)"), kernel.parse(3)
        ((3, 3), (3,))
        >>> kernel.parse("(0, 3)")
        Traceback (most recent call last):
        rebind.errors.ParameterError: kernel must be a tuple of ints >= 1; got '(0, 3)'
        """
        try:
            return self.convert(value)
        # What converters, `ast.literal_eval` and numbers too large raise between them.
        except (ValueError, TypeError, DTypeError, SyntaxError, ArithmeticError, MemoryError, RecursionError):
            # An array is of the wrong kind altogether, whatever it holds.
            kind = ArgumentError if hasattr(value, "asnumpy") else ParameterError
            raise kind(f"{self.name} must be {self.type_text}; got {value!r}", argument=self.name) from None


def format_value(value: object) -> str:
    """Return a parameter as text in a symbol's JSON: strings as they are, tuples of plain ints.

    >>> format_value((np.int64(3), 3)), format_value(True), format_value(np.float32), format_value(0.9)
    ('(3, 3)', 'True', 'float32', '0.9')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, (tuple, list)):
        parts = ", ".join(format_value(item) for item in value)
        return f"[{parts}]" if isinstance(value, list) else f"({parts},)" if len(value) == 1 else f"({parts})"
    if isinstance(value, np.floating):
        return str(value)  # the shortest text: 0.1 for float32(0.1)
    if isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0:
        return str(value.item())
    if isinstance(value, (torch.dtype, np.dtype)) or (isinstance(value, type) and value not in (int, bool)):
        return dtypes.name(value)
    return str(value)


# The annotations are few; each has one small converter below. A converter raises ValueError, TypeError or
# DTypeError for what it cannot take.


def _converter(annotation: object) -> tuple[str, Callable[[object], ParameterValue]]:
    """Return the text for messages and the converter of an annotation."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        text, convert = _converter(arguments[0])
        bounds = tuple(bound for bound in arguments[1:] if not isinstance(bound, Listed))
        if not bounds:
            return text, convert
        return f"{text} {' and '.join(map(str, bounds))}", _bounded(convert, bounds)
    if origin is Literal:
        return f"one of {', '.join(map(repr, arguments))}", _one_of(arguments)
    if origin in (Union, types.UnionType):
        inner = [argument for argument in arguments if argument is not type(None)]
        text, convert = _converter(inner[0] if len(inner) == 1 else Union[tuple(inner)])  # noqa: UP007
        # Unions are there for None only.
        if len(inner) == len(arguments):
            raise TypeError(f"no rule for parameters annotated {annotation}")
        return f"{text} or None", lambda value: None if _is_none(value) else convert(value)
    if origin is tuple:
        element = arguments[0]
        element_text, convert = _converter(element)
        noun, space, rest = element_text.removeprefix("an ").removeprefix("a ").partition(" ")
        return f"a tuple of {noun}s{space}{rest}", _tuple_of(convert)
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    raise TypeError(f"no rule for parameters annotated {annotation!r}")


def without_long(text: str) -> str:
    """Return the text of a tuple of numbers as Python 2 wrote it, without the letter of its long integers.

    >>> without_long("(8L, 3L)")
    '(8, 3)'
    """
    return text.replace("L", "")


def _is_none(value: object) -> bool:
    return value is None or (isinstance(value, str) and value == "None")


def _to_int(value: str | SupportsIndex) -> int:
    if isinstance(value, str):
        text = value.strip()
        if text in (
            "True",
            "False",
            "true",
            "false",
        ):  # the front ends of other languages write them for 1 and 0
            return int(text in ("True", "true"))
        return int(text.rstrip("L"))  # files written by Python 2 have long integers, such as 3L
    return operator.index(value)


def _to_float(value: str | SupportsFloat) -> float:
    if isinstance(value, np.floating):
        return float(str(value))  # as from its text in a file: 0.1 for float32(0.1)
    if isinstance(value, (str, numbers.Real, np.generic)) or getattr(value, "ndim", None) == 0:
        return float(value)
    raise TypeError


_WORDS = {"true": True, "1": True, "false": False, "0": False}


def _to_bool(value: object) -> bool:
    if isinstance(value, str):
        word = value.strip().lower()
        return _WORDS[word] if word in _WORDS else bool(int(word))
    if isinstance(value, (bool, np.bool_, numbers.Integral)):
        return bool(value)
    raise TypeError


def _to_text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise TypeError


_SIMPLE: dict[Any, tuple[str, Callable[[Any], ParameterValue]]] = {
    int: ("an int", _to_int),
    float: ("a float", _to_float),
    bool: ("a bool", _to_bool),
    str: ("a string", _to_text),
    torch.dtype: (
        f"a dtype ({', '.join(row.name for row in dtypes.DTYPES)})",
        dtypes.torch_dtype,
    ),
}


def _one_of(words: tuple[str, ...]) -> Callable[[object], str]:
    def convert(value: object) -> str:
        if value in words:
            return value
        raise ValueError

    return convert


def _tuple_of(convert: Callable[[object], ParameterValue]) -> Callable[[Any], tuple]:
    def parse(value: Any) -> tuple:
        if isinstance(value, str):
            # A literal, never eval(): the text may come from a file of unknown origin.
            value = ast.literal_eval(without_long(value.strip()))
        # A number alone is a tuple of one, as MXNet's files have it.
        if isinstance(value, (numbers.Number, type(None))):
            value = (value,)
        if isinstance(value, (str, dict, set)):
            raise TypeError
        return tuple(convert(item) for item in value)

    return parse


def _bounded(
    convert: Callable[[object], ParameterValue], bounds: tuple[AtLeast | Between, ...]
) -> Callable[[object], ParameterValue]:
    def checked(value: object) -> ParameterValue:
        parsed = convert(value)
        # None, where it is allowed, has no bounds.
        elements = parsed if isinstance(parsed, tuple) else () if parsed is None else (parsed,)
        if not all(bound.allows(cast(float, element)) for bound in bounds for element in elements):
            raise ValueError
        return parsed

    return checked
