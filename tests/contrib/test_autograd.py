"""`contrib.autograd`, the names of gradients before `mx.autograd`; what MXNet 1.9.1 gives is written beside it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import rebind as mx
from rebind.contrib import autograd
from rebind.errors import ArgumentError


def two(a: mx.nd.NDArray, b: mx.nd.NDArray) -> tuple[mx.nd.NDArray, mx.nd.NDArray]:
    return a * b, a + b


@pytest.mark.parametrize(
    ("argnum", "expected"),
    [(None, [[3, 4, 5], [2, 3, 4]]), (1, [[2, 3, 4]]), ([0, 1], [[3, 4, 5], [2, 3, 4]]), ((0,), [[3, 4, 5]])],
)
def test_gradients_of_a_function(argnum: int | list[int] | None, expected: list[list[float]]) -> None:
    x = mx.nd.array([1, 2, 3])
    gradients, outputs = autograd.grad_and_loss(two, argnum)(x, x + 1)
    assert [each.tolist() for each in gradients] == expected
    assert [each.tolist() for each in outputs] == [[2, 6, 12], [3, 5, 7]]
    assert [each.tolist() for each in autograd.grad(two, argnum)(x, x + 1)] == expected


def test_sections() -> None:
    def modes() -> tuple[bool, bool]:
        return mx.autograd.is_recording(), mx.autograd.is_training()

    found = [modes()]
    with autograd.train_section():
        found.append(modes())
        with autograd.test_section():
            found.append(modes())
        found.append(modes())
    found.append(modes())
    assert found == [(False, False), (True, True), (False, False), (True, True), (False, False)]


@pytest.mark.parametrize("run", [autograd.backward, autograd.compute_gradient])
def test_marked_variables(run: Callable[[list[mx.nd.NDArray]], None]) -> None:
    x, gradient = mx.nd.array([1, 2, 3]), mx.nd.zeros((3,))
    autograd.mark_variables([x], [gradient])
    with autograd.train_section():
        y = x * x * 2
    run([y])
    assert gradient.tolist() == [4, 8, 12]


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (lambda: autograd.backward(mx.nd.ones(2)), r"backward: outputs must be a list of arrays; got"),
        (lambda: autograd.grad(lambda x: x)(1), r"grad_and_loss: gradients are of NDArrays; got 1"),
    ],
)
def test_errors(use: Callable[[], object], says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        use()
