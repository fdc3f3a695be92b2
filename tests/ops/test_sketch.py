"""Count sketch. MXNet has it on GPUs only: the example of its documentation, and the definition."""

from __future__ import annotations

import pytest
import torch

import rebind as mx
from rebind.errors import MXNetError
from rebind.ops import OPERATORS


def run(*arrays, **parameters):
    return OPERATORS["_contrib_count_sketch"](*arrays, **parameters)


def test_example():
    data = mx.nd.array([[1.2, 2.5, 3.4], [3.2, 5.7, 6.6]])
    out = mx.nd.contrib.count_sketch(data, mx.nd.array([[0, 3, 4]]), mx.nd.array([[1, -1, 1]]), out_dim=5)
    expected = torch.tensor([[1.2, 0, 0, -2.5, 3.4], [3.2, 0, 0, -5.7, 6.6]])
    torch.testing.assert_close(torch.tensor(out.asnumpy()), expected)


def test_positions_that_are_taken_twice_add_up():
    data = torch.rand(2, 3, 2, 5, dtype=torch.float64, requires_grad=True)
    position, sign = torch.tensor([[1, 3, 1, 0, 1]]), torch.tensor([[1.0, -1, -1, 1, 1]])
    matrix = torch.zeros(5, 4, dtype=torch.float64)
    for i, (where, what) in enumerate(zip(position[0], sign[0], strict=True)):
        matrix[i, where] += what
    torch.testing.assert_close(run(data, position, sign, out_dim=4), data @ matrix)
    assert torch.autograd.gradcheck(lambda x: run(x, position, sign, out_dim=4), [data])
    assert torch.autograd.gradgradcheck(lambda x: run(x, position, sign, out_dim=4), [data])
    assert run(data.to("meta"), position.to("meta"), sign.to("meta"), out_dim=4).shape == (2, 3, 2, 4)


def test_another_shape_of_signs_is_refused():
    with pytest.raises(MXNetError, match=r"_contrib_count_sketch: s must have shape \(1, 3\) to match data"):
        run(torch.ones(2, 3), torch.ones(1, 3), torch.ones(1, 2), out_dim=4)
