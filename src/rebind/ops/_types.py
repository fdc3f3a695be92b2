"""Types that several families share: annotations of parameters, and a check of an array's type."""

from __future__ import annotations

import math
from typing import Annotated, TypeAlias

import torch
from torch import Tensor

from .. import dtypes
from ..errors import DTypeError, ParameterError, ShapeError
from ..params import AtLeast, Listed
from ..shapes import Shape

__all__ = [
    "AnyType",
    "ChosenType",
    "Count",
    "Double",
    "DrawnIntegerType",
    "DrawnType",
    "FloatType",
    "Indices",
    "Long",
    "MatrixType",
    "NumericType",
    "Offset",
    "OrderType",
    "ShapeOrNone",
    "Sizes",
    "SizesOrNone",
    "SumType",
    "Workspace",
    "made_shape",
    "require_floating",
    "whole_number",
]

#: A shape in which a size may be 0.
Sizes: TypeAlias = tuple[Annotated[int, AtLeast(0)], ...]

# What follows differs in MXNet's words only (`operator.get_operator_arguments`), for which C++ has more types.

#: A shape of which inference fills in what is 0 or -1, or all; MXNet writes no "or None".
SizesOrNone: TypeAlias = Annotated[tuple[Annotated[int, AtLeast(-1)], ...] | None, Listed("Shape(tuple)")]
ShapeOrNone: TypeAlias = Annotated[tuple[int, ...] | None, Listed("Shape(tuple)")]

Double: TypeAlias = Annotated[float, Listed("double")]
Long: TypeAlias = Annotated[int, Listed("long")]
#: A number of things: 1 or more, or 0 or more.
Count: TypeAlias = Annotated[int, AtLeast(1), Listed("int (non-negative)")]
Offset: TypeAlias = Annotated[int, AtLeast(0), Listed("int (non-negative)")]
#: MXNet's limit of memory for a convolution.
Workspace: TypeAlias = Annotated[int, AtLeast(0), Listed("long (non-negative)")]
#: Positions of a graph's inputs.
Indices: TypeAlias = Annotated[tuple[Annotated[int, AtLeast(0)], ...], Listed("tuple of <long>")]


def _named(names: str) -> Listed:
    return Listed("{" + ", ".join(map(repr, sorted(names.split()))) + "}")


# Types of elements: rebind's operators take every one; MXNet's name these.
_FLOATS = "float16 float32 float64"
AnyType: TypeAlias = Annotated[torch.dtype, _named(f"{_FLOATS} bfloat16 int8 uint8 int32 int64 bool")]
NumericType: TypeAlias = Annotated[torch.dtype, _named(f"{_FLOATS} bfloat16 int8 uint8 int32 int64")]
MatrixType: TypeAlias = Annotated[torch.dtype, _named(f"{_FLOATS} int8 uint8 int32 int64")]
OrderType: TypeAlias = Annotated[torch.dtype, _named(f"{_FLOATS} uint8 int32 int64")]
SumType: TypeAlias = Annotated[torch.dtype, _named(f"{_FLOATS} int8 int32 int64")]
ChosenType: TypeAlias = Annotated[torch.dtype, _named(f"{_FLOATS} uint8 int32")]
FloatType: TypeAlias = Annotated[torch.dtype, _named(_FLOATS)]
#: Of random numbers; None is a word there, for the default type.
DrawnType: TypeAlias = Annotated[torch.dtype | None, _named(f"{_FLOATS} None")]
DrawnIntegerType: TypeAlias = Annotated[torch.dtype | None, _named("int32 int64 None")]


def require_floating(array: Tensor, name: str = "data") -> None:
    """Raise a DTypeError unless an input is of a floating type.

    Where torch would answer in another type, or not at all.

    >>> import torch
    >>> require_floating(torch.ones(2, dtype=torch.int32), "label")
    Traceback (most recent call last):
      ...
    rebind.errors.DTypeError: label must be of a floating type; got int32. Convert it with astype().
    """
    if not array.is_floating_point():
        raise DTypeError(
            f"{name} must be of a floating type; got {dtypes.name(array.dtype)}. Convert it with astype().",
            argument=name,
        )


def whole_number(value: float, name: str, dtype: torch.dtype) -> int:
    """Return a number cut to a whole one; nan and infinity are errors.

    >>> whole_number(2.7, "value", torch.int32)
    2
    """
    if not math.isfinite(value):
        raise ParameterError(
            f"{name} must be finite for type {dtypes.name(dtype)}; got {value}", argument=name
        )
    return int(value)


def made_shape(shape: Shape | None, default: Shape = ()) -> Shape:
    """Return the shape in which an array is made: sizes that are unknown still are an error.

    >>> made_shape(None, (1,)), made_shape((2, 0))
    ((1,), (2, 0))
    """
    if shape and min(shape) < 0:
        raise ShapeError(f"shape must be known, with sizes >= 0; got {shape}", argument="shape")
    return shape or default
