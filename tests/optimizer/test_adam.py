"""The family of Adam beside PyTorch's; what MXNet does is compared in ``parity/test_optimizers.py``."""

import numpy as np
import pytest
import torch

from rebind.ndarray import array
from rebind.optimizer import Adamax, Nadam, Updater, create

from .samples import FORMS_WITHOUT_NOISE, make, some_tensors, wrap


@pytest.mark.parametrize(
    ("name", "settings", "theirs", "their_settings"),
    [
        ("adamw", {"wd": 0.1}, torch.optim.AdamW, {"weight_decay": 0.1}),
        (
            "adamw",
            {"wd": 0.3, "beta1": 0.5, "beta2": 0.9, "epsilon": 1e-2},
            torch.optim.AdamW,
            {"weight_decay": 0.3, "betas": (0.5, 0.9), "eps": 1e-2},
        ),
        ("nadam", {"wd": 0.1}, torch.optim.NAdam, {"weight_decay": 0.1}),
        (
            "nadam",
            {"schedule_decay": 0.1, "beta1": 0.5},
            torch.optim.NAdam,
            {"momentum_decay": 0.1, "betas": (0.5, 0.999)},
        ),
        ("adamax", {"wd": 0.1}, torch.optim.Adamax, {"weight_decay": 0.1, "eps": 1e-30}),
    ],
)
def test_as_torch(name, settings, theirs, their_settings):
    arrays = wrap(some_tensors(torch.float64))
    parameters = [torch.nn.Parameter(each) for each in some_tensors(torch.float64)]
    updater = Updater(create(name, learning_rate=0.05, **settings))
    reference = theirs(parameters, lr=0.05, **their_settings)
    for step in range(1, 9):
        grads = [(each * 7 * step).sin() for each in some_tensors(torch.float64)]
        for parameter, grad in zip(parameters, grads, strict=True):
            parameter.grad = grad
        reference.step()
        updater([0, 1, 2, 3], wrap(grads), arrays)
    for one, other in zip(arrays, parameters, strict=True):
        # AdamW keeps the constants of its averages in single precision, as the update operator does.
        torch.testing.assert_close(one.tensor, other.detach(), rtol=1e-5, atol=1e-6)


def test_adamw_decays_by_name():
    names = {0: "a_weight", 1: "a_bias"}
    weights = [array(np.ones(2)) for _ in names]
    updater = Updater(create("adamw", learning_rate=0.1, wd=0.5, param_idx2name=names))
    updater([0, 1], [array(np.zeros(2)) for _ in names], weights)
    np.testing.assert_allclose([each.asnumpy()[0] for each in weights], [0.95, 1.0])


def test_adamax_leaves_what_had_no_gradient():
    weight, updater = array(np.ones(2)), Updater(Adamax(learning_rate=0.1))
    for grad in ([0.0, 1.0], [0.0, 1.0], [2.0, 1.0]):
        updater(0, array(np.array(grad)), weight)
    assert np.isfinite(weight.asnumpy()).all()
    assert weight.asnumpy()[0] < 1


@pytest.mark.parametrize(("beta1", "decay"), [(0.8, 0.1), (0.9, 0.004), (0.5, 1.0)])
def test_nadam_product(beta1, decay):
    made = Nadam(beta1=beta1, schedule_decay=decay)
    shares = [made.share(t) for t in range(1, 6)]
    expected = np.cumprod(shares)
    for t in (1, 2, 3, 5, 2, 4):  # weights may have been updated more or less often
        assert made.product(t) == pytest.approx(expected[t - 1])
        assert made.m_schedule == made.product(t)
    assert made.product(10**12) < 1e-30


@pytest.mark.parametrize(("name", "settings"), FORMS_WITHOUT_NOISE)
def test_no_optimizer_minds_how_many_weights_there_are(name, settings):
    """Nadam of MXNet 1.9.1 does."""
    alone, together = (Updater(make(name, **settings)) for _ in range(2))
    first, second = array(np.ones(2)), [array(np.ones(2)) for _ in range(3)]
    for _ in range(3):
        alone(0, array(np.ones(2)), first)
        together([0, 1, 2], [array(np.ones(2)) for _ in range(3)], second)
    for each in second:
        np.testing.assert_array_equal(each.asnumpy(), first.asnumpy())
