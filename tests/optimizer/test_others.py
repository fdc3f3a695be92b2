"""What single optimizers do that MXNet does not, or not always."""

import numpy as np
import pytest
import torch

from rebind import random
from rebind.errors import ParameterError
from rebind.ndarray import array
from rebind.optimizer import DCASGD, FTML, SGLD, AdaGrad, Ftrl, GroupAdaGrad, Signum, Test, Updater, create
from rebind.optimizer import contrib as contrib_optimizers


def updated(made, weight, grads):
    updater, target = Updater(made), array(np.array(weight, dtype="float64"), dtype="float64")
    for grad in grads:
        updater(0, array(np.array(grad), dtype="float64"), target)
    return target.asnumpy(), updater.states[0]


def dcasgd(weight, grads):
    """MXNet 1.9.1 fails with momentum for weights of more than one element."""
    previous, buffer = weight, np.zeros(2)
    for grad in grads:
        buffer = 0.9 * buffer - 0.1 * (grad + 0.01 * weight + 2.0 * grad**2 * (weight - previous))
        previous, weight = weight, weight + buffer
    return weight, [buffer, previous]


def signum(weight, grads):
    """MXNet 1.9.1 fails with wd_lh and without momentum."""
    for grad in grads:
        weight = weight * (1 - 0.1 * (0.2 + 0.3)) - 0.1 * np.sign(grad)
    return weight, []


def sgld_without_noise(weight, grads):
    for grad in grads:
        weight = weight - 0.05 * (0.5 * grad + 0.5 * weight)
    return weight, []


def added(weight, grads):
    weight = weight + 0.5 * sum(grads)
    return weight, [weight]


@pytest.mark.parametrize(
    ("formula", "make"),
    [
        (dcasgd, lambda: DCASGD(learning_rate=0.1, momentum=0.9, lamda=2.0, wd=0.01)),
        (signum, lambda: Signum(learning_rate=0.1, momentum=0.0, wd=0.2, wd_lh=0.3)),
        (sgld_without_noise, lambda: SGLD(learning_rate=0.1, wd=0.5, rescale_grad=0.5)),
        (added, lambda: Test(rescale_grad=0.5)),
    ],
)
def test_formulas(formula, make, monkeypatch):
    """Of what MXNet does not do, or not always."""
    monkeypatch.setattr(
        "rebind.optimizer.stochastic.normal", lambda shape, source, **kind: torch.zeros(shape, **kind)
    )
    weight, grads = [1.0, -2.0], [[0.5, -0.25], [1.0, 2.0], [-0.5, 0.1]]
    expected, states = formula(np.array(weight), list(map(np.array, grads)))
    found, state = updated(make(), weight, grads)
    np.testing.assert_allclose(found, expected)
    arrays = state if isinstance(state, tuple) else [] if state is None else [state]
    for one, other in zip(arrays, states, strict=True):
        np.testing.assert_allclose(one.asnumpy(), other, rtol=1e-6)


@pytest.mark.parametrize("shape", [(3,), (3, 2), (3, 2, 2)])
def test_group_adagrad_takes_any_axes(shape):
    """MXNet takes two."""
    found, state = updated(GroupAdaGrad(learning_rate=1.0), np.ones(shape), [np.full(shape, 2.0)])
    assert state.shape == (shape[0], *(1 for _ in shape[1:]))
    np.testing.assert_allclose(state.asnumpy(), 4)
    np.testing.assert_allclose(found, 0, atol=1e-5)


def test_group_adagrad_has_no_weight_decay():
    names = {0: "a_weight"}
    with pytest.raises(ParameterError, match=r"wd must be 0.*got 0.1 for \['a_weight'\].*wd_mult"):
        updated(create("groupadagrad", wd=0.1, param_idx2name=names), np.ones((2, 2)), [np.ones((2, 2))])
    updated(create("groupadagrad", wd=0.1, param_idx2name={0: "a_bias"}), np.ones((2, 2)), [np.ones((2, 2))])
    assert contrib_optimizers.GroupAdaGrad is GroupAdaGrad


@pytest.mark.parametrize("make", [FTML, Ftrl])
def test_a_rate_of_zero_changes_nothing(make):
    """MXNet divides by it."""
    found, state = updated(make(learning_rate=0.0), [1.0, 2.0], [[1.0, 1.0]])
    np.testing.assert_array_equal(found, [1, 2])
    assert all(not each.asnumpy().any() for each in state)


def test_sgld_draws_from_its_posterior():
    """Of a normal density with variance 1, whose gradient is the weight."""
    random.seed(4)
    made = SGLD(learning_rate=0.1)
    updater, weight = Updater(made), array(np.zeros(20_000))
    for _ in range(100):
        updater(0, weight.copy(), weight)
    assert weight.asnumpy().std() == pytest.approx(1, rel=0.04)  # the step makes it 1.3% too large


@pytest.mark.parametrize(("seed", "same"), [(1, True), (2, False)])
def test_sgld_is_seeded(seed, same):
    found = []
    for each in (1, seed):
        random.seed(each)
        found.append(updated(SGLD(learning_rate=0.1), [1.0, 2.0], [[1.0, 1.0]])[0].tolist())
    assert (found[0] == found[1]) is same


@pytest.mark.parametrize("kind", [AdaGrad, GroupAdaGrad])
def test_attributes_of_adagrad(kind):
    assert kind(eps=0.1).float_stable_eps == 0.1
