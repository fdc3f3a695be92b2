"""Files of any content: what is read is what a plain reader in Python makes of them, and anything else is an error.

``make fuzz`` runs 100,000 cases for each format; the figures are in docs/input_files.md.
"""

import gzip
import re
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebind.errors import FormatError
from rebind.io.csv_iter import parse_any_table, parse_table
from rebind.io.idx import read_idx
from rebind.io.libsvm_iter import parse_any_lines, parse_lines
from rebind.io.text_chunks import TextChunk

pytestmark = pytest.mark.fuzz

NUMBER = re.compile(rb"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:nan|inf(inity)?))")
NUMBERS = [
    b"0",
    b"1",
    b"-2.5",
    b"+3e2",
    b"12345678",
    b"0.000001234567890123",
    b"1e-40",
    b"nan",
    b"-inf",
    b"7.",
    b".5",
]
ODD = [
    b"",
    b".",
    b"-",
    b"1x",
    b"0x1",
    b"1_0",
    b"e5",
    b"1e",
    b"1..2",
    b"--1",
    b"9" * 25,
    b"1e999",
    b"\xff",
    b"\x00",
    b'"1"',
]
BLANKS = [b" ", b"\t", b"\r", b"  "]


def texts(*others: bytes) -> st.SearchStrategy[bytes]:
    """Return texts of numbers, separators and blanks, some of which are wrong."""
    usual = st.sampled_from([*NUMBERS, *others, *others, b"\n", b"\n"])
    odd = st.sampled_from([*ODD, *BLANKS, *others])
    pieces = st.lists(st.one_of(usual, usual, usual, odd), max_size=24)
    return st.one_of(pieces.map(b"".join), st.binary(max_size=24)).map(lambda text: text + b"\n")


def number(text: bytes) -> float:
    if not NUMBER.fullmatch(text):
        raise ValueError
    return float(text)


def table(text: bytes, width: int) -> list[list[float]]:
    rows = []
    for line in text.split(b"\n"):
        fields = [field.strip(b" \t\r") for field in line.split(b",")]
        if fields[-1] == b"":
            fields.pop()
        if fields:
            if len(fields) != width:
                raise ValueError
            rows.append([number(field) for field in fields])
    return rows


def lines(text: bytes, width: int) -> tuple[list[float], list[list[tuple[int, float]]]]:
    """Return the labels, and the columns and values of each line in its order."""
    labels, rows = [], []
    for line in text.split(b"\n"):
        line = re.sub(rb"\bqid:\d+", b" ", line.partition(b"#")[0])
        first, *entries = [each for each in re.split(rb"[ \t\r]+", line) if each] or [b""]
        if not first:
            continue
        label, colon, weight = first.partition(b":")
        if colon and (not weight or b":" in weight):
            raise ValueError
        labels.append(number(label))
        rows.append([])
        for entry in entries:
            column, colon, value = entry.partition(b":")
            if not re.fullmatch(rb"\d{1,18}", column) or int(column) >= width:
                raise ValueError
            rows[-1].append((int(column), number(value) if colon else 1.0))
    return labels, rows


def same(found: np.ndarray, expected: list) -> bool:
    with np.errstate(over="ignore"):
        wanted = np.array(expected, np.float64).astype(np.float32).reshape(found.shape)
    return np.array_equal(found, wanted, equal_nan=True)


@pytest.mark.parametrize("parse", [parse_table, parse_any_table])
@settings(deadline=None)
@given(text=texts(b",", b","), width=st.integers(1, 3))
def test_csv(parse, text, width):
    try:
        expected = table(text, width)
    except ValueError:
        with pytest.raises(FormatError, match=r"^x.csv, line \d+"):
            parse(TextChunk(text, "x.csv", 0), width)
        return
    found = parse(TextChunk(text, "x.csv", 0), width)
    assert len(found) == len(expected)
    assert same(found, expected)


@pytest.mark.parametrize("parse", [parse_lines, parse_any_lines])
@settings(deadline=None)
@given(text=texts(b":", b" ", b" 0:", b" 2:", b"#", b" qid:3 ", b" 1 "))
def test_libsvm(parse, text):
    try:
        labels, rows = lines(text, 3)
    except ValueError:
        with pytest.raises(FormatError, match=r"^x.t, line \d+, column \d+"):
            parse(TextChunk(text, "x.t", 0), 3)
        return
    found, found_labels = parse(TextChunk(text, "x.t", 0), 3)
    assert found.shape == (len(labels), 3)
    assert same(found_labels, labels)
    assert found.indptr.tolist() == [0, *np.cumsum([len(row) for row in rows])]
    assert found.indices.tolist() == [column for row in rows for column, _ in row]
    assert same(found.data.numpy(), [value for row in rows for _, value in row])


SIZES = st.one_of(st.integers(0, 3), st.integers(0, 2**32 - 1))


@settings(deadline=None)
@given(
    shape=st.tuples(SIZES, SIZES, SIZES),
    magic=st.sampled_from([2051] * 6 + [2049, 2052, 0, 3475]),
    content=st.binary(max_size=30),
    exact=st.booleans(),
    compress=st.booleans(),
    cut=st.integers(0, 80),
    flip=st.integers(0, 80),
)
def test_idx(tmp_path_factory, shape, magic, content, exact, compress, cut, flip):
    size = shape[0] * shape[1] * shape[2]
    if exact and size <= 30:
        content = content.ljust(size, b"x")[:size]
    data = struct.pack(">4I", magic, *shape) + content
    if not compress:
        data = data[:cut] if cut < len(data) else data
    right = magic == 2051 and len(data) > 16 and size == len(data) - 16
    content = data[16:]
    if compress:
        data = gzip.compress(data, mtime=0)
        if cut < len(data):
            data, right = data[:cut], False
    if compress and flip < len(data):
        # Where it matters, the checksum tells; a flip in the header's time or system does not.
        data, right = data[:flip] + bytes([data[flip] ^ 1]) + data[flip + 1 :], right and flip in range(4, 10)
    path = tmp_path_factory.getbasetemp() / "fuzzed"
    path.write_bytes(data)
    try:
        found = read_idx(str(path), axes=3)
    except FormatError:
        assert not right
        return
    assert right or compress
    assert found.shape == shape
    assert found.tobytes() == content
