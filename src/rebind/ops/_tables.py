"""Families of operators as rows of a table: what differs between members is in its row, once.

A row names the operator, its aliases, what computes it on tensors, and one line of documentation. `UNARY`,
`BINARY` and `SCALAR` list the rows that were made, for the tests, which run every one of them.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..dtypes import number_in
from ..errors import ShapeError
from ..params import Params
from ..shapes import Shape
from ._types import Double, whole_number
from .declaration import Operator, Shapes, one_shape, operator

__all__ = ["BINARY", "SCALAR", "UNARY", "Row", "binary", "broadcast", "scalar", "unary"]


class Row(NamedTuple):
    """A member of a family."""

    op: Operator
    domain: tuple[float, float] = (-2.0, 2.0)  # where the operator is smooth or at least defined


UNARY: list[Row] = []
BINARY: list[Row] = []
SCALAR: list[Row] = []


def unary(
    name: str,
    *aliases: str,
    compute: Callable[[Tensor], Tensor],
    doc: str,
    domain: tuple[float, float] = (-2.0, 2.0),
    head_gradient: bool = True,
    listed: Mapping[str, str | None] | None = None,
) -> Operator:
    """Make an element-wise operator of one array; the result has the array's type, integers are rounded towards 0."""

    def function(data: Tensor) -> Tensor:
        # torch's functions answer float32 for integers. These are computed again in float64, which holds all of int32
        # exactly, and cut to their own type, as MXNet gives them.
        out = compute(data)
        if out.dtype is data.dtype:
            return out
        return compute(data.to(dtype=torch.float64)).to(dtype=data.dtype)  # of integers

    declare = operator(name, *aliases, same_shape=True, head_gradient=head_gradient, listed=listed)
    made = _declared(function, name, doc, declare)
    made.output_shapes(one_shape)
    UNARY.append(Row(made, domain))
    return made


def binary(
    name: str,
    *aliases: str,
    compute: Callable[[Tensor, Tensor], Tensor],
    doc: str,
    domain: tuple[float, float] = (-2.0, 2.0),
    head_gradient: bool = True,
    owns_output: bool = False,
    broadcasts: bool = False,
) -> Operator:
    """Make an element-wise operator of two arrays: of one shape, or with `broadcasts` of shapes as in NumPy."""
    function = _broadcasting(compute) if broadcasts else _of_one_shape(compute)
    declare = operator(
        name, *aliases, same_shape=not broadcasts, head_gradient=head_gradient, owns_output=owns_output
    )
    note = " Sizes of 1 broadcast, as in NumPy." if broadcasts else ""
    made = _declared(function, name, doc + note, declare)
    made.output_shapes(_broadcast_known if broadcasts else one_shape)
    if broadcasts:
        made.half_known(broadcast_shapes)
    BINARY.append(Row(made, domain))
    return made


#: `binary` for an operator that broadcasts.
broadcast = functools.partial(binary, broadcasts=True)


def _of_one_shape(compute: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    def function(lhs: Tensor, rhs: Tensor) -> Tensor:
        if lhs.shape != rhs.shape:
            raise ShapeError(f"rhs must have the shape of lhs, {tuple(lhs.shape)}; got {tuple(rhs.shape)}")
        return compute(lhs, rhs)

    return function


def _broadcasting(compute: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    def function(lhs: Tensor, rhs: Tensor) -> Tensor:
        try:
            return compute(lhs, rhs)
        except RuntimeError as error:
            # torch's own error is raised only where the shapes do broadcast.
            raise broadcast_error(lhs, rhs) or error from None

    return function


def broadcast_shapes(shapes: Shapes, p: Params) -> list[Shape | None]:
    """Return the shape that half-known shapes broadcast to: a size above 1 is that of the result, whatever meets it.

    >>> broadcast_shapes({"lhs": (0, 3, 1), "rhs": (0, 0)}, Params())
    [(0, 3, 0)]
    """
    first, second = shapes.values()
    if first is None or second is None:
        return []
    axes = itertools.zip_longest(reversed(first), reversed(second), fillvalue=1)
    # Two sizes of 1 give 1; one that is unknown (0) next to a 1 can still become anything.
    return [tuple(max(pair) if max(pair) > 1 or min(pair) == 1 else 0 for pair in axes)[::-1]]


def _broadcast_known(shapes: Shapes, p: Params) -> list[Shape | None]:
    first, second = shapes.values()
    try:
        return [] if first is None or second is None else [np.broadcast_shapes(first, second)]
    except ValueError:
        return []


def broadcast_error(lhs: Tensor, rhs: Tensor) -> ShapeError | None:
    """Return the error for shapes that do not broadcast, None when they do.

    >>> print(broadcast_error(torch.ones(2), torch.ones(3)))
    shapes of lhs and rhs must be equal or 1 on each axis, counted from the last; got (2,) and (3,)
    """
    try:
        torch.broadcast_shapes(lhs.shape, rhs.shape)
    except RuntimeError:
        return ShapeError(
            f"shapes of lhs and rhs must be equal or 1 on each axis, counted from the last; "
            f"got {tuple(lhs.shape)} and {tuple(rhs.shape)}"
        )
    return None


def scalar(
    name: str,
    *aliases: str,
    compute: Callable[[Tensor, float], Tensor],
    doc: str,
    domain: tuple[float, float] = (-2.0, 2.0),
    head_gradient: bool = True,
) -> Operator:
    """Make an element-wise operator of an array and a number."""

    def function(data: Tensor, *, scalar: Double = 1.0, is_int: bool = True) -> Tensor:
        if data.is_floating_point():
            # Within the range of float16 nothing needs to be looked up; an array is in the type already.
            if scalar.__class__ is float and not -65504.0 <= scalar <= 65504.0:
                scalar = number_in(data.dtype, scalar)
            return compute(data, scalar)
        return compute(*_with_integers(data, scalar, is_int))

    declare = operator(
        name,
        *aliases,
        same_shape=True,
        head_gradient=head_gradient,
        types=lambda p: {"output": _type_with_int if p.is_int else _type_with_float},
    )
    made = _declared(function, name, doc + _SCALAR_NOTE, declare)
    made.output_shapes(one_shape)
    SCALAR.append(Row(made, domain))
    return made


_SCALAR_NOTE = """

For an integer array the number is cut to the array's type, and the result has that type; with ``is_int=False``
it is float64. A boolean array counts as int64."""


def _type_with_int(data: torch.dtype) -> torch.dtype:
    return torch.int64 if data is torch.bool else data


def _type_with_float(data: torch.dtype) -> torch.dtype:
    return data if data.is_floating_point else torch.float64


def _with_integers(data: Tensor, number: float, is_int: bool) -> tuple[Tensor, float]:
    """Return an integer array and a number in the type in which MXNet computes with them."""
    if not is_int:
        return data.to(dtype=torch.float64), number
    number = whole_number(number, "scalar", data.dtype)
    if data.dtype is torch.bool:
        return data.to(dtype=torch.int64), number
    if data.dtype is not torch.int64:  # what does not fit wraps around, as a cast in C does
        bits = torch.iinfo(data.dtype).bits
        low = torch.iinfo(data.dtype).min
        number = (number - low) % (1 << bits) + low
    return data, number


def _declared(
    function: Callable[..., Tensor], name: str, doc: str, declare: Callable[[Callable[..., Tensor]], Operator]
) -> Operator:
    function.__doc__ = doc
    function.__name__ = function.__qualname__ = name
    return declare(function)
