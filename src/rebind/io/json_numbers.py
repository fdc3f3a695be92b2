"""Regular text read by compiled code: its numbers as one array of JSON, by simdjson, the extra ``text``.

That takes a sixth of the time of `decimals`, but JSON has no ``+1``, ``.5`` or ``nan``, and nothing here says what is
wrong with a text. So these functions return None for all but regular text, and without simdjson: what the parsers
around `decimals` make of a text is what it means. What is returned here equals that to the last bit.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from .decimals import LONGEST
from .sparse_rows import SparseRows

if TYPE_CHECKING:
    import simdjson

__all__ = ["read_lines", "read_table"]

#: A number put where a line ends, so that the numbers alone show how long the lines are. Doubles have it, too.
_MARK = 2**62
_MARKED_END = b",%d," % _MARK

#: Parsers that no thread uses now. They keep their memory from text to text; the threads that read end with an epoch.
_idle: list[simdjson.Parser] = []


def read_table(text: bytes, width: int, dtype: type[np.number] = np.float32) -> np.ndarray | None:
    r"""Return the numbers of a table with commas if each line has `width` of them.

    >>> read_table(b"1,2.5\n-3e2,4\n", 2)
    array([[   1. ,    2.5],
           [-300. ,    4. ]], dtype=float32)
    >>> read_table(b"1,2.5\n-3e2\n", 2) is None
    True
    """
    if not _is_installed():
        return None
    marked = text.replace(b"\n", _MARKED_END)
    numbers = _numbers(b"[%b0 ]" % marked, whole=issubclass(dtype, np.integer))
    if numbers is None or numbers.size % (width + 1):
        return None
    rows = numbers.reshape(-1, width + 1)
    marks = rows == _MARK
    # A mark ends each row, and there are no others but in the text itself, which then has fewer lines than rows.
    if not (marks[:, -1].all() and np.count_nonzero(marks) == len(rows) == _lines(text, marked)):
        return None
    rows = rows[:, :-1]
    if issubclass(dtype, np.integer):
        limits = np.iinfo(dtype)
        if rows.min() < limits.min or rows.max() > limits.max:
            return None
    return _rounded(rows, dtype)


def read_lines(text: bytes, width: int) -> tuple[SparseRows, np.ndarray] | None:
    r"""Return the rows and the labels of LibSVM's lines if each is a label and entries ``column:value``.

    >>> rows, labels = read_lines(b"1 0:5 2:6\n-2\n", 3)
    >>> rows.dense(), labels
    (array([[5., 0., 6.],
           [0., 0., 0.]], dtype=float32), array([ 1., -2.], dtype=float32))
    >>> read_lines(b"1:0.5 0 2:6\n", 3) is None
    True
    """
    if not _is_installed():
        return None
    text = text.replace(b"\t", b" ").replace(b"\r", b" ")
    if text[: text.find(b"\n")].endswith(b" "):
        text = text.replace(b" \n", b"\n")
    commas = _entries_with_commas(np.frombuffer(text, np.uint8))
    if commas is None:
        return None
    marked = commas.replace(b"\n", _MARKED_END)
    # With a mark before each label all numbers are pairs; the last mark has none.
    numbers = _numbers(b"[%b%b0 ]" % (_MARKED_END[1:], marked))
    if numbers is None or numbers.size % 2 == 0:
        return None
    pairs = numbers[:-1].view(np.complex128)  # one element each, so that one pass takes both numbers
    is_label = pairs.real == _MARK
    labels = np.flatnonzero(is_label)
    if not np.count_nonzero(numbers[:-1] == _MARK) == labels.size == _lines(text, marked):
        return None
    entries = pairs.take(np.flatnonzero(~is_label))
    if entries.size and entries.real.max() >= width:
        return None
    indptr = np.append(labels - np.arange(labels.size), entries.size)
    rows = SparseRows(indptr, entries.real.astype(np.int64), _rounded(entries.imag), width)
    return rows, _rounded(pairs.imag.take(labels))


def _lines(text: bytes, marked: bytes) -> int:
    return (len(marked) - len(text)) // (len(_MARKED_END) - 1)


def _rounded(numbers: np.ndarray, dtype: type[np.number] = np.float32) -> np.ndarray:
    with np.errstate(over="ignore"):  # what is beyond float32 is infinite
        return numbers.astype(dtype)


@cache
def _is_installed() -> bool:
    try:
        _idle.append(_new_parser())
    except ImportError:
        return False
    return True


def _new_parser() -> simdjson.Parser:
    import simdjson

    return simdjson.Parser()


def _numbers(text: bytes, *, whole: bool = False) -> np.ndarray | None:
    """Return the numbers of an array of JSON but the last, as doubles or, if they are to be whole, as int64."""
    if text.find(b"[", 1) > 0:  # the elements of an array within the array would count as its own
        return None
    try:
        parser = _idle.pop()
    except IndexError:  # not asked before, since another thread may take the last one
        parser = _new_parser()
    try:
        numbers = parser.parse(text).as_buffer(of_type="i" if whole else "d")  # type: ignore[union-attr]
    except (ValueError, TypeError, RuntimeError):  # no JSON, no numbers, more than an array
        return None
    finally:
        _idle.append(parser)
    found = np.frombuffer(numbers, np.int64 if whole else np.float64)
    letters = np.frombuffer(text, np.uint8)
    if _may_have_long_pieces(letters):
        return None
    if not whole and (found == 0).any() and _has_whole_minus_zero(letters):
        return None
    return found[:-1]


def _may_have_long_pieces(text: np.ndarray) -> bool:
    """Return False if no piece between commas is longer than `decimals` allows, as a rule."""
    size = LONGEST // 2  # a longer piece covers one of the blocks of this size
    blocks = text[: text.size // size * size].reshape(-1, size)
    return not (blocks[:, :64] == ord(",")).any(axis=1).all()


def _has_whole_minus_zero(text: np.ndarray) -> bool:
    """Return whether there is a ``-0``, which is read as a whole number, without its sign; ``-0.0`` keeps it."""
    # What may follow it is less than a point: a comma, a blank.
    return bool(((text[:-2] == ord("-")) & (text[1:-1] == ord("0")) & (text[2:] < ord("."))).any())


def _entries_with_commas(letters: np.ndarray) -> bytes | None:
    """Return a text with commas for blanks and colons if digits and a colon follow each blank, and no others do."""
    blanks, colons = letters == ord(" "), letters == ord(":")
    if not _are_columns(_bits(blanks), _bits(letters - np.uint8(ord("0")) < 10), _bits(colons)):
        return None
    # By arithmetic, which is several times as fast as a table of letters.
    blanks, colons = blanks.view(np.uint8), colons.view(np.uint8)
    return (
        letters + blanks * np.uint8(ord(",") - ord(" ")) - colons * np.uint8(ord(":") - ord(","))
    ).tobytes()


def _are_columns(blanks: np.ndarray, digits: np.ndarray, colons: np.ndarray) -> bool:
    """Return, from bits of 64 letters each, whether digits and a colon follow each blank, and no other colons are."""
    begins = blanks << np.uint64(1)
    begins[1:] |= blanks[:-1] >> np.uint64(63)
    # Adding a bit where digits begin carries it to where they end, which may be in the next word: a column has less
    # than 64 digits, or it is refused for its size.
    ends = begins + digits
    ends[1:] += (ends < digits)[:-1]
    ends &= ~digits
    return bool((ends == colons).all())


def _bits(flags: np.ndarray) -> np.ndarray:
    words = np.zeros(flags.size // 64 + 1, "<u8")
    words.view(np.uint8)[: -(-flags.size // 8)] = np.packbits(flags, bitorder="little")
    return words
