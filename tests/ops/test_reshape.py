"""The codes of reshape, for shapes and codes of all kinds."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rebind.errors import ShapeError
from rebind.ops import OPERATORS
from rebind.ops.reshape import reshape_target

shapes = st.lists(st.integers(1, 6), min_size=1, max_size=5).map(tuple)


@st.composite
def codes_and_answers(draw):
    """Draw a source shape, codes that fit it, and what they must give."""
    shape = draw(shapes)
    codes, target, at, free = [], [], 0, True
    while at < len(shape):
        choices = ["copy", "size", "split"]
        if at + 1 < len(shape):
            choices.append("join")
        if free:
            choices.append("infer")
        choices.append("rest")
        kind = draw(st.sampled_from(choices))
        if kind == "rest":
            codes.append(-2)
            target += shape[at:]
            break
        if kind == "join":
            codes.append(-3)
            target.append(shape[at] * shape[at + 1])
            at += 2
            continue
        size = shape[at]
        at += 1
        if kind == "copy":
            codes.append(0)
            target.append(size)
        elif kind == "size":
            codes.append(size)
            target.append(size)
        elif kind == "infer":
            codes.append(-1)
            target.append(size)
            free = False
        else:
            first = draw(st.sampled_from([n for n in range(1, size + 1) if size % n == 0]))
            parts = [first, size // first]
            target += parts
            hidden = draw(st.sampled_from([None, 0, 1]))
            if hidden is not None:
                parts[hidden] = -1
            codes += [-4, *parts]
    return shape, tuple(codes), tuple(target)


@given(codes_and_answers())
def test_codes(case):
    shape, codes, target = case
    assert reshape_target(shape, codes) == target


@given(codes_and_answers())
def test_reverse_is_the_mirror_image(case):
    shape, codes, target = case
    assert reshape_target(shape[::-1], codes[::-1], True) == target[::-1]


@given(shapes, st.lists(st.integers(-5, 8), max_size=6).map(tuple), st.booleans())
def test_any_codes_fit_or_are_an_error(shape, codes, reverse):
    try:
        target = reshape_target(shape, codes, reverse)
    except ShapeError:
        return
    assert prod(target) == prod(shape) and min(target, default=1) >= 0


@given(codes_and_answers())
def test_order_of_elements_stays(case):
    shape, codes, target = case
    x = np.arange(prod(shape)).reshape(shape)
    assert (OPERATORS["Reshape"](torch.tensor(x), shape=codes).numpy() == x.reshape(target)).all()


@given(codes_and_answers(), st.data())
def test_one_unknown_size_is_found_from_the_output(case, data):
    shape, codes, target = case
    axis = data.draw(st.integers(0, len(shape) - 1))
    half = tuple(0 if a == axis else n for a, n in enumerate(shape))
    op = OPERATORS["Reshape"]
    assert op.inference.shapes_of_inputs({"data": half}, [target], op.parse({"shape": codes})) == {
        "data": shape
    }


@pytest.mark.parametrize(
    ("name", "shape", "parameters", "expected"),
    [
        ("Reshape", (0, 3), {"shape": (0, -1)}, (0, 0)),
        ("Reshape", (0, 3), {"shape": (-1, 3)}, (0, 3)),
        ("Flatten", (0, 3, 2), {}, (0, 6)),
    ],
)
def test_empty_arrays(name, shape, parameters, expected):
    assert OPERATORS[name](torch.zeros(shape), **parameters).shape == expected


@pytest.mark.parametrize(
    ("target", "keep", "expected"),
    [((4, 0), False, (4, 6)), ((7, 4, 0), True, (2, 4, 3)), ((4, 6), False, (4, 6))],
)
def test_target_shape_of_old(target, keep, expected):
    out = OPERATORS["Reshape"](torch.zeros(2, 3, 4), target_shape=target, keep_highest=keep)
    assert out.shape == expected


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
    st.data(),
)
def test_slice_is_numpys(shape, data):
    bound = st.one_of(st.none(), st.integers(-7, 7))
    begin = tuple(data.draw(bound) for _ in shape)
    end = tuple(data.draw(bound) for _ in shape)
    step = tuple(data.draw(st.one_of(st.none(), st.integers(-3, 3).filter(bool))) for _ in shape)
    x = np.arange(prod(shape)).reshape(shape)
    index = tuple(map(slice, begin, end, step))
    found = OPERATORS["slice"](torch.tensor(x), begin=begin, end=end, step=step).numpy()
    assert found.shape == x[index].shape and (found == x[index]).all()
    expected = x.copy()
    expected[index] = -1
    assert (
        OPERATORS["_slice_assign_scalar"](torch.tensor(x), scalar=-1, begin=begin, end=end, step=step).numpy()
        == expected
    ).all()
    values = np.arange(x[index].size).reshape(x[index].shape) + 100
    expected[index] = values
    found = OPERATORS["_slice_assign"](torch.tensor(x), torch.tensor(values), begin=begin, end=end, step=step)
    assert (found.numpy() == expected).all()
