"""IdentityAttachKLSparseReg: its gradient and its state, beyond the recorded cases."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.errors import MXNetError
from rebind.ops import OPERATORS

NAME = "IdentityAttachKLSparseReg"
OP = OPERATORS[NAME]


def drawn(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 0.8 + 0.1


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (2, 3, 2, 2)])
def test_gradient_is_that_of_the_divergence_of_each_average(shape):
    target, penalty, momentum = 0.2, 0.3, 0.6
    data, average = drawn(*shape).requires_grad_(), drawn(3)
    out, average_after = OP(
        data, average, sparseness_target=target, penalty=penalty, momentum=momentum, training=True
    )
    assert torch.equal(out, data)
    torch.testing.assert_close(
        average_after, momentum * average + (1 - momentum) * data.detach().transpose(0, 1).flatten(1).mean(1)
    )
    head = drawn(*shape)
    (gradient,) = torch.autograd.grad(out, data, head)

    q = average_after.clone().requires_grad_()
    divergence = target * (target / q).log() + (1 - target) * ((1 - target) / (1 - q)).log()
    (slope,) = torch.autograd.grad(penalty * divergence.sum(), q)
    expected = head + slope.view(-1, *(1,) * (len(shape) - 2))
    torch.testing.assert_close(gradient, expected)


def test_the_state_changes_in_training_only():
    data, state = mx.nd.full((2, 3), 0.5), mx.nd.zeros((3,))
    data.attach_grad()
    with mx.autograd.record(train_mode=False):
        out = mx.nd.IdentityAttachKLSparseReg(data, state)
    assert state.asnumpy().tolist() == [0.0, 0.0, 0.0]
    with mx.autograd.record():
        out = mx.nd.IdentityAttachKLSparseReg(data, state, penalty=0.1)
    out.backward()
    np.testing.assert_allclose(state.asnumpy(), 0.05, rtol=1e-6)
    np.testing.assert_allclose(data.grad.asnumpy(), 1 + 0.1 * (0.9 / 0.95 - 0.1 / 0.05), rtol=1e-5)


def test_the_gradient_can_be_differentiated():
    data, head = drawn(4, 3).requires_grad_(), drawn(4, 3).requires_grad_()
    out, _ = OP(data, drawn(3), penalty=0.5, training=True)
    (gradient,) = torch.autograd.grad(out, data, head, create_graph=True)
    (second,) = torch.autograd.grad(gradient.sum(), head)
    torch.testing.assert_close(second, torch.ones_like(head))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_types_and_an_empty_batch(dtype):
    out, average = OP(drawn(2, 3).to(dtype), drawn(3).to(dtype), training=True)
    assert out.dtype is average.dtype is dtype
    out, average = OP(torch.zeros(0, 3, dtype=dtype), torch.ones(3, dtype=dtype), training=True)
    assert out.shape == (0, 3) and average.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("shapes", "keywords", "says"),
    [
        ([(3,), (3,)], {}, f"{NAME}: data must have 2 axes or more, (N, C, ...); got shape (3,)"),
        ([(2, 3), (2,)], {}, f"{NAME}: moving_avg must have shape (3,) to match data (2, 3); got (2,)"),
        ([(2, 3), (3,)], {"sparseness_target": 1.5}, "sparseness_target must be a float in [0, 1]; got 1.5"),
        ([(2, 3), (3,)], {"momentum": -0.1}, "momentum must be a float in [0, 1]; got -0.1"),
    ],
)
def test_mistakes_meet_a_sentence(shapes, keywords, says):
    with pytest.raises(MXNetError) as caught:
        OP(*(torch.zeros(shape) for shape in shapes), **OP.parse(keywords))
    assert says in str(caught.value)
