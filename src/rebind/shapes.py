"""Shapes as MXNet writes them: 0 is an unknown size, None an unknown number of axes."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterable, Sequence
from math import prod
from typing import Protocol, SupportsIndex, TypeAlias, cast

from .errors import ArgumentError, ShapeError

__all__ = ["HasShape", "Shape", "as_shape", "is_known", "merge", "normalize_axis", "size", "together"]

Shape: TypeAlias = tuple[int, ...]


class HasShape(Protocol):
    """An array, as far as its shape matters."""

    @property
    def shape(self) -> Sequence[int]:
        """The size of each axis."""


def as_shape(value: SupportsIndex | Iterable[SupportsIndex], who: str = "shape", least: int = 0) -> Shape:
    """Return `value`, an int or a sequence of ints (NumPy's included), as a tuple of plain ints of `least` or more.

    >>> as_shape(3), as_shape([2, 3])
    ((3,), (2, 3))
    """
    # operator.index(), not int(): a size of 2.5 must be an error. Each array that is made comes here.
    try:
        sizes = value if isinstance(value, (tuple, list)) else _in_sequence(value)
        shape: Shape = tuple(map(operator.index, sizes))
    except TypeError:
        text = f"{who} must be an int or a sequence of ints; got {value!r}"
        # An array of numbers is of the wrong kind altogether, a sequence of other things has wrong members.
        raise (ArgumentError(text) if hasattr(value, "asnumpy") else ShapeError(text)) from None
    if shape and min(shape) < least:
        raise ShapeError(f"{who}: sizes must be >= {least}; got {shape}")
    return shape


def _in_sequence(value: SupportsIndex | Iterable[SupportsIndex]) -> Iterable[SupportsIndex]:
    """Return an int as a sequence of it, anything else as it is."""
    try:
        return (operator.index(cast(SupportsIndex, value)),)
    except TypeError:
        return cast("Iterable[SupportsIndex]", value)


def is_known(shape: Shape | None) -> bool:
    """Return whether every size is known.

    >>> is_known((2, 3)), is_known((0, 3)), is_known(None)
    (True, False, False)
    """
    return shape is not None and 0 not in shape


def merge(first: Shape | None, second: Shape | None) -> Shape | None:
    """Return the shape with the sizes that either shape knows; ValueError when they contradict each other.

    >>> merge((0, 5), (2, 0))
    (2, 5)
    """
    if first is None or second is None or first == second:
        return second if first is None else first
    if len(first) != len(second) or any(a and b and a != b for a, b in zip(first, second, strict=True)):
        # 0 is unknown, in either.
        raise ValueError(f"{first} and {second} differ")
    return tuple(a or b for a, b in zip(first, second, strict=True))


def together(*shapes: Shape | None) -> Shape | None:
    """Return what shapes that must be equal say of it, for rules: who compares them names one that contradicts.

    >>> together((0, 3), None, (2, 0), (5, 5))
    (2, 3)
    """
    found: Shape | None = None
    for shape in shapes:
        with contextlib.suppress(ValueError):
            found = merge(found, shape)
    return found


def size(shape: Iterable[int]) -> int:
    """Return the number of elements.

    >>> size((2, 3)), size(())
    (6, 1)
    """
    return prod(shape)


def normalize_axis(axis: int, ndim: int, who: str) -> int:
    """Return `axis` counted from the front; an axis outside of ``[-ndim, ndim)`` is a ShapeError.

    >>> normalize_axis(-1, 3, "sum: axis")
    2
    """
    try:
        inside = -ndim <= axis < ndim
    except TypeError:
        raise ShapeError(f"{who} must be an int; got {axis!r}") from None
    if not inside:
        raise ShapeError(f"{who} must be in [{-ndim}, {ndim}) for an array of {ndim} axes; got {axis}")
    return axis % ndim
