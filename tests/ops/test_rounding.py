"""Rounding where numbers have no halves between them, where they have no size, and the signs of zeros."""

import pytest
import torch

from rebind.ops import OPERATORS

INF = float("inf")
DATA = [0.3, -0.3, 0.5, -0.5, 2.5, -2.5, 8388609.0, -8388609.0, INF, -INF, -0.0]
#: What MXNet 1.9.1 gives for these.
EXPECTED = {
    "rint": [0.0, -0.0, 0.0, -1.0, 2.0, -3.0, 8388609.0, -8388609.0, INF, -INF, -0.0],
    "round": [0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 8388609.0, -8388609.0, INF, -INF, -0.0],
    "trunc": [0.0, -0.0, 0.0, -0.0, 2.0, -2.0, 8388609.0, -8388609.0, INF, -INF, -0.0],
    "fix": [0.0, -0.0, 0.0, -0.0, 2.0, -2.0, 8388609.0, -8388609.0, INF, -INF, -0.0],
}


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize(
    "copies", [1, 40]
)  # a few numbers, and many at a time, go through different code of torch's
def test_rounding_is_mxnets_with_the_signs_of_zeros(name: str, copies: int) -> None:
    found = OPERATORS[name](torch.tensor(DATA * copies))
    expected = torch.tensor(EXPECTED[name] * copies)
    assert torch.equal(found, expected)
    assert torch.equal(found.signbit(), expected.signbit())
    assert OPERATORS[name](torch.tensor([float("nan")])).isnan().all()


@pytest.mark.parametrize("name", EXPECTED)
def test_rounding_is_flat(name: str) -> None:
    data = torch.tensor(DATA, requires_grad=True)
    out = OPERATORS[name](data)
    [grad] = torch.autograd.grad(out, data, torch.ones_like(out))
    assert torch.equal(grad, torch.zeros(len(DATA)))
