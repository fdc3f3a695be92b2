"""Elements chosen by indices: what the recorded values of MXNet do not cover."""

from __future__ import annotations

import math

import pytest
import torch

from rebind.ops import OPERATORS, indexing
from rebind.ops.nn import linear

# What is within [0, 3) and what is not, and the nearest that is.
INDICES = {
    "within": ([0, 2, 1], [0, 2, 1]),
    "above": ([0, 7, 3], [0, 2, 2]),
    "below": ([-1, 2, -9], [0, 2, 0]),
    "far": ([1e30, -1e30, 1], [None, None, 1]),  # no int64
    "fractions": ([0.9, -0.9, 2.9], [0, 0, 2]),
}


def run(name, *tensors, **parameters):
    op = OPERATORS[name]
    return op(*tensors, **op.signature.keywords(op.parse(parameters)))


def indices(kind):
    given, nearest = INDICES[kind]
    index = torch.tensor(given, dtype=torch.float64)
    # Which end a number is at that fits into no integer is the processor's to say.
    ends = index.long().clamp(0, 2).tolist()
    return index, torch.tensor([end if one is None else one for one, end in zip(nearest, ends, strict=True)])


@pytest.fixture(params=[True, False], ids=["read", "not_read"])
def reading(request, monkeypatch):
    """Run a test with indices that the kernel looks at, and with some that are cut first, as on a GPU."""
    for module in (indexing, linear):
        monkeypatch.setattr(module, "can_read", lambda array: request.param)


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("keepdims", [True, False])
def test_an_index_outside_picks_the_nearest(kind, keepdims):
    data = torch.arange(9.0, dtype=torch.float64).view(3, 3).requires_grad_()
    index, nearest = indices(kind)
    out = run("pick", data, index, keepdims=keepdims)
    expected = data.detach()[torch.arange(3), nearest]
    torch.testing.assert_close(out.detach(), expected.unsqueeze(1) if keepdims else expected)
    out.sum().backward()
    torch.testing.assert_close(data.grad, torch.eye(3, dtype=torch.float64)[nearest])


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.filterwarnings("ignore:Embedding. data must hold indices")
def test_an_index_outside_takes_the_nearest_row(kind):
    weight = torch.arange(6.0, dtype=torch.float64).view(3, 2).requires_grad_()
    index, nearest = indices(kind)
    out = run("Embedding", index, weight, input_dim=3, output_dim=2)
    torch.testing.assert_close(out, weight[nearest])
    out.sum().backward()
    counts = nearest.bincount(minlength=3).to(torch.float64)
    torch.testing.assert_close(weight.grad, counts.unsqueeze(1).expand(3, 2))


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("dtype", ["float64", "int32"])
@pytest.mark.parametrize("values", [(1.0, 0.0), (2.7, -1.3), (0.1, 0.1)], ids=str)
def test_an_index_outside_is_never_hot(kind, dtype, values):
    index, _ = indices(kind)
    out = run("one_hot", index, depth=3, on_value=values[0], off_value=values[1], dtype=dtype)
    hit = index.long().unsqueeze(1) == torch.arange(3)
    wide = torch.tensor(values, dtype=torch.float64)
    expected = torch.where(hit, wide[0], wide[1]).to(out.dtype)
    torch.testing.assert_close(out, expected, rtol=0, atol=0)


@pytest.mark.usefixtures("reading")
def test_a_value_that_is_too_large_for_the_type_is_infinite():
    out = run("one_hot", torch.tensor([1.0]), depth=2, on_value=1e6, dtype="float16")
    assert out.tolist() == [[0.0, math.inf]]
