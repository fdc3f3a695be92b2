"""What libraries read is equal, to the last bit, to what the plain readers make of it."""

import builtins
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebind.errors import FormatError
from rebind.io import regular_text
from rebind.io.csv_iter import parse_any_table, parse_table
from rebind.io.libsvm_iter import parse_any_lines, parse_lines
from rebind.io.regular_text import read_lines, read_table
from rebind.io.text_chunks import TextChunk
from rebind.ndarray.sparse.csr import CSRStorage

from .number_texts import JSON_NUMBERS, NO_JSON

ALL = [np.float32, np.float64, np.int64, np.int32, np.int16, np.int8, np.uint8]
DTYPES = st.sampled_from(ALL)
BLANKS = st.sampled_from([""] * 12 + [" ", "\t", "\r", "  "])


LIBRARIES = pytest.mark.parametrize("library", ["simdjson", "numpy"])


@contextmanager
def reading_by(library: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if library == "numpy":
            patch.setattr(regular_text, "_has_simdjson", lambda: False)
        yield


def in_parts(found: tuple[CSRStorage, np.ndarray]) -> list[np.ndarray]:
    rows, labels = found
    return [*(each.numpy() for each in (rows.data, rows.indptr, rows.indices)), labels]


def equal(found: np.ndarray, expected: np.ndarray) -> bool:
    return (
        found.dtype == expected.dtype
        and found.shape == expected.shape
        and found.tobytes() == expected.tobytes()
    )


@st.composite
def tables(draw):
    """Return a text with commas, regular but for a few pieces, and how many numbers its lines have."""
    width = draw(st.integers(1, 4))
    odd = draw(st.booleans())
    piece = st.one_of(*[JSON_NUMBERS] * 6, NO_JSON) if odd else JSON_NUMBERS
    rows = draw(
        st.lists(st.lists(st.tuples(BLANKS, piece, BLANKS), min_size=width, max_size=width), min_size=1)
    )
    ends = draw(st.sampled_from(["\n"] * 4 + ["\r\n", ",\n", "\n\n"]))
    lines = [",".join("".join(field) for field in row) for row in rows]
    if odd and draw(st.booleans()):
        at = draw(st.integers(0, len(lines) - 1))
        lines[at] += draw(st.sampled_from([",1", ",4611686018427387904", "\n5"]))
    return (ends.join(lines) + "\n").encode(), width


@pytest.mark.fuzz
@LIBRARIES
@settings(deadline=None)
@given(table=tables(), dtype=DTYPES)
def test_tables(library, table, dtype):
    text, width = table
    with reading_by(library):
        found = read_table(text, width, dtype)
    if found is not None:
        assert equal(found, parse_any_table(TextChunk(text, "x.csv", 0), width, dtype))


@st.composite
def entries(draw):
    """Return lines of LibSVM's format, regular but for a few pieces."""
    odd = draw(st.booleans())
    number = st.one_of(*[JSON_NUMBERS] * 6, NO_JSON) if odd else JSON_NUMBERS
    column = st.integers(0, 12).map(str)
    if odd:
        column = st.one_of(
            column, st.sampled_from(["1.0", "1e0", "-1", "-0", "01", "", "x", "qid", "99999999999999999999"])
        )
    colons = st.sampled_from([":"] * 9 + [": ", " :", ":\t", "::", ",", " "]) if odd else st.just(":")
    gaps = st.sampled_from([" "] * 9 + ["\t", "  ", " \r"]) if odd else st.just(" ")
    ends = draw(st.sampled_from(["\n", "\n", " \n", "\r\n", " # 1:2\n"]))
    line = st.tuples(number, st.lists(st.tuples(gaps, column, colons, number), max_size=5))
    lines = draw(st.lists(line, min_size=1, max_size=6))
    return "".join(label + "".join("".join(each) for each in rest) + ends for label, rest in lines).encode()


@pytest.mark.fuzz
@LIBRARIES
@settings(deadline=None)
@given(text=entries())
def test_lines(library, text):
    with reading_by(library):
        found = read_lines(text, 13)
    if found is not None:
        expected = parse_any_lines(TextChunk(text, "x.t", 0), 13)
        assert all(map(equal, in_parts(found), in_parts(expected)))


@LIBRARIES
@pytest.mark.parametrize(
    ("text", "width", "dtype"),
    [
        (b"1,2.5\n-3e2,4\n", 2, np.float32),
        (b" 1 ,\t2\r\n3,4\r\n", 2, np.float64),
        (b"-0.0,-0e3\n", 2, np.float32),
        (b"-9223372036854775808,9223372036854775807\n", 2, np.int64),
        (b"-128,127\n", 2, np.int8),
        (b"-0,1\n", 2, np.float32),  # whole numbers of JSON have no sign of zero
        (b"1,-0 \n", 2, np.float64),
        (b"1e999,2\n", 2, np.float32),
        (b"1e400,1\n", 2, np.float64),
        (b"1,.5\n", 2, np.float32),
        (b"+1,nan\n-inf,7.\n", 2, np.float32),  # no JSON
        *[(b"1,25\n127,0\n", 2, dtype) for dtype in ALL],
        *[(b"100,9\n" * 500, 2, dtype) for dtype in ALL],
    ],
)
def test_what_is_a_regular_table(library, text, width, dtype):
    with reading_by(library):
        found = read_table(text, width, dtype)
    assert equal(found, parse_any_table(TextChunk(text, "x.csv", 0), width, dtype))


@pytest.mark.parametrize(
    ("text", "width", "dtype"),
    [
        (b"1,2\n3\n", 2, np.float32),
        (b"1\n2,3,4\n", 2, np.float32),  # as many numbers as in two lines
        (b"5,4611686018427387904,6\n", 1, np.float32),  # what marks the end of a line
        (b"1,2\n\n", 2, np.float32),
        (b"[1],2\n", 2, np.float32),
        (b"1],[2\n", 2, np.float32),
        (b"1],2\n", 2, np.float32),
        (b'"1",2\n', 2, np.float32),
        (b"true,null\n", 2, np.float32),
        (b"1,\xff\n", 2, np.float32),
        (b"0." + b"3" * 5000 + b",2\n", 2, np.float32),
        (b"256,1\n", 2, np.uint8),
        (b"-1,1\n", 2, np.uint8),
        (b"1.5,1\n", 2, np.int32),
        (b"9223372036854775808,1\n", 2, np.int64),
        (b"128,1\n", 2, np.int8),
        (b",1\n", 2, np.float32),
        (b"1,,2\n", 2, np.float32),
        (b"1,2,\n", 2, np.float32),
        (b"\n", 2, np.float32),
        (b"1 2\n", 2, np.float32),
        (b"1\r2,3\n", 2, np.float32),
        (b"1;2\n", 2, np.float32),
        (b"1\x002\n", 2, np.float32),
    ],
)
def test_what_is_no_regular_table(text, width, dtype):
    assert read_table(text, width, dtype) is None


@LIBRARIES
@pytest.mark.parametrize(
    "text",
    [
        b"1 0:5 2:6\n-2\n",
        b"1 0:1 0:2 \n3 1:1 \n",
        b"1\t0:5\r\n",
        b"-1e2 2:-0.0\n",
        b"1 01:1\n",
        b"1 1:-0\n",
        b"-0 1:1\n",
        b"+1 1:.5 2:nan\n",
    ],
)
def test_what_are_regular_lines(library, text):
    expected = parse_any_lines(TextChunk(text, "x.t", 0), 3)
    with reading_by(library):
        found = read_lines(text, 3)
    assert all(map(equal, in_parts(found), in_parts(expected)))


@pytest.mark.parametrize(
    "text",
    [
        b"1:0.5 1:2\n",  # a weight
        b"1 0 2:6\n",  # a column without a value
        b"1 0\n5:2 3:4\n",  # colons and blanks take turns, but the lines do not end between pairs
        b"1 0:1:2\n",
        b"1 qid:3 1:2\n",
        b"1 1:2 # 0:1\n",
        b"1  1:2\n",
        b" 1 1:2\n",
        b"1 1: 2\n",
        b"1 1:\r2\n",
        b"1 3:1\n",
        b"1 1.0:1\n",
        b"1 1e0:1\n",
        b"1 -0:1\n",
        b"4611686018427387904 1:1\n",
        b"1 1:4611686018427387904\n",
        b"1 1:[2]\n",
        b"\n1 1:2\n",
    ],
)
def test_what_are_no_regular_lines(text):
    assert read_lines(text, 3) is None


def test_without_the_extra(monkeypatch):
    imported = builtins.__import__

    def without(name, *rest):
        if name == "simdjson":
            raise ImportError(name)
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setattr(regular_text, "_idle", [])
    regular_text._has_simdjson.cache_clear()
    try:
        assert read_table(b"1.5,2\n", 2).tolist() == [[1.5, 2]]
        assert read_lines(b"1 0:1\n", 3)[1].tolist() == [1]
        assert parse_table(TextChunk(b"1.5,2\n", "x.csv", 0), 2).tolist() == [[1.5, 2]]
        assert parse_lines(TextChunk(b"1 0:1\n", "x.t", 0), 3)[1].tolist() == [1]
        with pytest.raises(FormatError, match="line 1, column 3: must be a number"):
            parse_table(TextChunk(b"1,x\n", "no-such-file", 0), 2)
    finally:
        regular_text._has_simdjson.cache_clear()


@LIBRARIES
def test_queries_and_comments_are_regular(library, monkeypatch):
    monkeypatch.setattr("rebind.io.libsvm_iter.parse_any_lines", None)
    chunk = TextChunk(b"1 qid:3 0:5 2:6 # 1:2\n2 qid:4 1:7\n3 qid:4\t0:8#\n", "x.t", 0)
    with reading_by(library):
        rows, labels = parse_lines(chunk, 3)
    assert rows.to_dense().tolist() == [[5, 0, 6], [0, 7, 0], [8, 0, 0]]
    assert labels.tolist() == [1, 2, 3]
