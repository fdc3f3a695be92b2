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


#: What MXNet 1.9.1 gives of whole numbers whose result is whole.
WHOLE = {
    "gamma": ([1, 2, 3, 5, 10, 12], [1, 1, 2, 24, 362880, 39916800]),
    "cbrt": ([8, 27, 64, 125, 1000, -64, 100], [2, 3, 4, 5, 10, -4, 4]),
    "log10": ([1, 10, 100, 1000, 10000], [0, 1, 2, 3, 4]),
    "log2": ([1, 2, 8, 64, 1 << 29], [0, 1, 3, 6, 29]),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_results_of_integers_are_not_cut_to_the_number_below(name: str) -> None:
    data, expected = WHOLE[name]
    found = OPERATORS[name](torch.tensor(data, dtype=torch.int32))
    assert found.tolist() == expected
