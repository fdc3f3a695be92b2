"""Python's operators give the same however often they are used, and over whichever memory."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx

NUMBERS = [2, 7.0, 0.1, 1 / 3, -0.3, 0, 0.0, -0.0, 1e-46, 1e-30, 3e38, 1e300, np.inf, np.nan]
OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv,
    operator.eq, operator.ne, operator.gt, operator.ge, operator.lt, operator.le,
]  # fmt: skip


def results(operate: Callable[[Any, Any], Any], *operands: Any) -> set[Any]:
    """Return what differs between results of the same call, made again and again."""
    found = [operate(*operands) for _ in range(4)]
    return {(each.dtype, each.shape, each.asnumpy().tobytes()) for each in found}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("number", NUMBERS, ids=str)
@pytest.mark.parametrize("operate", OPERATORS, ids=lambda each: each.__name__)
def test_a_number_gives_the_same_when_it_comes_again(
    operate: Callable[[Any, Any], Any], number: float, dtype: str
) -> None:
    x = mx.nd.array([-2.5, -0.1, 0.0, 0.1, 1 / 3, 7.0], dtype=dtype)
    assert len(results(operate, x, number)) == len(results(operate, number, x)) == 1


@pytest.mark.parametrize("number", [2, 2.9, -3, 1.5], ids=str)
@pytest.mark.parametrize("operate", [*OPERATORS, operator.mod, operator.pow], ids=lambda each: each.__name__)
def test_numbers_beside_others(operate: Callable[[Any, Any], Any], number: float) -> None:
    for dtype in ("int32", "uint8", "float32"):
        x = mx.nd.array([1, 2, 3, 7], dtype=dtype)
        assert len(results(operate, x, number)) == len(results(operate, number, x)) == 1


def test_a_quotient_of_a_number_is_rounded_once() -> None:
    values = np.random.default_rng(0).uniform(0.1, 9, 1000).astype(np.float32)
    for number in (0.1, 3.0):
        found = number / mx.nd.array(values)
        np.testing.assert_array_equal(found.asnumpy(), np.float32(number) / values)


def test_a_number_is_for_every_mode() -> None:
    x = mx.nd.ones((2,))
    with torch.inference_mode():
        for _ in range(3):
            (x * 5.0).asnumpy()
    x.attach_grad()
    with mx.autograd.record():
        y = x * 5.0
    y.backward()
    assert x.grad.asnumpy().tolist() == [5, 5]
    assert (x * 5.0).asnumpy().tolist() == [5, 5]


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "mod"])
@pytest.mark.parametrize("other", ["array", "itself", "a row", "a number", "a part of it"])
def test_in_place(name: str, other: str) -> None:
    values = np.array([[4.0, 6.0], [9.0, 2.0], [5.0, 3.0]], np.float32)
    x = mx.nd.array(values)
    memory, target, wanted = x.tensor.data_ptr(), x, values.copy()
    operand: Any = {
        "array": mx.nd.array(values + 1),
        "itself": x,
        "a row": mx.nd.array([2.0, 3.0]),
        "a number": 3,
        "a part of it": x[:2],
    }[other]
    if other == "a part of it":  # what is written is read again one row on
        target, wanted = x[1:], wanted[1:]
    given = operand.asnumpy().copy() if isinstance(operand, mx.nd.NDArray) else operand
    changed = getattr(operator, f"i{name}")(target, operand)
    assert changed is target
    np.testing.assert_allclose(target.asnumpy(), getattr(operator, name)(wanted, given), rtol=1e-6)
    assert x.tensor.data_ptr() == memory


def test_in_place_with_arrays_that_it_cannot_take_in_place() -> None:
    x, y = mx.nd.array([1, 2]), mx.nd.array([1, 2], dtype="int32")
    with pytest.raises(mx.MXNetError, match="type"):
        x += y
    with pytest.raises(mx.MXNetError, match=r"shape"):
        x += mx.nd.ones((3, 2))
    x.attach_grad()
    with mx.autograd.record(), pytest.raises(mx.MXNetError, match="would lose gradients"):
        x += x
