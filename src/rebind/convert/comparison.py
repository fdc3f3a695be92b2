"""How far two engines' outputs of one network are apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Difference", "difference", "differences"]


@dataclass(frozen=True)
class Difference:
    """How far two arrays are apart.

    Attributes
    ----------
    name
        The output.
    absolute
        The greatest difference of two numbers; infinite where one of them is none, or where shapes differ.
    relative
        That, divided by the largest number that is expected.
    cosine
        Of the angle between the arrays as vectors: 1 for the same direction.
    shape
        The shape that is expected.
    """

    name: str
    absolute: float
    relative: float
    cosine: float
    shape: tuple[int, ...]


def difference(name: str, expected: np.ndarray, found: np.ndarray) -> Difference:
    """Return how far `found` is from `expected`; where both are nan, or the same infinity, they agree.

    Examples
    --------
    >>> difference("out", np.array([3.0, 4.0]), np.array([3.0, 4.5]))
    Difference(name='out', absolute=0.5, relative=0.125, cosine=0.9984..., shape=(2,))
    >>> difference("out", np.zeros(2), np.zeros((2, 1))).absolute
    inf
    """
    if expected.shape != found.shape:
        return Difference(name, math.inf, math.inf, math.nan, expected.shape)
    one, other = (array.astype(np.float64).ravel() for array in (expected, found))
    differs = ~((one == other) | (np.isnan(one) & np.isnan(other)))
    one, other = (
        np.where(differs | np.isfinite(one), one, 0),
        np.where(differs | np.isfinite(other), other, 0),
    )
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        return Difference(name, math.inf, math.inf, math.nan, expected.shape)
    absolute = float(np.abs(one - other).max(initial=0))
    largest = float(np.abs(one).max(initial=0))
    relative = absolute / largest if largest else (math.inf if absolute else 0.0)
    return Difference(name, absolute, relative, _cosine(one, other), expected.shape)


def _cosine(one: np.ndarray, other: np.ndarray) -> float:
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    if not lengths:
        return 1.0 if np.array_equal(one, other) else 0.0
    return min(1.0, float(one @ other) / lengths)


def differences(
    names: Sequence[str], expected: Sequence[np.ndarray], found: Sequence[np.ndarray]
) -> list[Difference]:
    """Return the differences of outputs, in their order.

    >>> [
    ...     each.relative
    ...     for each in differences(["a", "b"], [np.ones(1), np.ones(1)], [np.ones(1), np.zeros(1)])
    ... ]
    [0.0, 1.0]
    """
    return [difference(*each) for each in zip(names, expected, found, strict=True)]
