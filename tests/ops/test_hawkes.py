"""Hawkes processes against the definition, event by event."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from rebind.errors import MXNetError
from rebind.ops import OPERATORS

NAMES = ("lda", "alpha", "beta", "state", "lags", "marks", "valid_length", "max_time")


def arrays(rows=3, kinds=3, length=9, dtype=torch.float64, seed=0):
    rng = np.random.default_rng(seed)
    drawn = (
        rng.uniform(0.5, 1.5, (rows, kinds)),
        rng.uniform(0.1, 0.6, kinds),
        rng.uniform(0.5, 3, kinds),
        rng.uniform(0, 1, (rows, kinds)),
        rng.uniform(0.05, 1, (rows, length)),
        rng.integers(0, kinds, (rows, length)),
        rng.integers(0, length + 1, rows),
        rng.uniform(length, length + 2, rows),
    )
    found = [torch.tensor(array).to(dtype) for array in drawn]
    found[5] = found[5].to(torch.int32)
    return found


def run(*inputs):
    return OPERATORS["_contrib_hawkesll"](*inputs)


def by_definition(lda, alpha, beta, state, lags, marks, valid_length, max_time):
    """Sum the logarithms of intensities over pairs of events, and integrate each event's effect."""
    likelihoods, states = [], []
    for row, (rates, memory) in enumerate(zip(lda.tolist(), state.tolist(), strict=True)):
        count, end = int(valid_length[row]), float(max_time[row])
        times = np.cumsum(lags[row].numpy())[:count]
        kinds = marks[row].tolist()[:count]
        total, new = 0.0, []
        for k, rate in enumerate(rates):
            a, b = float(alpha[k]), float(beta[k])
            mine = [t for t, kind in zip(times, kinds, strict=True) if kind == k]
            for t in mine:
                near = memory[k] * math.exp(-b * t) + sum(math.exp(-b * (t - s)) for s in mine if s < t)
                total += math.log(rate + a * b * near)
            total -= rate * end + a * memory[k] * (1 - math.exp(-b * end))
            total -= sum(a * (1 - math.exp(-b * (end - t))) for t in mine)
            new.append(memory[k] * math.exp(-b * end) + sum(math.exp(-b * (end - t)) for t in mine))
        likelihoods.append(total)
        states.append(new)
    return np.array(likelihoods), np.array(states)


@pytest.mark.parametrize("sizes", [(3, 3, 9), (2, 1, 16), (4, 5, 1), (2, 2, 33)])
def test_definition(sizes):
    inputs = arrays(*sizes)
    likelihood, state = run(*inputs)
    expected = by_definition(*inputs)
    np.testing.assert_allclose(likelihood.numpy(), expected[0], rtol=1e-10)
    np.testing.assert_allclose(state.numpy(), expected[1], rtol=1e-10, atol=1e-300)


def test_what_fills_up_a_row_does_not_count():
    inputs = arrays()
    changed = [array.clone() for array in inputs]
    for row, count in enumerate(inputs[6].int().tolist()):
        changed[4][row, count:] = 1e30
        changed[5][row, count:] = -7
    for array in (inputs, changed):
        for tensor in array[:3]:
            tensor.requires_grad_()
    for found, expected in zip(run(*changed), run(*inputs), strict=True):
        torch.testing.assert_close(found, expected)
    gradients = [torch.autograd.grad(run(*array)[0].sum(), array[:3]) for array in (inputs, changed)]
    for found, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(found, expected)


def test_gradients():
    inputs = arrays(2, 2, 5)
    for array in inputs[:3]:
        array.requires_grad_()
    rest = inputs[3:]
    assert torch.autograd.gradcheck(lambda *wanted: run(*wanted, *rest)[0], inputs[:3])
    assert torch.autograd.gradgradcheck(lambda *wanted: run(*wanted, *rest)[0], inputs[:3])
    for index in (3, 4, 7):
        inputs[index].requires_grad_()
    likelihood, state = run(*inputs)
    assert not state.requires_grad
    gradients = torch.autograd.grad(likelihood.sum(), [inputs[3], inputs[4], inputs[7]], allow_unused=True)
    assert gradients == (None, None, None)


def test_a_long_row_stays_finite():
    inputs = arrays(1, 2, 5000, torch.float32)
    inputs[6][:] = 5000
    inputs[0].requires_grad_()
    likelihood = run(*inputs)[0]
    likelihood.sum().backward()
    assert torch.isfinite(likelihood).all() and torch.isfinite(inputs[0].grad).all()
    exact = run(*(a.double() if a.is_floating_point() else a for a in inputs))[0]
    torch.testing.assert_close(likelihood.double(), exact, rtol=1e-3, atol=0)


@pytest.mark.parametrize("sizes", [(0, 3, 4), (2, 3, 0)])
def test_no_rows_and_no_events(sizes):
    inputs = arrays(*sizes)
    likelihood, state = run(*inputs)
    expected = by_definition(*inputs)
    np.testing.assert_allclose(likelihood.numpy(), expected[0])
    assert state.shape == sizes[:2]


def test_meta_and_shapes():
    inputs = arrays(dtype=torch.float32)
    meta = run(*(array.to("meta") for array in inputs))
    assert [tuple(out.shape) for out in meta] == [(3,), (3, 3)]
    op = OPERATORS["_contrib_hawkesll"]
    known = dict.fromkeys(NAMES) | {"lda": (2, 3), "lags": (2, 4)}
    found = op.inference.filled_shapes(known, op.parse({}))
    assert found["alpha"] == (3,) and found["marks"] == (2, 4) and found["max_time"] == (2,)


@pytest.mark.parametrize(
    ("index", "shape", "says"),
    [
        (0, (3,), "_contrib_hawkesll: lda must have shape (N, K); got (3,)"),
        (4, (3,), "_contrib_hawkesll: lags must have shape (N, T); got (3,)"),
        (
            1,
            (2,),
            "_contrib_hawkesll: alpha must have shape (3,) to match lda (3, 3) and lags (3, 9); got (2,)",
        ),
        (5, (9, 3), "marks must have shape (3, 9)"),
    ],
)
def test_mistakes_meet_a_sentence(index, shape, says):
    inputs = arrays()
    inputs[index] = torch.zeros(shape, dtype=inputs[index].dtype)
    with pytest.raises(MXNetError) as caught:
        run(*inputs)
    assert says in str(caught.value)
