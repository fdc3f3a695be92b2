"""Gradients have memory of their own, whatever autograd returns for several arguments at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rebind as mx

S = mx.sym


def flat(name: str) -> Any:
    return S.reshape(S.var(name), shape=(-1,))


#: Sums, whose gradients are the head gradient itself or a view of it.
SUMS = {
    "sum": (S.var("a") + S.var("b"), (4,)),
    "sum of other shapes": (flat("a") + flat("b"), (2, 2)),
    "sum of one other shape": (flat("a") + S.var("b"), (4,)),
    "parts": (S.concat(S.var("a"), S.var("b"), dim=0), (2, 2)),
}


@pytest.mark.parametrize("kind", SUMS)
@pytest.mark.parametrize("announces", [False, True], ids=["", "announced"])
@pytest.mark.parametrize("is_loss", [False, True], ids=["", "loss"])
def test_writing_into_one_leaves_the_others(kind: str, announces: bool, is_loss: bool) -> None:
    net, shape = SUMS[kind]
    exe = (S.MakeLoss(net) if is_loss else net).simple_bind(mx.cpu(), a=shape, b=shape)
    head = mx.nd.ones(exe.outputs[0].shape)
    exe.forward(is_train=True)
    exe.backward(None if is_loss else head, on_gradient=(lambda name: None) if announces else None)
    for number, name in enumerate(("a", "b")):
        exe.grad_dict[name][:] = 5 + number
    head[:] = 3
    for number, name in enumerate(("a", "b")):
        np.testing.assert_array_equal(exe.grad_dict[name].asnumpy(), np.full(shape, 5 + number))


def test_a_head_gradient_keeps_its_values() -> None:
    exe = flat("a").simple_bind(mx.cpu(), a=(2, 2))
    head = mx.nd.ones((4,))
    exe.forward(is_train=True)
    exe.backward(head)
    exe.grad_dict["a"][:] = 5
    assert head.asnumpy().tolist() == [1.0] * 4
