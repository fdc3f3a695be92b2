"""Tables of whole numbers of up to three digits, such as pixels: read from neighbouring bytes, many at a time.

All bytes are treated alike, whatever number they are of, which takes a seventh of the time of `decimals`.
"""

from __future__ import annotations

import numpy as np

__all__ = ["read_short_numbers"]


def read_short_numbers(text: bytes, width: int, dtype: type[np.number] = np.float32) -> np.ndarray | None:
    r"""Return the numbers of a table if it has only digits, three together at most, commas, and `width` in each line.

    Otherwise it returns None, and what another parser makes of the text is what it means.

    >>> read_short_numbers(b"1,25\n255,0\n", 2)
    array([[  1.,  25.],
           [255.,   0.]], dtype=float32)
    >>> read_short_numbers(b"1,1000\n", 2) is None
    True
    """
    if b"." in text or b"-" in text:  # seen at once in what this is not for
        return None
    letters = np.frombuffer(b",,,%b" % text, np.uint8)
    units = letters - np.uint8(ord("0"))
    is_digit = units < 10
    too_long = is_digit[:-3] & is_digit[1:-2] & is_digit[2:-1] & is_digit[3:]
    if too_long.any() or not (is_digit[2:-1] | is_digit[3:]).all():  # the other is nothing between separators
        return None
    # From three bytes before a separator on are the digits of the number that it ends.
    firsts = np.flatnonzero(~is_digit[3:])
    if not _are_rows(letters[3:], firsts, width):
        return None
    units *= is_digit.view(np.uint8)
    hundreds = units[:-2] * is_digit[1:-1].view(np.uint8)
    units[1:] += units[:-1] * np.uint8(10)
    numbers = hundreds.take(firsts).astype(np.uint16)
    numbers *= np.uint16(100)
    numbers += units.take(firsts + 2)
    if issubclass(dtype, np.integer) and numbers.max() > np.iinfo(dtype).max:
        return None
    return numbers.astype(dtype).reshape(-1, width)


def _are_rows(letters: np.ndarray, separators: np.ndarray, width: int) -> bool:
    """Return whether separators are newlines behind `width` numbers each, and commas elsewhere."""
    lines = np.count_nonzero(letters == ord("\n"))
    return (
        separators.size == lines * width == lines + np.count_nonzero(letters == ord(","))
        and (letters.take(separators[width - 1 :: width]) == ord("\n")).all()
    )
