"""Numbers are compared with MXNet's in ``parity/test_training.py``."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import torch

from rebind import optimizer
from rebind.errors import ArgumentError, NameLookupError, ShapeError, StateError
from rebind.lr_scheduler import FactorScheduler, PolyScheduler
from rebind.ndarray import NDArray, array
from rebind.optimizer import SGD, Adam, Optimizer, Updater, create
from rebind.optimizer.base import optimizers

SETTINGS = [
    pytest.param(name, settings, id=f"{name}-{'-'.join(settings)}")
    for name, own in (("sgd", {}), ("sgd", {"momentum": 0.9}), ("adam", {"epsilon": 1e-3}))
    for settings in (
        own,
        {**own, "wd": 0.1},
        {**own, "wd": 0.1, "rescale_grad": 0.3},
        {**own, "wd": 0.1, "rescale_grad": 0.3, "clip_gradient": 0.2},
        {**own, "wd": 0.1, "rescale_grad": 0.0},
    )
]


def wrap(tensors):
    return [NDArray(each) for each in tensors]


def some_tensors(dtype=torch.float32):
    generator = torch.Generator().manual_seed(1)
    shapes = [(3, 4), (4,), (2, 3, 2, 2), (1,)]
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def by_definition(made, weights, grads, steps):
    """Run `step` on each weight alone: the definition that the grouped form must agree with."""
    weights = [each.clone() for each in weights]
    states = [made.init_state(each) for each in weights]
    for t in range(1, steps + 1):
        for k, grad in enumerate(grads):
            ready, wd = made.prepare(weights[k], grad, made.wd)
            weights[k], states[k] = made.step(weights[k], ready, states[k], lr=made.lr, wd=wd, t=t)
    return weights, states


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
@pytest.mark.parametrize("layout", ["fused", "foreach", "strided"])
def test_grouped_form_is_the_definition(name, settings, layout, monkeypatch):
    made = create(name, learning_rate=0.1, **settings)
    weights, grads = some_tensors(torch.float64), [each * 2 + 1 for each in some_tensors(torch.float64)]
    expected, states = by_definition(made, weights, grads, 4)
    if layout == "foreach":
        monkeypatch.setattr("rebind.ops.update.rules.can_fuse", lambda *groups: False)
    if layout == "strided":  # as gradients that are transposes
        grads = [each.t().contiguous().t() if each.ndim == 2 else each for each in grads]
    updater = Updater(made)
    arrays = wrap(weights)
    for _ in range(4):
        updater([0, 1, 2, 3], wrap(grads), arrays)
    tolerance = {"rtol": 1e-9, "atol": 1e-12}
    for found, wanted in zip(arrays, expected, strict=True):
        torch.testing.assert_close(found.tensor, wanted, **tolerance)
    for k, state in enumerate(states):
        found = updater.states[k]
        parts = () if found is None else found if isinstance(found, tuple) else (found,)
        for part, wanted in zip(parts, state or (), strict=True):
            torch.testing.assert_close(part.tensor, wanted, **tolerance)


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_gradients_stay_as_they_are(name, settings):
    grads = some_tensors()
    before = [each.clone() for each in grads]
    Updater(create(name, **settings))([0, 1, 2, 3], wrap(grads), wrap(some_tensors()))
    for one, other in zip(grads, before, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("name", list(optimizers))
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_every_optimizer_minimises(name, dtype):
    made = create(name, learning_rate=0.1, multi_precision=True)
    weight, updater = array(np.array([3.0, -2.0]), dtype=dtype), Updater(made)
    for _ in range(200):
        updater(0, NDArray(2 * weight.tensor), weight)
    assert weight.tensor.abs().max() < 0.05


@pytest.mark.parametrize("name", list(optimizers))
def test_given_together_or_alone_is_the_same(name):
    together, alone = (Updater(create(name, learning_rate=0.1, wd=0.1)) for _ in range(2))
    weights = [wrap(some_tensors()) for _ in range(2)]
    for _ in range(3):
        together([0, 1, 2, 3], wrap(some_tensors()), weights[0])
        for k, grad in enumerate(wrap(some_tensors())):
            alone(k, grad, weights[1][k])
    for one, other in zip(*weights, strict=True):
        torch.testing.assert_close(one.tensor, other.tensor)
    assert together.optimizer.num_update == alone.optimizer.num_update == 3


@pytest.mark.parametrize("name", list(optimizers))
def test_mixed_types_are_updated_together(name):
    updater = Updater(create(name, multi_precision=True, learning_rate=0.1))
    weights = [array(np.ones(3), dtype=dtype) for dtype in ("float32", "float16", "float32", "bfloat16")]
    updater([0, 1, 2, 3], [array(np.ones(3), dtype=each.dtype) for each in weights], weights)
    assert all(float(each.tensor[0]) < 1 for each in weights)


def test_low_precision_without_master_warns():
    with pytest.warns(UserWarning, match="set multi_precision=True"):
        create("sgd", momentum=0.9).create_state_multi_precision(0, array(np.ones(2), dtype="float16"))


# ---- multipliers and counts -------------------------------------------------------------------------------

NAMES = {0: "fc_weight", 1: "fc_bias", 2: "bn_gamma", 3: "bn_beta", 4: "other"}


def test_weight_decay_acts_on_weight_and_gamma_only():
    made = create("sgd", wd=0.5, param_idx2name=NAMES)
    assert made.wd_mult == {"fc_bias": 0, "bn_beta": 0, "other": 0}
    assert made._get_wds(list(NAMES)) == [0.5, 0, 0.5, 0, 0]


def test_multipliers_by_name_and_index():
    made = create("sgd", learning_rate=1.0, wd=0.5, param_idx2name=NAMES)
    made.set_lr_mult({"fc_bias": 3, 0: 2})
    made.set_wd_mult({"fc_bias": 4})
    assert made._get_lrs([0, 1, 2]) == [2, 3, 1]
    assert made._get_wd(1) == 2
    made.param_dict = {1: SimpleNamespace(lr_mult=7, wd_mult=8)}
    assert (made._get_lr(1), made._get_wd(1)) == (7, 4)


def test_multipliers_from_the_symbol():
    symbol = SimpleNamespace(
        attr_dict=lambda: {
            "fc_weight": {"__lr_mult__": "2", "__wd_mult__": "3"},
            "fc_bias": {"__wd_mult__": "0.5"},
        },
        list_arguments=lambda: ["data", "fc_weight", "fc_bias"],
    )
    made = create("sgd", learning_rate=1.0, wd=1.0, sym=symbol, param_idx2name=NAMES)
    assert made._get_lrs([0, 1]) == [2, 1]
    assert made._get_wds([0, 1, 3]) == [3, 0.5, 0]
    made.set_lr_mult({"fc_bias": 5})
    assert made.lr_mult == {"fc_weight": 2, "fc_bias": 5}


def test_counts_start_at_begin_num_update():
    made = create("sgd", begin_num_update=5, learning_rate=0.1)
    assert made.num_update == 5
    for _ in range(2):
        made.update(0, array(np.ones(1)), array(np.ones(1)), None)
    made.update(1, array(np.ones(1)), array(np.ones(1)), None)
    assert made.num_update == 7
    assert made._index_update_count == {0: 7, 1: 6}


# ---- learning rate ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "rate"), [("sgd", 0.01), ("adam", 0.001)])
def test_default_learning_rate(name, rate):
    assert create(name).learning_rate == rate


def test_a_schedule_decides_the_learning_rate():
    made = create("sgd", lr_scheduler=FactorScheduler(2, 0.5, base_lr=0.7))
    assert (made.lr, made.learning_rate) == (None, 0.7)
    with pytest.raises(StateError, match="there must be no lr_scheduler"):
        made.set_learning_rate(0.1)


@pytest.mark.parametrize("schedule", [FactorScheduler(2, 0.5), PolyScheduler(10)])
def test_learning_rate_is_where_a_schedule_starts(schedule):
    assert create("sgd", learning_rate=0.4, lr_scheduler=schedule).learning_rate == 0.4


def test_two_starting_rates_warn():
    with pytest.warns(UserWarning, match=r"learning_rate=0.4 takes the place of base_lr=0.7"):
        create("sgd", learning_rate=0.4, lr_scheduler=FactorScheduler(2, 0.5, base_lr=0.7))


def test_set_learning_rate():
    made = create("sgd", learning_rate=0.4)
    made.set_learning_rate(0.2)
    assert made.learning_rate == made._get_lr(0) == 0.2


# ---- making them ------------------------------------------------------------------------------------------


def test_names_do_not_mind_case():
    assert type(create("SGD")) is type(create("sgd")) is SGD
    assert type(Optimizer.create_optimizer("Adam")) is Adam
    made = SGD()
    assert create(made) is made


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: create("sdg"), NameLookupError, "no optimizer 'sdg'; did you mean 'sgd'"),
        (lambda: create("sgd", momentun=1), ArgumentError, "no setting 'momentun'; did you mean 'momentum'"),
        (lambda: SGD(param_idx2name="x"), ArgumentError, "param_idx2name must be a dict"),
        (lambda: Updater("sgd"), ArgumentError, "optimizer must be an Optimizer; got 'sgd'"),
        (lambda: Updater(SGD())([0, 1], [1], [1, 2]), ArgumentError, "2 indices, 1 gradients and 2 weights"),
    ],
)
def test_bad_input(make, error, says):
    with pytest.raises(error, match=says):
        make()


def test_repr_shows_settings():
    assert "SGD(learning_rate=0.1," in repr(SGD(learning_rate=0.1, momentum=0.9))
    assert "momentum=0.9" in repr(SGD(learning_rate=0.1, momentum=0.9))


# ---- optimizers of a user's own ---------------------------------------------------------------------------


@pytest.fixture
def own_registry(monkeypatch):
    monkeypatch.setattr(optimizers, "_entries", dict(optimizers._entries))


def test_old_optimizer_overrides_create_state_and_update(own_registry):
    @optimizer.register
    class Old(Optimizer):
        def __init__(self, momentum=0.0, **kwargs):
            super().__init__(learning_rate=0.5, **kwargs)
            self.momentum = momentum

        def create_state(self, index, weight):
            return array(np.zeros(weight.shape))

        def update(self, index, weight, grad, state):
            self._update_count(index)
            lr, wd = self._get_lr(index), self._get_wd(index)
            state[:] = self.momentum * state.asnumpy() - lr * (
                self.rescale_grad * grad.asnumpy() + wd * weight.asnumpy()
            )
            weight[:] = weight.asnumpy() + state.asnumpy()

    made = create("old", momentum=0.9, rescale_grad=0.5, wd=0.1, param_idx2name=NAMES)
    updater, weights = Updater(made), [array(np.ones(2)) for _ in range(2)]
    ours, reference = (
        Updater(SGD(learning_rate=0.5, momentum=0.9, rescale_grad=0.5, wd=0.1, param_idx2name=NAMES)),
        [array(np.ones(2)) for _ in range(2)],
    )
    for _ in range(3):
        updater([0, 1], [array(np.ones(2)) for _ in range(2)], weights)
        ours([0, 1], [array(np.ones(2)) for _ in range(2)], reference)
    for one, other in zip(weights, reference, strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-6)
    assert made._index_update_count == {0: 3, 1: 3}


def test_old_subclass_of_sgd_gets_one_weight_at_a_time():
    seen = []

    class Old(SGD):
        def update(self, index, weight, grad, state):
            seen.append(index)
            super().update(index, weight, grad, state)

    weights = [array(np.ones(2)) for _ in range(2)]
    Updater(Old(learning_rate=1.0))([0, 1], [array(np.ones(2)) for _ in range(2)], weights)
    assert seen == [0, 1]
    assert weights[1].asnumpy().tolist() == [0, 0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_old_optimizer_has_master_copies_too(dtype):
    class Old(Optimizer):
        def create_state(self, index, weight):
            return None

        def update(self, index, weight, grad, state):
            weight[:] = weight.asnumpy() - 1e-4 * grad.asnumpy()

    updater = Updater(Old(multi_precision=True))
    weight = array(np.ones(2), dtype=dtype)
    for _ in range(100):
        updater(0, array(np.ones(2), dtype=dtype), weight)
    master, _ = updater.states[0]
    np.testing.assert_allclose(master.asnumpy(), 0.99, rtol=1e-5)
    np.testing.assert_allclose(weight.astype("float32").asnumpy(), 0.99, rtol=1e-2)


def test_a_pure_step_is_enough(own_registry):
    class Count(NamedTuple):
        total: torch.Tensor

    @optimizers.register("sum")
    @dataclass(kw_only=True, eq=False, repr=False)
    class Sum(Optimizer[Count]):
        factor: float = 1.0
        state_type = Count

        def step(self, weight, grad, state, *, lr, wd, t):
            total = state.total + grad
            return weight - lr * self.factor * total, Count(total)

    updater, weight = Updater(create("sum", learning_rate=1.0, factor=2.0)), array(np.zeros(2))
    updater([0], [array(np.ones(2))], [weight])
    updater([0], [array(np.ones(2))], [weight])
    assert weight.asnumpy().tolist() == [-6, -6]
    assert updater.states[0].asnumpy().tolist() == [2, 2]


@pytest.mark.parametrize("name", list(optimizers))
def test_gradient_of_another_shape_is_refused(name):
    """The fused kernels of torch would read past its end."""
    weight = array(np.ones((50, 50)))
    with pytest.raises(ShapeError, match=r"gradient of weight 0 must have its shape, \(50, 50\); got \(3,\)"):
        Updater(create(name, momentum=0.9) if name == "sgd" else create(name))(0, array(np.ones(3)), weight)
    np.testing.assert_array_equal(weight.asnumpy(), 1)
