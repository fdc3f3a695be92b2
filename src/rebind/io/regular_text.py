"""Regular text read by a library, many numbers at a time: simdjson, the extra ``text``, or NumPy.

simdjson reads the numbers as one array of JSON, in a quarter of NumPy's time; ``+1``, ``.5`` or ``nan`` are no JSON,
and left to NumPy. The functions return None for text that is irregular or wrong: the iterators' plain readers decide
what it means. What is returned here equals what those make of it, to the last bit.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ..ndarray.sparse.csr import CSRStorage
from .number_text import LETTERS, LONGEST, rounded
from .rows import csr_rows

if TYPE_CHECKING:
    import simdjson

__all__ = ["read_lines", "read_table"]

#: A number put where a line ends, so that the numbers alone show how long the lines are. Doubles have it, too.
_MARK = 2**62
_MARKED_END = b",%d," % _MARK
_WITH_COMMAS = bytes.maketrans(b" :", b",,")

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
    text = text.replace(b"\r", b" ")
    marked = text.replace(b"\n", _MARKED_END)
    numbers = _numbers(marked, whole=issubclass(dtype, np.integer))
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
    return rounded(rows, dtype)


def read_lines(text: bytes, width: int) -> tuple[CSRStorage, np.ndarray] | None:
    r"""Return the rows and the labels of LibSVM's lines if each is a label and entries ``column:value``.

    >>> rows, labels = read_lines(b"1 0:5 2:6\n-2\n", 3)
    >>> rows.to_dense(), labels
    (tensor([[5., 0., 6.],
            [0., 0., 0.]]), array([ 1., -2.], dtype=float32))
    >>> read_lines(b"1:0.5 0 2:6\n", 3) is None
    True
    """
    text = text.replace(b"\t", b" ").replace(b"\r", b" ")
    if text[: text.find(b"\n")].endswith(b" "):
        text = text.replace(b" \n", b"\n")
    # Without digits, a colon follows each blank, and there are no others, if columns are digits alone.
    letters = np.frombuffer(text.translate(None, b"0123456789"), np.uint8)
    if not np.array_equal(letters[:-1] == ord(" "), letters[1:] == ord(":")):
        return None
    # With a mark before each label all numbers are pairs; the last mark has none.
    marked = text.replace(b"\n", _MARKED_END).translate(_WITH_COMMAS)
    numbers = _numbers(_MARKED_END[1:] + marked)
    if numbers is None or numbers.size % 2 == 0:
        return None
    firsts, seconds = numbers[:-1].reshape(-1, 2).T
    is_label = firsts == _MARK
    labels = np.flatnonzero(is_label)
    if not np.count_nonzero(numbers[:-1] == _MARK) == labels.size == _lines(text, marked):
        return None
    columns = firsts[~is_label]
    if (columns >= width).any():
        return None
    indptr = np.append(labels - np.arange(labels.size), columns.size)
    rows = csr_rows(rounded(seconds[~is_label]), indptr, columns.astype(np.int64), width)
    return rows, rounded(seconds[labels])


def _lines(text: bytes, marked: bytes) -> int:
    return (len(marked) - len(text)) // (len(_MARKED_END) - 1)


def _numbers(text: bytes, *, whole: bool = False) -> np.ndarray | None:
    """Return the numbers of a text, with commas between them and behind the last, as doubles or int64."""
    if _has_long_piece(text):
        return None
    for read in (_by_simdjson, _by_numpy) if _has_simdjson() else (_by_numpy,):
        try:
            if (numbers := read(text, whole)) is not None:
                return numbers
        except (ValueError, TypeError, RuntimeError):  # no JSON, or no numbers
            continue
    return None


def _by_numpy(text: bytes, whole: bool) -> np.ndarray | None:
    if text.translate(None, b"0123456789+- ," if whole else LETTERS + b","):
        return None
    line = text[:-1].decode()
    return np.loadtxt([line], np.int64 if whole else np.float64, comments=None, delimiter=",", ndmin=1)


def _by_simdjson(text: bytes, whole: bool) -> np.ndarray | None:
    if b"[" in text:  # the elements of an array within the array would count as its own
        return None
    try:
        parser = _idle.pop()
    except IndexError:  # not asked before, since another thread may take the last one
        parser = _new_parser()
    try:
        numbers = parser.parse(b"[%b0]" % text).as_buffer(of_type="i" if whole else "d")  # type: ignore[union-attr]
    finally:
        _idle.append(parser)
    values = np.frombuffer(numbers, np.int64 if whole else np.float64)[:-1]
    if not whole and (values == 0).any() and _has_whole_minus_zero(np.frombuffer(text, np.uint8)):
        return None
    return values


@cache
def _has_simdjson() -> bool:
    try:
        _idle.append(_new_parser())
    except ImportError:
        return False
    return True


def _new_parser() -> simdjson.Parser:
    import simdjson

    return simdjson.Parser()


def _has_whole_minus_zero(text: np.ndarray) -> bool:
    """Return whether there is a ``-0``, which is read as a whole number, without its sign; ``-0.0`` has it."""
    # What may follow it is less than a point: a comma, a blank.
    return bool(((text[:-2] == ord("-")) & (text[1:-1] == ord("0")) & (text[2:] < ord("."))).any())


def _has_long_piece(text: bytes) -> bool:
    """Return whether a piece between commas is longer than `LONGEST`.

    >>> _has_long_piece(b"1," * LONGEST), _has_long_piece(b"1" * LONGEST + b"1,")
    (False, True)
    """
    start = 0
    while len(text) - start > LONGEST:  # from comma to comma, as far as a piece may reach
        if (start := text.rfind(b",", start, start + LONGEST + 1) + 1) == 0:
            return True
    return False
