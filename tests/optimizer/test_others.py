"""What single optimizers do that MXNet does not, or not always."""

import numpy as np
import pytest

from rebind import random
from rebind.errors import ParameterError
from rebind.ndarray import array
from rebind.optimizer import DCASGD, FTML, SGLD, AdaGrad, Ftrl, GroupAdaGrad, Signum, Test, Updater, create
from rebind.optimizer import contrib as contrib_optimizers


def moved(made, weight, grads):
    updater, target = Updater(made), array(np.array(weight, dtype="float64"), dtype="float64")
    for grad in grads:
        updater(0, array(np.array(grad), dtype="float64"), target)
    return target.asnumpy(), updater.states[0]


def test_dcasgd_with_momentum():
    """MXNet 1.9.1 fails for weights of more than one element."""
    weight, previous, buffer = np.array([1.0, -2.0]), np.array([1.0, -2.0]), np.zeros(2)
    grads = [[0.5, -0.25], [1.0, 2.0], [-0.5, 0.1]]
    for grad in map(np.array, grads):
        buffer = 0.9 * buffer - 0.1 * (grad + 0.01 * weight + 2.0 * grad**2 * (weight - previous))
        previous, weight = weight, weight + buffer
    found, (momentum, before) = moved(
        DCASGD(learning_rate=0.1, momentum=0.9, lamda=2.0, wd=0.01), [1.0, -2.0], grads
    )
    np.testing.assert_allclose(found, weight)
    np.testing.assert_allclose(momentum.asnumpy(), buffer)
    np.testing.assert_allclose(before.asnumpy(), previous)


def test_signum_without_momentum_decays_beside():
    """MXNet 1.9.1 fails."""
    found, state = moved(
        Signum(learning_rate=0.1, momentum=0.0, wd=0.2, wd_lh=0.3), [1.0, 2.0], [[3.0, -1.0]]
    )
    assert state is None
    np.testing.assert_allclose(found, [0.95 - 0.1, 1.9 + 0.1])


@pytest.mark.parametrize("shape", [(3,), (3, 2), (3, 2, 2)])
def test_group_adagrad_takes_any_axes(shape):
    """MXNet takes two."""
    found, state = moved(GroupAdaGrad(learning_rate=1.0), np.ones(shape), [np.full(shape, 2.0)])
    assert state.shape == (shape[0], *(1 for _ in shape[1:]))
    np.testing.assert_allclose(state.asnumpy(), 4)
    np.testing.assert_allclose(found, 0, atol=1e-5)


def test_group_adagrad_has_no_weight_decay():
    names = {0: "a_weight"}
    with pytest.raises(ParameterError, match=r"wd must be 0.*got 0.1 for \['a_weight'\].*wd_mult"):
        moved(create("groupadagrad", wd=0.1, param_idx2name=names), np.ones((2, 2)), [np.ones((2, 2))])
    moved(create("groupadagrad", wd=0.1, param_idx2name={0: "a_bias"}), np.ones((2, 2)), [np.ones((2, 2))])
    assert contrib_optimizers.GroupAdaGrad is GroupAdaGrad


@pytest.mark.parametrize("make", [FTML, Ftrl])
def test_a_rate_of_zero_changes_nothing(make):
    """MXNet divides by it."""
    found, state = moved(make(learning_rate=0.0), [1.0, 2.0], [[1.0, 1.0]])
    np.testing.assert_array_equal(found, [1, 2])
    assert all(not each.asnumpy().any() for each in state)


def test_sgld_without_noise(monkeypatch):
    monkeypatch.setattr("torch.Tensor.normal_", lambda self, **_: self.zero_())
    found, _ = moved(SGLD(learning_rate=0.1, wd=0.5, rescale_grad=0.5), [1.0, -2.0], [[1.0, 2.0]])
    np.testing.assert_allclose(found, [1 - 0.05 * (0.5 + 0.5), -2 - 0.05 * (1.0 - 1.0)])


def test_sgld_draws_from_its_posterior():
    """Of a normal density with variance 1, whose gradient is the weight."""
    random.seed(4)
    made = SGLD(learning_rate=0.1)
    updater, weight = Updater(made), array(np.zeros(20_000))
    for _ in range(100):
        updater(0, weight.copy(), weight)
    assert weight.asnumpy().std() == pytest.approx(1, rel=0.04)  # the step makes it 1.3% too large


def test_sgld_is_seeded():
    found = []
    for seed in (1, 1, 2):
        random.seed(seed)
        found.append(moved(SGLD(learning_rate=0.1), [1.0, 2.0], [[1.0, 1.0]])[0].tolist())
    assert found[0] == found[1] != found[2]


def test_attributes_of_adagrad():
    assert AdaGrad(eps=0.1).float_stable_eps == 0.1


def test_the_test_optimizer_keeps_the_weight():
    found, state = moved(Test(rescale_grad=0.5), [1.0, 2.0], [[1.0, 1.0]])
    np.testing.assert_array_equal(found, [1.5, 2.5])
    np.testing.assert_array_equal(state.asnumpy(), found)
