"""Gradients at the ends of a range, by PyTorch's function where it has MXNet's, and by our own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from rebind.ops import _clamp
from rebind.ops._clamp import clamp, larger, smaller

NAN, INF = float("nan"), float("inf")
VALUES = [-INF, -1.0, 0.0, 0.5, 1.0, 2.0, INF, NAN]


@pytest.fixture(params=[False, True], ids=["ours", "torch's"], autouse=True)
def _(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param and not _clamp._TORCH_DOES:
        pytest.skip("this PyTorch has other gradients")
    monkeypatch.setattr(_clamp, "_TORCH_DOES", request.param)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("low", "high", "cut", "gradient"),
    [
        (0.0, 1.0, [0, 0, 0, 0.5, 1, 1, 1, NAN], [0, 0, 1, 1, 1, 0, 0, 0]),
        (0.0, None, [0, 0, 0, 0.5, 1, 2, INF, NAN], [0, 0, 1, 1, 1, 1, 1, 0]),
        (None, 1.0, [-INF, -1, 0, 0.5, 1, 1, 1, NAN], [1, 1, 1, 1, 1, 0, 0, 0]),
        (1.0, 0.0, [0, 0, 0, 0, 0, 0, 0, NAN], [0, 0, 0, 0, 0, 0, 0, 0]),
        (0.5, 0.5, [0.5] * 7 + [NAN], [0, 0, 0, 1, 0, 0, 0, 0]),
    ],
)
def test_values_in_the_range_have_the_gradient(low, high, cut, gradient, dtype):
    data = torch.tensor(VALUES, dtype=dtype, requires_grad=True)
    found = clamp(data, low, high)
    torch.testing.assert_close(found, torch.tensor(cut, dtype=dtype), equal_nan=True)
    found.backward(torch.full_like(found, 3.0))
    assert data.grad is not None and data.grad.tolist() == [3.0 * each for each in gradient]


@pytest.mark.parametrize(
    ("function", "result", "first", "second"),
    [
        (larger, [1, 3, 2, NAN, NAN], [1, 0, 1, 0, 0], [0, 1, 0, 0, 0]),
        (smaller, [1, 1, 1, NAN, NAN], [1, 1, 0, 0, 0], [0, 0, 1, 0, 0]),
    ],
)
def test_the_first_of_two_equal_values_has_the_gradient(
    function: Callable[[Tensor, Tensor], Tensor], result: list[float], first: list[int], second: list[int]
) -> None:
    lhs = torch.tensor([1.0, 1.0, 2.0, NAN, 1.0], requires_grad=True)
    rhs = torch.tensor([1.0, 3.0, 1.0, 1.0, NAN], requires_grad=True)
    found = function(lhs, rhs)
    torch.testing.assert_close(found, torch.tensor(result), equal_nan=True)
    gradients = torch.autograd.grad(found, [lhs, rhs], torch.ones(5))
    assert [each.tolist() for each in gradients] == [first, second]


@pytest.mark.parametrize("function", [larger, smaller])
def test_shapes_broadcast(function: Callable[[Tensor, Tensor], Tensor]) -> None:
    lhs, rhs = torch.ones(2, 1, requires_grad=True), torch.ones(3, requires_grad=True)
    gradients = torch.autograd.grad(function(lhs, rhs).sum(), [lhs, rhs])
    assert [each.tolist() for each in gradients] == [[[3.0], [3.0]], [0.0, 0.0, 0.0]]


def test_whole_numbers_are_cut():
    assert clamp(torch.tensor([-3, 0, 9]), -1, 1).tolist() == [-1, 0, 1]
