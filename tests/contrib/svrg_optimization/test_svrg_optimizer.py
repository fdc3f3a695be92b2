"""The optimizer of SVRG's store: what it assigns, what it passes on, what it shares."""

import copy
import pickle
import re

import numpy as np
import pytest

import rebind as mx
from rebind import optimizer
from rebind.contrib.svrg_optimization.svrg_optimizer import _AssignmentOptimizer, _SVRGOptimizer
from rebind.errors import ArgumentError, ParameterError

NAMES = {0: "fullyconnected0_weight", 1: "w", 2: "w_full"}


def pushed(made, keys):
    """What is in a store after a push of twos on ones."""
    store = mx.kv.create("local")
    store.set_optimizer(made)
    store.init(keys, [mx.nd.ones((2,)) for _ in keys])
    store.push(keys, [mx.nd.ones((2,)) * 2 for _ in keys])
    outs = [mx.nd.zeros((2,)) for _ in keys]
    store.pull(keys, out=outs)
    return [out.asnumpy()[0] for out in outs]


@pytest.mark.parametrize(
    ("accumulators", "keys", "expected"),
    [
        pytest.param([], list(NAMES), [-1, -1, 2], id="by name, keys are numbers"),
        pytest.param([], list(NAMES.values()), [-1, -1, 2], id="by name, keys are names"),
        pytest.param([["w"]], list(NAMES.values()), [-1, 2, -1], id="as given"),
    ],
)
def test_full_gradients_are_assigned_and_weights_updated(accumulators, keys, expected):
    made = _SVRGOptimizer("sgd", *accumulators, learning_rate=1.0, param_idx2name=NAMES)
    assert pushed(made, keys) == expected


@pytest.mark.parametrize("settings", [{"momentum": 0.9, "wd": 0.1}, {"clip_global_norm": 0.5}])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_weights_are_updated_as_without_it(settings, dtype):
    random = np.random.RandomState(0)
    grads = random.randn(3, 2, 4)
    ends = []
    for wrapped in (False, True):
        made = optimizer.create("sgd", learning_rate=0.3, multi_precision=True, **settings)
        updater = optimizer.get_updater(_SVRGOptimizer(made) if wrapped else made)
        weights = [mx.nd.array(np.ones(4), dtype=dtype) for _ in range(2)]
        for step in grads:
            updater([0, 1], [mx.nd.array(each, dtype=dtype) for each in step], weights)
        ends.append(([each.asnumpy() for each in weights], updater.get_states(), made.num_update))
    np.testing.assert_array_equal(ends[0][0], ends[1][0])
    assert ends[0][1:] == ends[1][1:]


def test_an_optimizer_of_a_users_own_gets_one_weight_at_a_time():
    class Own(optimizer.Optimizer):
        def create_state(self, index, weight):
            return None

        def update(self, index, weight, grad, state):
            assert isinstance(index, int)
            weight[:] = weight - grad

    assert pushed(_SVRGOptimizer(Own(param_idx2name=NAMES)), list(NAMES)) == [-1, -1, 2]


def test_it_shares_settings_and_counts():
    made = optimizer.create("sgd", learning_rate=0.5, momentum=0.9)
    wrapper = _SVRGOptimizer(made)
    assert wrapper.default_opt is made and isinstance(wrapper.aux_opt, _AssignmentOptimizer)
    assert (wrapper.learning_rate, wrapper.momentum) == (0.5, 0.9)
    wrapper.set_learning_rate(0.25)
    wrapper.rescale_grad = 0.125
    assert (made.learning_rate, made.rescale_grad) == (0.25, 0.125)
    optimizer.get_updater(wrapper)(0, mx.nd.ones((2,)), mx.nd.ones((2,)))
    assert wrapper.num_update == made.num_update == 1
    assert repr(wrapper) == f"_SVRGOptimizer({made!r})"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_a_copy_shares_its_own(copied):
    made = _SVRGOptimizer("adam", ["w_full"], learning_rate=0.5)
    again = copied(made)
    again.set_learning_rate(0.25)
    assert (again.default_opt.lr, made.lr, again.accumulators) == (0.25, 0.5, {"w_full"})


@pytest.mark.parametrize(
    ("optimizer_given", "settings", "error", "says"),
    [
        (
            3,
            {},
            ArgumentError,
            "_SVRGOptimizer: default_optimizer must be a name or an Optimizer; got 3",
        ),
        (
            optimizer.create("sgd"),
            {"learning_rate": 0.1},
            ParameterError,
            "settings are for an optimizer's name; got SGD(",
        ),
    ],
    ids=["a number", "settings of an object"],
)
def test_mistakes(optimizer_given, settings, error, says):
    with pytest.raises(error, match=re.escape(says)):
        _SVRGOptimizer(optimizer_given, **settings)
