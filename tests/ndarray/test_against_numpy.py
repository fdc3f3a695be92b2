"""Broadcasting is that of NumPy, for shapes of any kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as numbers

import rebind as mx
from rebind.ops import OPERATORS

SHAPES = numbers.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4)
quickly = settings(deadline=None, max_examples=40)


def filled(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(1, np.prod(shape) + 1, dtype="float32").reshape(shape)


FUNCTIONS = {
    "broadcast_add": np.add,
    "broadcast_sub": np.subtract,
    "broadcast_mul": np.multiply,
    "broadcast_div": np.divide,
    "broadcast_maximum": np.maximum,
    "broadcast_minimum": np.minimum,
    "broadcast_hypot": np.hypot,
    "broadcast_greater": lambda a, b: (a > b).astype("float32"),
    "broadcast_logical_and": lambda a, b: np.logical_and(a, b).astype("float32"),
}


@st.composite
def broadcastable(draw: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays of as many axes that broadcast to each other, as MXNet takes them."""
    shape = draw(SHAPES)
    sides = [[1 if draw(st.booleans()) else n for n in shape] for _ in range(2)]
    return filled(tuple(sides[0])) - 3, filled(tuple(sides[1])) * 2 - 5


@pytest.mark.parametrize("name", FUNCTIONS)
@quickly
@given(case=broadcastable())
def test_broadcasting(name: str, case: tuple[np.ndarray, np.ndarray]) -> None:
    left, right = case
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = FUNCTIONS[name](left, right)
    found = getattr(mx.nd, name)(mx.nd.array(left), mx.nd.array(right)).asnumpy()
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    symbol = getattr(mx.sym, name)(mx.sym.var("l"), mx.sym.var("r"))
    assert symbol.infer_shape(l=left.shape, r=right.shape)[1] == [expected.shape]


@quickly
@given(case=broadcastable())
def test_broadcast_gradients_are_summed_to_the_shapes_of_the_inputs(
    case: tuple[np.ndarray, np.ndarray],
) -> None:
    left, right = (mx.nd.array(each) for each in case)
    for each in (left, right):
        each.attach_grad()
    with mx.autograd.record():
        product = mx.nd.broadcast_mul(left, right)
    product.backward()
    whole = np.ones(product.shape, "float32")
    for this, other in ((0, 1), (1, 0)):
        axes = tuple(i for i, n in enumerate(case[this].shape) if n != whole.shape[i])
        expected = (whole * case[other]).sum(axis=axes, keepdims=True) if axes else whole * case[other]
        np.testing.assert_allclose((left, right)[this].grad.asnumpy(), expected, rtol=1e-5)


@quickly
@given(case=broadcastable())
def test_broadcast_to_and_like(case: tuple[np.ndarray, np.ndarray]) -> None:
    left, right = case
    shape = np.broadcast_shapes(left.shape, right.shape)
    expected = np.broadcast_to(left, shape)
    np.testing.assert_array_equal(mx.nd.array(left).broadcast_to(shape).asnumpy(), expected)
    found = OPERATORS["broadcast_like"](mx.nd.array(left).tensor, mx.nd.zeros(shape).tensor)
    np.testing.assert_array_equal(found.numpy(), expected)
