"""Parameters of operators: values and their texts, what is refused, and how types read."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rebind import dtypes
from rebind.errors import ParameterError
from rebind.params import AtLeast, Between, Parameter, format_value

PARSED = [
    (int, 3, 3),
    (int, "3", 3),
    (int, "3L", 3),
    (int, "True", 1),
    (int, np.int64(3), 3),
    (float, "1e-3", 1e-3),
    (float, 2, 2.0),
    (float, np.float32(0.1), 0.1),
    (bool, "True", True),
    (bool, "false", False),
    (bool, "0", False),
    (bool, 1, True),
    (bool, np.True_, True),
    (Literal["a", "b"], "a", "a"),
    (torch.dtype, "float16", torch.float16),
    (torch.dtype, np.int8, torch.int8),
    (tuple[int, ...], "(3, 3)", (3, 3)),
    (tuple[int, ...], "[3,3]", (3, 3)),
    (tuple[int, ...], 3, (3,)),
    (tuple[int, ...], "()", ()),
    (tuple[int, ...], np.array([1, 2]), (1, 2)),
    (tuple[int, ...], "(3L, 3L)", (3, 3)),
    (tuple[int | None, ...], "(None, 2)", (None, 2)),
    (tuple[float, ...], "(0.5, 1)", (0.5, 1.0)),
    (int | None, "None", None),
    (int | None, None, None),
    (Annotated[int, AtLeast(1)], "1", 1),
    (tuple[Annotated[int, Between(0, 2)], ...], (0, 2), (0, 2)),
]
REFUSED = [
    (int, 2.5, "an int"),
    (int, 3.0, "an int"),  # its text would be no int in a file
    (int, "abc", "an int"),
    (int, None, "an int"),
    (float, "x", "a float"),
    (float, [1], "a float"),
    (bool, "yes", "a bool"),
    (bool, 0.5, "a bool"),
    (Literal["a", "b"], "c", "one of 'a', 'b'"),
    (torch.dtype, "float8", "a dtype"),
    (torch.dtype, "a", "a dtype"),  # an old letter, of which NumPy warns
    (torch.dtype, "2(", "a dtype"),  # NumPy's language of records: a ValueError, then a SyntaxError
    (torch.dtype, "3 8", "a dtype"),
    (tuple[int, ...], "(3,", "a tuple of ints"),
    (tuple[int, ...], "((((" * 300, "a tuple of ints"),
    (tuple[int, ...], "__import__('os')", "a tuple of ints"),
    (tuple[int, ...], {1: 2}, "a tuple of ints"),
    (Annotated[int, AtLeast(1)], 0, "an int >= 1"),
    (tuple[Annotated[int, AtLeast(1)], ...], (1, 0), "a tuple of ints >= 1"),
    (Annotated[float, Between(0, 1)], 1.5, "a float in [0, 1]"),
]


@pytest.mark.parametrize(("annotation", "value", "expected"), PARSED, ids=str)
def test_parse(annotation, value, expected) -> None:
    found = Parameter.from_annotation("p", annotation).parse(value)
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize(("annotation", "value", "expected"), PARSED, ids=str)
def test_text_says_the_same(annotation, value, expected) -> None:
    parameter = Parameter.from_annotation("p", annotation)
    if not isinstance(value, np.ndarray):
        assert parameter.parse(format_value(value)) == expected
    assert parameter.parse(format_value(expected)) == expected


@pytest.mark.parametrize(("annotation", "value", "says"), REFUSED, ids=str)
def test_refuse(annotation, value, says) -> None:
    with pytest.raises(ParameterError) as caught:
        Parameter.from_annotation("p", annotation).parse(value)
    assert str(caught.value.locate("op")).startswith(f"op: p must be {says}")
    assert f"got {value!r}" in str(caught.value)


def test_an_annotation_without_a_rule() -> None:
    with pytest.raises(TypeError, match="no rule"):
        Parameter.from_annotation("p", dict)


PRINTED = {
    "int": (int, st.integers(-(2**40), 2**40)),
    "float": (float, st.floats(allow_nan=False)),
    "bool": (bool, st.booleans()),
    "text": (str, st.text()),
    "word": (Literal["valid", "full", "same"], st.sampled_from(["valid", "full", "same"])),
    "type": (torch.dtype, st.sampled_from([row.torch for row in dtypes.DTYPES])),
    "ints": (tuple[int, ...], st.lists(st.integers(-99, 99), max_size=4).map(tuple)),
    "floats": (tuple[float, ...], st.lists(st.floats(-1e9, 1e9), max_size=4).map(tuple)),
    "ends": (tuple[int | None, ...], st.lists(st.none() | st.integers(-99, 99), max_size=4).map(tuple)),
    "optional": (int | None, st.none() | st.integers(-99, 99)),
    "bounded": (Annotated[int, AtLeast(1)], st.integers(1, 99)),
}


@pytest.mark.parametrize("name", PRINTED)
@settings(deadline=None, max_examples=50)
@given(data=st.data())
def test_what_is_printed_is_parsed_again(name: str, data: Any) -> None:
    annotation, values = PRINTED[name]
    parameter = Parameter.from_annotation("p", annotation)
    value = data.draw(values)
    assert parameter.parse(format_value(value)) == value
    assert parameter.parse(parameter.parse(value)) == value


@pytest.mark.parametrize("name", PRINTED)
@settings(deadline=None, max_examples=50)
@given(junk=st.text() | st.floats() | st.lists(st.text(), max_size=2) | st.binary())
def test_junk_is_a_sentence_or_a_value(name: str, junk: Any) -> None:
    parameter = Parameter.from_annotation("p", PRINTED[name][0])
    try:
        parameter.parse(junk)
    except ParameterError as error:
        assert str(error.locate("op")).startswith("op: p must be ")
