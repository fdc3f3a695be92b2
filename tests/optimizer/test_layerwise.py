import numpy as np
import pytest
import torch

from rebind.errors import ParameterError
from rebind.lr_scheduler import FactorScheduler, PolyScheduler
from rebind.ndarray import NDArray, array
from rebind.optimizer import LAMB, LARS, LBSGD, Updater


def steps(updater, count, weights, grads):
    for _ in range(count):
        updater(list(range(len(weights))), grads, weights)
    return [each.asnumpy() for each in weights]


@pytest.mark.parametrize("together", [True, False])
def test_lars_corrects_the_momentum_of_every_weight(together):
    """MXNet 1.9.1 leaves out those after the fourth."""
    made = LARS(lr_scheduler=FactorScheduler(1, 0.5, base_lr=1.0), momentum=0.9, eta=0.1)
    updater, weights = Updater(made), [array(np.array([1.0, 2.0])) for _ in range(6)]
    rates = []
    for _ in range(3):
        if together:
            steps(updater, 1, weights, [array(np.array([0.5, -0.25]))] * 6)
        else:
            for i, weight in enumerate(weights):
                updater(i, array(np.array([0.5, -0.25])), weight)
        rates.append((made.last_lr, made.cur_lr))
    assert rates == [(1.0, 1.0), (1.0, 0.5), (0.5, 0.25)]
    for weight in weights:
        np.testing.assert_allclose(weight.asnumpy(), [0.47283, 2.26358], rtol=1e-5)  # MXNet's first


def test_lars_after_a_rate_of_zero():
    made = LARS(
        lr_scheduler=FactorScheduler(9, 0.5, base_lr=1.0, warmup_steps=2), momentum=0.9, begin_num_update=-1
    )
    found = steps(Updater(made), 3, [array(np.ones(2))], [array(np.ones(2))])
    assert np.isfinite(found).all()


@pytest.mark.parametrize("name", ["a_bias", "a_gamma", "a_beta"])
def test_lars_leaves_out_biases(name):
    made = LARS(learning_rate=1.0, eta=0.1, wd=0.5, param_idx2name={0: name, 1: "a_weight"})
    plain, scaled = steps(
        Updater(made), 1, [array(np.ones(4)) for _ in range(2)], [array(np.full(4, 0.5))] * 2
    )
    np.testing.assert_allclose(plain, 0.5)
    # 1 * 0.1 * 2 / (1 + 0.5 * 2) of 0.5 + 0.5 * 1
    np.testing.assert_allclose(scaled, 0.9, rtol=1e-6)


@pytest.mark.parametrize("make", [LARS, LAMB])
@pytest.mark.parametrize(("weight", "grad"), [([0.0, 0.0], [1.0, 1.0]), ([1.0, 1.0], [0.0, 0.0])])
def test_weights_or_gradients_of_zero(make, weight, grad):
    made = make(learning_rate=0.5)
    (found,) = steps(Updater(made), 2, [array(np.array(weight))], [array(np.array(grad))])
    assert np.isfinite(found).all()


@pytest.mark.parametrize("make", [LARS, LAMB])
def test_large_half_precision_weights(make):
    """Their squares are infinite in float16."""
    weight = NDArray(torch.full((8,), 3000.0).half())
    made = make(learning_rate=0.01)
    made.update([0], [weight], [NDArray(torch.full((8,), 500.0).half())], [made.create_state(0, weight)])
    assert torch.isfinite(weight.tensor).all()


@pytest.mark.parametrize("make", [LARS, LAMB, LBSGD])
def test_masters_are_updated_again_and_again(make):
    """LAMB of MXNet 1.9.1 stands still after the first step."""
    half, full = array(np.ones(4), dtype="float16"), array(np.ones(4))
    steps(
        Updater(make(learning_rate=0.1, multi_precision=True)),
        5,
        [half],
        [array(np.ones(4), dtype="float16")],
    )
    steps(Updater(make(learning_rate=0.1)), 5, [full], [array(np.ones(4))])
    np.testing.assert_allclose(half.asnumpy(), full.asnumpy(), rtol=1e-3)


def test_lbsgd_steps_by_the_mean_of_several_gradients():
    updater, weight = Updater(LBSGD(learning_rate=1.0, batch_scale=4, warmup_epochs=0)), array(np.zeros(1))
    found = []
    for k in range(9):
        updater(0, array(np.array([float(k)])), weight)
        found.append(weight.asnumpy()[0])
    # The rate is four times as large, so a step is the sum of the gradients.
    assert found == [0, 0, 0, -6, -6, -6, -6, -28, -28]
    assert updater.optimizer.cumgrads[0]["num_cums"] == 9
    assert updater.optimizer.cumgrads[0]["cum_grad"].asnumpy().tolist() == [8]


@pytest.mark.parametrize(
    ("strategy", "rises"),
    [
        ("linear", [1.6, 2.2, 2.8, 3.4, 4, 4]),
        ("power2", [1.12, 1.48, 2.08, 2.92, 4, 4]),
        ("sqrt", [2.3416, 2.8974, 3.3238, 3.6833, 4, 4]),
        ("lars", [1, 1, 1, 1, 1, 1]),
    ],
)
def test_lbsgd_warms_up(strategy, rises):
    made = LBSGD(warmup_strategy=strategy, batch_scale=4, updates_per_epoch=4, warmup_epochs=5)
    assert [made.rise(calls) for calls in range(4, 25, 4)] == pytest.approx(rises, rel=1e-4)


@pytest.mark.parametrize(("epoch", "updates"), [(0, 0), (2, 6)])
def test_lbsgd_begins_in_a_later_epoch(epoch, updates):
    made = LBSGD(batch_scale=2, updates_per_epoch=3, begin_epoch=epoch)
    assert made.init_updates == updates


def test_lbsgd_asks_a_schedule_for_this_update():
    """MXNet 1.9.1 asks for the one before, for the first weight alone."""
    made = LBSGD(lr_scheduler=FactorScheduler(2, 0.5, base_lr=1.0))
    found = steps(Updater(made), 3, [array(np.zeros(1)) for _ in range(2)], [array(np.ones(1))] * 2)
    np.testing.assert_allclose(found, [[-2.5], [-2.5]])


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"warmup_strategy": "liner"},
            r"warmup_strategy must be one of 'linear', .*'liner'.*did you mean 'linear'",
        ),
        ({"batch_scale": 0}, "batch_scale must be >= 1; got 0"),
    ],
)
def test_bad_settings(settings, says):
    with pytest.raises(ParameterError, match=says):
        LBSGD(**settings)


def test_a_schedule_of_its_own_kind():
    made = LBSGD(lr_scheduler=PolyScheduler(10, base_lr=1.0), learning_rate=1.0)
    assert made.learning_rate == 1.0
