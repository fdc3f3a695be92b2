"""Random numbers follow from one seed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import rebind as mx


def draw(device: mx.Device | None = None) -> list[float]:
    return mx.random.uniform(shape=(3,), ctx=device).asnumpy().tolist()


def test_seed() -> None:
    mx.random.seed(7)
    first, other = draw(), draw(mx.cpu(1))
    assert first != draw() and first != other
    mx.random.seed(7)
    assert draw() == first and draw(mx.cpu(1)) == other
    mx.random.seed(9, ctx=mx.cpu(1))
    assert draw(mx.cpu(1)) != other


def test_others_generators_are_left_alone() -> None:
    before = torch.random.get_rng_state().clone(), np.random.get_state()[1].copy()
    mx.random.seed(7)
    draw()
    assert torch.equal(torch.random.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state()[1], before[1])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        *[
            (lambda seed=seed: mx.random.seed(seed), "seed_state must be an int")
            for seed in ("1", 1.5, None, True)
        ],
        (lambda: mx.nd.random.uniform(mx.nd.array([0, 10]), 1), "all numbers or all arrays"),
    ],
    ids=["seed-text", "seed-fraction", "seed-none", "seed-bool", "bounds"],
)
def test_mistakes(call, says) -> None:
    with pytest.raises(TypeError, match=says):
        call()


def test_parameters_are_numbers_or_arrays() -> None:
    low = mx.nd.array([0, 10])
    drawn = mx.nd.random.uniform(low, low + 1, shape=3)
    assert drawn.shape == (2, 3) and (drawn[1] >= 10).asnumpy().all()
    small, large = mx.nd.random.exponential(mx.nd.array([1e-9, 1e9])).asnumpy()
    assert small < large
    out = mx.nd.zeros((2, 2))
    assert mx.nd.random.normal(out=out) is out and out.asnumpy().any()
