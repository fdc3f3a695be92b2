"""Numbers from text, many at a time: the digits of all numbers are read by the same few operations on arrays.

NumPy's readers of text (``loadtxt``, ``fromstring``) call a function for each number, which takes twice to ten times as
long. Regular text has quicker readers: `short_numbers` and, with an extra, `json_numbers`.
"""

from __future__ import annotations

import math
import re

import numpy as np

__all__ = ["LONGEST", "PADDING", "NotANumber", "find_pieces", "padded", "parse_decimals", "parse_digits"]

#: Bytes before the text in a buffer, so that the words that end anywhere in it begin within the buffer.
PADDING = 24

_POWERS = np.array([float(f"1e{exponent}") for exponent in range(301)])
_WHOLE_POWERS = np.array([10**exponent for exponent in range(20)], np.uint64)
_MOST_DIGITS = 19  # that a word holds
#: The most characters of a number; more are no number that anyone has written.
LONGEST = 4000
_NUMBER = re.compile(rb"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf(inity)?)", re.IGNORECASE)


class NotANumber(ValueError):
    """A piece of text is no number, or does not fit its type; `index` says which piece."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


def padded(text: bytes) -> np.ndarray:
    """Return the bytes of `text` in a buffer, after `PADDING` others.

    >>> padded(b"1,2").size - PADDING
    3
    """
    return np.frombuffer(b" " * PADDING + text, np.uint8)


def find_pieces(inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where runs of True begin, and the positions behind them, of an array that begins and ends with False.

    >>> find_pieces(np.array([False, True, True, False, True, False]))
    (array([1, 4]), array([3, 5]))
    """
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    edges += 1
    return edges[::2], edges[1::2]


def parse_digits(buffer: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the whole numbers in `buffer`, of digits alone, as `parse_decimals` does.

    Raises
    ------
    NotANumber
        For the first piece that has another character, or more than 18 digits.

    Examples
    --------
    >>> parse_digits(padded(b"1 25"), np.array([0, 2]) + PADDING, np.array([1, 4]) + PADDING)
    array([ 1, 25])
    """
    found, bad = _digits(_words_of(buffer), starts, ends)
    bad |= ends - starts > 18
    if bad.any():
        raise NotANumber(int(bad.argmax()))
    return found.astype(np.int64)


def parse_decimals(
    buffer: np.ndarray, starts: np.ndarray, ends: np.ndarray, dtype: type[np.number] = np.float32
) -> np.ndarray:
    """Return the numbers in `buffer` from each of `starts` to its end: decimal, with a sign, a point, an exponent.

    Types of integers cut what is behind the point. What is uncommon (``nan``, ``inf``, more than 19 digits) is left to
    Python's `float`, one by one. Doubles are rounded as by `float`, and other types are rounded from these doubles.

    Parameters
    ----------
    buffer
        What `padded` returns.
    starts, ends
        Where each number begins, and the position behind it, in the buffer; in ascending order.
    dtype
        The type of the result.

    Raises
    ------
    NotANumber
        For the first piece that is no number, or does not fit an integer type.

    Examples
    --------
    >>> text = padded(b"1 -2.5 3e2")
    >>> parse_decimals(text, np.array([0, 2, 7]) + PADDING, np.array([1, 6, 10]) + PADDING)
    array([  1. ,  -2.5, 300. ], dtype=float32)
    """
    whole = issubclass(dtype, np.integer)
    words = _words_of(buffer)
    first = buffer.take(starts)
    negative = first == ord("-")
    begins = starts + (negative | (first == ord("+")))
    stops, exponents, odd = _exponents(buffer, words, starts, ends)
    mantissas, scales, bad = _mantissas(buffer, words, begins, stops)
    odd = odd | bad
    if exponents is not None:
        scales = exponents if scales is None else exponents + scales
    values = mantissas.astype(np.float64)
    if scales is not None:
        odd |= (scales < -300) | (scales > 300)
        if dtype is np.float64 or whole:
            odd |= (scales < -22) | (scales > 22)
        with np.errstate(over="ignore"):  # of what is left to float(), and of infinities
            values *= _POWERS[scales.clip(0, 300)]
        values /= _POWERS[(-scales).clip(0, 300)]
    if dtype is np.float64 or (whole and scales is not None):
        odd |= mantissas > 2**53  # a second rounding could be off by one unit
    elif not whole and scales is not None:
        odd |= _may_round_otherwise(values) & ((mantissas > 2**53) | (scales < -22) | (scales > 22))
    if whole:
        return _as_integers(buffer, starts, ends, mantissas, values, scales, negative, odd, dtype)
    np.negative(values, out=values, where=negative)
    for index in np.flatnonzero(odd):
        values[index] = _one(buffer, starts, ends, index)
    with np.errstate(over="ignore"):  # what is beyond float32 is infinite
        return values.astype(dtype)


def _may_round_otherwise(values: np.ndarray) -> np.ndarray:
    """Return which doubles could be on the other side of half way between two of float32, if off by some units."""
    beyond_half = (values.view(np.uint64) & np.uint64(2**29 - 1)) - np.uint64(2**28 - 4)
    return (beyond_half < 8) | (values < 2.0**-125)  # below, float32 has fewer digits


def _words_of(buffer: np.ndarray) -> np.ndarray:
    """Return eight bytes from each position on: numbers end anywhere, and words at odd addresses are slow to pick."""
    return np.ndarray((max(buffer.size - 7, 0),), "<u8", buffer, 0, (1,)).copy()


def _as_integers(
    buffer: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    mantissas: np.ndarray,
    values: np.ndarray,
    scales: np.ndarray | None,
    negative: np.ndarray,
    odd: np.ndarray,
    dtype: type[np.number],
) -> np.ndarray:
    limits = np.iinfo(dtype)  # type: ignore[type-var]  # integer types only
    odd = odd | (mantissas > np.uint64(2**63 - 1))
    with np.errstate(invalid="ignore"):
        found = mantissas.astype(np.int64)
        if scales is not None:
            found = np.where(scales == 0, found, values.astype(np.int64))
    np.negative(found, out=found, where=negative)
    for index in np.flatnonzero(odd):
        value = _one(buffer, starts, ends, index, whole=True)
        if not limits.min <= value <= limits.max:
            raise NotANumber(int(index))
        found[index] = value
    outside = np.flatnonzero((found < limits.min) | (found > limits.max))
    if outside.size:
        raise NotANumber(int(outside[0]))
    return found.astype(dtype)


def _one(
    buffer: np.ndarray, starts: np.ndarray, ends: np.ndarray, index: np.intp, *, whole: bool = False
) -> float:
    text = buffer[starts[index] : min(ends[index], starts[index] + LONGEST + 1)].tobytes()
    if len(text) > LONGEST or not _NUMBER.fullmatch(text):
        raise NotANumber(int(index))
    value = float(text)
    if not whole:
        return value
    if not math.isfinite(value):
        raise NotANumber(int(index))
    return int(text) if re.fullmatch(rb"[+-]?\d+", text) else math.trunc(value)


def _exponents(
    buffer: np.ndarray, words: np.ndarray, starts: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Return where the mantissas end, the exponents if there are any, and which numbers are not of this form."""
    odd = np.zeros(starts.shape, bool)
    places = np.flatnonzero((buffer | 0x20) == ord("e"))  # e and E
    if not places.size:
        return ends, None, odd
    stops, owner = _places_in(places, starts, ends)
    after = stops[owner] + 1
    sign = buffer[np.minimum(after, buffer.size - 1)]
    begins = after + ((sign == ord("-")) | (sign == ord("+")))
    digits, bad = _digits(words, begins, ends[owner])
    lengths = ends[owner] - begins
    odd[owner] = bad | (lengths < 1) | (lengths > 3)
    exponents = np.zeros(starts.shape, np.int64)
    exponents[owner] = np.where(sign == ord("-"), -digits.astype(np.int64), digits.astype(np.int64))
    return stops, exponents, odd


def _mantissas(
    buffer: np.ndarray, words: np.ndarray, begins: np.ndarray, stops: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Return all digits as a whole number, the power of ten for it, and which numbers are not of this form."""
    places = np.flatnonzero(buffer == ord("."))
    points, owner = _places_in(places, begins, stops) if places.size else (stops, places)
    found, odd = _digits(words, begins, points)
    if not owner.size:
        lengths = stops - begins
        return found, None, odd | (lengths < 1) | (lengths > _MOST_DIGITS)
    behind = np.maximum(stops - points - 1, 0)
    fractions, bad = _digits(words, stops - behind, stops)
    lengths = points - begins + behind
    odd |= bad | (lengths < 1) | (lengths > _MOST_DIGITS)
    found *= _WHOLE_POWERS[np.minimum(behind, _MOST_DIGITS)]
    found += fractions
    return found, -behind, odd


def _places_in(places: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the place in each piece, its end where there is none, and which pieces have one."""
    if places.shape == starts.shape and (places >= starts).all() and (places < ends).all():
        return places, np.arange(places.size)  # the common case: one in each
    owner = np.searchsorted(ends, places, side="right")
    inside = owner < ends.size
    inside[inside] = starts[owner[inside]] <= places[inside]
    found = ends.copy()
    # Of several in one piece the first counts; what is behind it has no digits then, and is no number.
    found[owner[inside][::-1]] = places[inside][::-1]
    return found, np.unique(owner[inside])


def _digits(words: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the whole numbers that runs of digits are, up to 24 digits, and which runs hold something else."""
    lengths = ends - begins
    found, bad = _eight_digits(words.take(ends - 8), lengths)
    for read in range(8, min(int(lengths.max(initial=0)), PADDING), 8):
        more, worse = _eight_digits(words.take(ends - read - 8), lengths - read)
        found += (
            more * _WHOLE_POWERS[read]
        )  # wraps around beyond 19 digits, which the callers leave to float()
        bad |= worse
    return found, bad


def _eight_digits(word: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what the last `lengths` of eight characters are as a number, and where they are not digits."""
    unused = ((8 - lengths.clip(0, 8)) * 8).astype(np.uint64)
    word ^= np.uint64(0x3030303030303030)
    word >>= unused
    word <<= unused  # zeros in front instead of what is there; a shift by 64 leaves nothing
    bad = ((word + np.uint64(0x7676767676767676)) | word) & np.uint64(0x8080808080808080)
    # Neighbouring digits become numbers of two, four and eight digits.
    word *= np.uint64(2561)
    word >>= np.uint64(8)
    word &= np.uint64(0x00FF00FF00FF00FF)
    word *= np.uint64(6553601)
    word >>= np.uint64(16)
    word &= np.uint64(0x0000FFFF0000FFFF)
    word *= np.uint64(42949672960001)
    word >>= np.uint64(32)
    return word, bad != 0
