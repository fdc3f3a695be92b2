"""Decimal numbers from text: which pieces of text are numbers, and what they are."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

__all__ = ["LETTERS", "LONGEST", "NotANumber", "parse_numbers", "rounded"]

#: The most characters of a number; more are no number that anyone has written.
LONGEST = 4000

#: What numbers are made of, with the blanks around them. Python's ``1_000`` and its other blanks are not.
LETTERS = b"0123456789+-.aefintyAEFINTY \t\r"


class NotANumber(ValueError):
    """A piece of text is no number, or does not fit its type; `index` says which piece."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


def parse_numbers(pieces: Sequence[bytes], dtype: type[np.number] = np.float32) -> np.ndarray:
    """Return the numbers that pieces of text are: decimal, with a sign, a point, an exponent, or ``nan``, ``inf``.

    Types of integers drop what is behind the point. Floating types other than float64 are rounded from doubles.

    Raises
    ------
    NotANumber
        For the first piece that is no number, or does not fit an integer type.

    Examples
    --------
    >>> parse_numbers([b"1", b" -2.5", b"3e2"])
    array([  1. ,  -2.5, 300. ], dtype=float32)
    >>> parse_numbers([b"1", b"-2.5", b"3e2"], np.int64)
    array([  1,  -2, 300])
    """
    try:
        return _parse(pieces, dtype)
    except ValueError:
        for index, piece in enumerate(pieces):
            try:
                _parse([piece], dtype)
            except ValueError:
                raise NotANumber(index) from None
        raise


def rounded(numbers: np.ndarray, dtype: type[np.number] = np.float32) -> np.ndarray:
    """Return numbers in a type, rounded; what is beyond float32 is infinite.

    >>> rounded(np.array([0.1, 1e300]))
    array([0.1, inf], dtype=float32)
    """
    with np.errstate(over="ignore"):
        return numbers.astype(dtype)


def _parse(pieces: Sequence[bytes], dtype: type[np.number]) -> np.ndarray:
    if b"".join(pieces).translate(None, LETTERS):
        raise ValueError("another letter")
    if max(map(len, pieces), default=0) > LONGEST and any(len(piece.strip()) > LONGEST for piece in pieces):
        raise ValueError("a piece that is too long")
    if not issubclass(dtype, np.integer):
        return rounded(np.array(list(map(float, pieces)), np.float64), dtype)
    limits = np.iinfo(dtype)
    numbers = [_integer(piece) for piece in pieces]
    if numbers and not limits.min <= min(numbers) <= max(numbers) <= limits.max:
        raise ValueError("outside of the type")
    return np.array(numbers, dtype)


def _integer(piece: bytes) -> int:
    try:
        return int(piece)
    except ValueError:
        number = float(piece)
    if not math.isfinite(number):
        raise ValueError("not finite")
    return math.trunc(number)
