"""Numbers are compared with MXNet's in ``parity/test_training.py``."""

import pickle
import warnings
from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import torch

from rebind import cpu, optimizer, random
from rebind.errors import ArgumentError, NameLookupError, ShapeError, StateError
from rebind.lr_scheduler import FactorScheduler, PolyScheduler
from rebind.ndarray import NDArray, array
from rebind.optimizer import SGD, Optimizer, Updater, create
from rebind.optimizer.base import optimizers

from .samples import DESCENTS, FORMS, make, some_tensors, wrap


def arrays_of(state):
    """Return the tensors of a state in their order."""
    if state is None:
        return []
    if isinstance(state, (list, tuple)):
        return [tensor for each in state for tensor in arrays_of(each)]
    return [state.tensor]


def run(made, weights, grads, steps=4, together=True):
    """Make some steps; return the weights, and all tensors of the states."""
    updater, arrays = Updater(made), wrap(weights)
    for _ in range(steps):
        if together:
            updater(list(range(len(arrays))), wrap(grads), arrays)
        else:
            for k, (grad, array_) in enumerate(zip(wrap(grads), arrays, strict=True)):
                updater(k, grad, array_)
    return [each.tensor for each in arrays], [
        tensor for k in range(len(arrays)) for tensor in arrays_of(updater.states[k])
    ]


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "settings"), FORMS)
@pytest.mark.parametrize(
    "scaling",
    [{"rescale_grad": 0.3}, {"rescale_grad": 0.3, "clip_gradient": 0.2}, {"rescale_grad": 0.0}],
    ids=lambda scaling: "-".join(scaling),
)
@pytest.mark.parametrize("layout", ["fused", "foreach", "strided"])
def test_all_layouts_give_the_same_updates(name, settings, scaling, layout, monkeypatch):
    """Whether arrays lie side by side, and whether torch has one kernel for the rule, changes nothing."""

    def gradients():
        return [each * 2 + 1 for each in some_tensors(torch.float64)]

    with monkeypatch.context() as patch:
        patch.setattr("rebind.ops.update.lists.can_fuse", lambda *groups: False)
        expected = run(
            make(name, **settings, **scaling), some_tensors(torch.float64), gradients(), together=False
        )
    if layout == "foreach":
        monkeypatch.setattr("rebind.ops.update.lists.can_fuse", lambda *groups: False)
    grads = gradients()
    if layout == "strided":  # as gradients that are transposes
        grads = [each.t().contiguous().t() if each.ndim == 2 else each for each in grads]
    found = run(make(name, **settings, **scaling), some_tensors(torch.float64), grads)
    tolerance = {"rtol": 1e-6, "atol": 1e-8} if name == "test" else {"rtol": 1e-9, "atol": 1e-12}
    torch.testing.assert_close(found, expected, **tolerance)


@pytest.mark.parametrize(("name", "settings"), FORMS)
def test_gradients_stay_as_they_are(name, settings):
    grads = some_tensors()
    before = [each.clone() for each in grads]
    scaling = {"rescale_grad": 0.3, "clip_gradient": 0.2, "clip_global_norm": 0.1}
    run(make(name, **settings, **scaling), some_tensors(), grads)
    for one, other in zip(grads, before, strict=True):
        assert torch.equal(one, other)


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "settings"), FORMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_everything_is_written_in_place(name, settings, dtype):
    updater = Updater(make(name, multi_precision=True, **settings))
    weights = wrap(some_tensors(dtype))
    updater([0, 1, 2, 3], wrap(some_tensors(dtype)), weights)
    before = [each.tensor.data_ptr() for each in weights]
    pointers = [each.data_ptr() for k in range(4) for each in arrays_of(updater.states[k])]
    updater([0, 1, 2, 3], wrap(some_tensors(dtype)), weights)
    assert [each.tensor.data_ptr() for each in weights] == before
    assert [each.data_ptr() for k in range(4) for each in arrays_of(updater.states[k])] == pointers


@pytest.mark.parametrize("name", DESCENTS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_every_optimizer_minimises(name, dtype):
    made = create(name, multi_precision=True, **DESCENTS[name])
    weight, updater = array(np.array([3.0, -2.0]), dtype=dtype), Updater(made)
    for _ in range(200):
        updater(0, NDArray(2 * weight.tensor), weight)
    assert weight.tensor.abs().max() < 0.05


@pytest.mark.parametrize(("name", "settings"), FORMS)
def test_low_precision_has_masters(name, settings):
    """The weight is its master copy, rounded; the state is what a float32 weight has."""
    made = make(name, multi_precision=True, **settings)
    updater, weight = Updater(made), array(np.linspace(-1, 1, 6).reshape(2, 3), dtype="bfloat16")
    for _ in range(2):
        updater(0, array(np.ones((2, 3)), dtype="bfloat16"), weight)
    pair = updater.states[0]
    master, state = pair if made.master_first else pair[::-1]
    assert (master.tensor.dtype, weight.tensor.dtype) == (torch.float32, torch.bfloat16)
    assert torch.equal(master.tensor.bfloat16(), weight.tensor)
    alone = made.create_state(0, master)
    assert [each.dtype for each in arrays_of(state)] == [each.dtype for each in arrays_of(alone)]
    assert not torch.equal(master.tensor, weight.tensor.float())


@pytest.mark.parametrize(("name", "settings"), FORMS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_states_without_masters(name, settings, dtype):
    """MXNet refuses float16 weights without master copies for some optimizers."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*lose precision", UserWarning)
        weights, states = run(make(name, **settings), some_tensors(dtype), some_tensors(dtype))
    assert all(each.dtype == dtype and torch.isfinite(each).all() for each in weights)
    assert all(each.dtype == dtype for each in states) or name == "test"


@pytest.mark.parametrize(("name", "settings"), FORMS)
def test_given_together_or_alone_is_the_same(name, settings):
    made = [make(name, **settings) for _ in range(2)]
    found = run(made[0], some_tensors(), some_tensors())
    random.seed(1)
    expected = run(made[1], some_tensors(), some_tensors(), together=False)
    torch.testing.assert_close(found, expected)
    for each in made:
        assert each.num_update == 4
        assert each._index_update_count == dict.fromkeys(range(4), 4)


@pytest.mark.parametrize("name", list(optimizers))
def test_mixed_types_are_updated_together(name):
    updater = Updater(make(name, multi_precision=True, learning_rate=0.5))
    weights = [array(np.ones(3), dtype=dtype) for dtype in ("float32", "float16", "float32", "bfloat16")]
    updater([0, 1, 2, 3], [array(np.ones(3), dtype=each.dtype) for each in weights], weights)
    assert updater.optimizer._index_update_count == {0: 1, 1: 1, 2: 1, 3: 1}
    if name != "sgld":
        value = float(weights[0].tensor[0])
        assert value != 1 or name == "lars"
        assert all(float(each.tensor[0]) == pytest.approx(value, rel=1e-2) for each in weights)


@pytest.mark.parametrize(("name", "settings"), FORMS)
def test_a_multiplier_of_zero_freezes(name, settings):
    if name in ("adadelta", "test") or "clip_weights" in settings:
        pytest.skip("changes whatever the rate")
    made = make(name, param_idx2name={0: "a_weight", 1: "b_weight"}, **settings)
    made.set_lr_mult({"b_weight": 0.0})
    made.set_wd_mult({"b_weight": 0.0})
    weights, _ = run(made, some_tensors()[:2], some_tensors()[:2])
    assert not torch.equal(weights[0], some_tensors()[0])
    assert torch.equal(weights[1], some_tensors()[1])


@pytest.mark.parametrize(("name", "settings"), FORMS)
def test_optimizers_and_updaters_are_pickled(name, settings):
    made = make(name, lr_scheduler=FactorScheduler(2, 0.5), param_idx2name=NAMES, **settings)
    if name == "groupadagrad":
        made.set_wd_mult({})
    updater = Updater(made)
    weights = wrap(some_tensors())
    updater([0, 1, 2, 3], wrap(some_tensors()), weights)
    copies = [each.copy() for each in weights]
    again = pickle.loads(pickle.dumps(updater))
    assert type(again.optimizer) is type(made)
    assert repr(again.optimizer).split("lr_scheduler")[0] == repr(made).split("lr_scheduler")[0]
    for each, arrays in ((updater, weights), (again, copies)):
        random.seed(2)
        each([0, 1, 2, 3], wrap(some_tensors()), arrays)
    for one, other in zip(weights, copies, strict=True):
        assert torch.equal(one.tensor, other.tensor)


@pytest.mark.parametrize("name", list(optimizers))
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_low_precision_without_master_warns(name, dtype):
    with pytest.warns(UserWarning, match=f"{type(make(name)).__name__}: .*set multi_precision=True"):
        make(name).create_state_multi_precision(0, array(np.ones(2), dtype=dtype))


NAMES = {0: "fc_weight", 1: "fc_bias", 2: "bn_gamma", 3: "bn_beta", 4: "other"}


SYMBOL = SimpleNamespace(
    attr_dict=lambda: {
        "fc_weight": {"__lr_mult__": "2", "__wd_mult__": "3"},
        "fc_bias": {"__wd_mult__": "0.5"},
    },
    list_arguments=lambda: ["data", "fc_weight", "fc_bias"],
)


@pytest.mark.parametrize(
    ("settings", "lr_mult", "wd_mult", "rates", "decays"),
    [
        ({}, None, None, [1, 1, 1, 1, 1], [0.5, 0, 0.5, 0, 0]),  # decay acts on weight and gamma only
        ({}, {"fc_bias": 3, 0: 2}, {"fc_bias": 4}, [2, 3, 1, 1, 1], [0.5, 2, 0.5, 0, 0]),
        ({"sym": SYMBOL}, None, None, [2, 1, 1, 1, 1], [1.5, 0.25, 0.5, 0, 0]),
        ({"sym": SYMBOL}, {"fc_bias": 5}, None, [2, 5, 1, 1, 1], [1.5, 0.25, 0.5, 0, 0]),
        (
            {"param_dict": {1: SimpleNamespace(lr_mult=7, wd_mult=8)}},
            {"fc_bias": 3},
            None,
            [1, 7, 1, 1, 1],
            [0.5, 4, 0.5, 0, 0],
        ),
    ],
    ids=["by ending", "by name and index", "from the symbol", "over the symbol", "from param_dict"],
)
def test_multipliers(settings, lr_mult, wd_mult, rates, decays):
    made = create("sgd", learning_rate=1.0, wd=0.5, param_idx2name=NAMES, **settings)
    if lr_mult is not None:
        made.set_lr_mult(lr_mult)
    if wd_mult is not None:
        made.set_wd_mult(wd_mult)
    assert (made._get_lrs(list(NAMES)), made._get_wds(list(NAMES))) == (rates, decays)
    assert [made._get_lr(i) for i in NAMES] == rates
    assert [made._get_wd(i) for i in NAMES] == decays
    expected = {"fc_bias": 0, "bn_beta": 0, "other": 0} if not settings and wd_mult is None else made.wd_mult
    assert made.wd_mult == expected


@pytest.mark.parametrize(("name", "settings"), FORMS)
def test_counts_start_at_begin_num_update(name, settings):
    made, weight = make(name, begin_num_update=5, **settings), array(np.ones(1))
    assert made.num_update == 5
    state = made.create_state(0, weight)
    for _ in range(2):
        made.update(0, weight, array(np.ones(1)), state)
    made.update(1, weight, array(np.ones(1)), state)
    assert made.num_update == 7
    assert made._index_update_count == {0: 7, 1: 6}


@pytest.mark.parametrize(
    ("name", "rate"),
    [
        ("sgd", 0.01), ("adam", 0.001), ("adamw", 0.001), ("adamax", 0.002), ("nadam", 0.001), ("rmsprop", 0.001),
        ("ftrl", 0.1), ("lamb", 0.001), ("ftml", 0.01), ("adagrad", 0.01), ("lars", 0.01), ("test", 0.01),
    ],
)  # fmt: skip
def test_default_learning_rate(name, rate):
    assert create(name).learning_rate == rate


@pytest.mark.parametrize("name", ["sgd", "nag", "dcasgd", "adagrad", "ftml", "signum"])
def test_a_schedule_decides_the_learning_rate(name):
    made = create(name, lr_scheduler=FactorScheduler(2, 0.5, base_lr=0.7))
    assert (made.lr, made.learning_rate) == (None, 0.7)
    with pytest.raises(StateError, match="there must be no lr_scheduler"):
        made.set_learning_rate(0.1)


@pytest.mark.parametrize("schedule", [FactorScheduler(2, 0.5), PolyScheduler(10)])
def test_learning_rate_is_where_a_schedule_starts(schedule):
    assert create("sgd", learning_rate=0.4, lr_scheduler=schedule).learning_rate == 0.4


def test_two_starting_rates_warn():
    with pytest.warns(UserWarning, match=r"learning_rate=0.4 replaces base_lr=0.7"):
        create("sgd", learning_rate=0.4, lr_scheduler=FactorScheduler(2, 0.5, base_lr=0.7))


@pytest.mark.parametrize("name", list(optimizers))
def test_set_learning_rate(name):
    made = create(name, learning_rate=0.4)
    made.set_learning_rate(0.2)
    assert made.learning_rate == made._get_lr(0) == 0.2


@pytest.mark.parametrize("name", list(optimizers))
def test_names_do_not_mind_case(name):
    kind = optimizers[name]
    assert type(create(name.upper())) is type(create(name)) is kind
    assert type(Optimizer.create_optimizer(kind.__name__)) is kind
    made = kind()
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


@pytest.mark.parametrize(("name", "settings"), FORMS)
def test_repr_shows_settings(name, settings):
    shown = repr(make(name, **settings))
    assert f"{optimizers[name].__name__}(learning_rate=0.1," in shown
    assert all(f"{setting}={value!r}" in shown for setting, value in settings.items())


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


@pytest.mark.parametrize(("name", "settings"), FORMS)
def test_gradient_of_another_shape_is_refused(name, settings):
    """The fused kernels of torch would read past its end."""
    weight = array(np.ones((50, 50)))
    with pytest.raises(ShapeError, match=r"gradient of weight 0 must have its shape, \(50, 50\); got \(3,\)"):
        Updater(create(name, **settings))(0, array(np.ones(3)), weight)
    np.testing.assert_array_equal(weight.asnumpy(), 1)


def test_updaters_that_share_an_optimizer_count_on_their_devices():
    made = create("adam", learning_rate=0.1)
    updaters = [Updater(made) for _ in range(2)]
    weights = [array(np.ones(2), ctx=cpu(k)) for k in range(2)]
    for step in range(3):
        for k in range(2):
            updaters[k](0, array(np.array([1.0 + step, 2.0]), ctx=cpu(k)), weights[k])
    # MXNet 1.9.1 answers these weights, for both devices, and these counts.
    for weight in weights:
        np.testing.assert_allclose(weight.asnumpy(), [0.7076798, 0.6999981], rtol=1e-5)
    assert made._all_index_update_counts == {0: {0: 3}, 1: {0: 3}}
    assert made.num_update == 3


def test_a_learning_rate_that_is_overridden_as_a_property_counts_for_nothing():
    class Own(SGD):
        @property
        def learning_rate(self):
            return 9.0

    weight = array(np.ones(1))
    Updater(Own(learning_rate=0.5))(0, array(np.ones(1)), weight)
    # MXNet 1.9.1 answers 0.5: its updates ask `_get_lrs`, which does not ask the property.
    assert weight.asnumpy().tolist() == [0.5]
