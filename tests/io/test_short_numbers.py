"""What is read from neighbouring bytes is equal to what the parser of any table makes of the text."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebind.io.csv_iter import parse_any_table
from rebind.io.short_numbers import read_short_numbers
from rebind.io.text_chunks import TextChunk

DTYPES = [np.float32, np.float64, np.int64, np.int32, np.int16, np.int8, np.uint8]
PIECES = st.sampled_from(
    ["0", "7", "10", "99", "100", "255", "999"] * 3 + ["007", "1000", "", "+1", " 1", "-1", "1.0", "x"]
)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", [b"1,25\n127,0\n", b"007,10\n", b"100,9\n" * 500])
def test_what_is_read(text, dtype):
    found, expected = (
        read_short_numbers(text, 2, dtype),
        parse_any_table(TextChunk(text, "x.csv", 0), 2, dtype),
    )
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "text",
    [
        b"1,1000\n",
        b"1,2\n3\n",
        b"1\n2,3,4\n",
        b",1\n",
        b"1,,2\n",
        b"1,2\n\n",
        b"1,2,\n",
        b"\n",
        b"1 2\n",
        b"1,2\r\n",
        b"1;2\n",
        b"1\x002\n",
        b"1,-2\n",
        b"1,.5\n",
    ],
)
def test_what_is_left_to_others(text):
    assert read_short_numbers(text, 2) is None


def test_what_does_not_fit_a_type():
    assert read_short_numbers(b"256,1\n", 2, np.uint8) is None
    assert read_short_numbers(b"128,1\n", 2, np.int8) is None


@pytest.mark.fuzz
@settings(deadline=None)
@given(rows=st.lists(st.lists(PIECES, min_size=1, max_size=3), min_size=1), width=st.integers(1, 3))
def test_any_text(rows, width):
    text = "".join(",".join(row) + "\n" for row in rows).encode()
    found = read_short_numbers(text, width)
    if found is not None:
        np.testing.assert_array_equal(found, parse_any_table(TextChunk(text, "x.csv", 0), width))
