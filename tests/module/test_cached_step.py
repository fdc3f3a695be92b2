"""Steps that repeat the last one: whatever a program changes between two batches counts, as in single steps."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tests.newer_torch import follows_gradients

import rebind as mx

from .changes import exchange_weight, exe, set_params, view_of_data, write_weight

pytestmark = pytest.mark.usefixtures("own_backends")

S = mx.sym
#: How close compiled code comes.
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
SIZE = 70


def network(dropout: float) -> Any:
    net = S.FullyConnected(S.var("data"), num_hidden=6, name="fc1")
    net = S.Dropout(S.Activation(net, act_type="relu"), p=dropout)
    return S.SoftmaxOutput(S.FullyConnected(net, num_hidden=3, name="fc2"), name="softmax")


def batch(number: int, size: int = 64) -> Any:
    random = np.random.default_rng(number)
    data = mx.nd.array(random.normal(size=(size, SIZE)))
    return mx.io.DataBatch([data], [mx.nd.array(random.integers(0, 3, size))])


def made(backend: str = "default", dropout: float = 0.25) -> Any:
    mx.random.seed(3)
    module = mx.mod.Module(network(dropout), backend=backend)
    module.bind([("data", (64, SIZE))], [("softmax_label", (64,))])
    module.init_params(mx.init.Uniform(0.5))
    module.init_optimizer(
        optimizer="sgd", optimizer_params={"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}
    )
    return module


def step(module: Any, number: int, *, at_once: bool, **given: Any) -> None:
    each = given.get("batch") or batch(number)
    mx.random.seed(number)
    if not at_once:
        module.forward(each, is_train=True)
        module.backward()
        module.update()
    elif not module.forward_backward_update(each):
        module.forward_backward(each)
        module.update()


def state(module: Any) -> dict[str, np.ndarray]:
    """All that a program can see."""
    found = {**exe(module).arg_dict, **{f"gradient of {n}": g for n, g in exe(module).grad_dict.items()}}
    found |= {f"output {i}": each for i, each in enumerate(module.get_outputs())}
    optimizer = module.optimizers()[0]
    states = module.policy.updater.states.items()
    states = {i: each if isinstance(each, tuple) else (each,) for i, each in states}
    found |= {f"state {i} {k}": each for i, of_weight in states.items() for k, each in enumerate(of_weight)}
    numbers = {name: each.asnumpy() for name, each in found.items() if each is not None}
    return {**numbers, "updates": np.array([optimizer.num_update, *optimizer._index_update_count.values()])}


def equal(one: dict[str, np.ndarray], other: dict[str, np.ndarray], **tolerance: float) -> None:
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_allclose(
            one[name], other[name], **{"rtol": 0, "atol": 0, **tolerance}, err_msg=name
        )


def is_cached(module: Any) -> bool:
    passes = module.executors.passes
    return any(cache.run is not None and cache.was_used for cache in (passes.training, passes.steps))


def view_of_gradient(module: Any) -> None:
    module.row = exe(module).grad_dict["fc1_weight"][0:2]


def write_data(module: Any) -> None:
    exe(module).arg_dict["data"][:] = 0
    module.forward(batch(90), is_train=False)


def change_rate(module: Any) -> None:
    module.optimizers()[0].set_learning_rate(0.01)


def change_momentum(module: Any) -> None:
    module.optimizers()[0].momentum = 0.5


def clip(module: Any) -> None:
    module.optimizers()[0].clip_gradient = 0.001


def write_state(module: Any) -> None:
    module.policy.updater.states[0][:] = 1


def replace_state(module: Any) -> None:
    states = module.policy.updater.states
    states[0] = states[0] * 0


def other_optimizer(module: Any) -> None:
    module.init_optimizer(optimizer="adam", force_init=True)


def multipliers(module: Any) -> None:
    module.optimizers()[0].set_lr_mult({"fc1_weight": 0.5})
    module.optimizers()[0].set_wd_mult({"fc2_weight": 3.0})


def measure(module: Any) -> None:
    module.forward(batch(80), is_train=False)
    module.forward(batch(81, size=10), is_train=False)


def another_size(module: Any) -> None:
    step(module, 50, at_once=False, batch=batch(50, size=10))


def without_labels(module: Any) -> None:
    module.forward(mx.io.DataBatch([batch(70).data[0]]), is_train=False)


def backward_again(module: Any) -> None:
    mx.random.seed(4)
    module.backward()


def rebind(module: Any) -> None:
    module.bind([("data", (64, SIZE))], [("softmax_label", (64,))], force_rebind=True)


def own_update(module: Any) -> None:
    update = module.update

    def counted() -> None:
        module.count = getattr(module, "count", 0) + 1
        update()

    module.update = counted


def own_rule(module: Any) -> None:
    optimizer = module.optimizers()[0]
    update = optimizer.update

    def slower(*given: Any) -> None:
        optimizer.lr = 0.001
        update(*given)

    optimizer.update = slower


CHANGES: list[Callable[[Any], None]] = [
    write_weight, exchange_weight, set_params, view_of_gradient, view_of_data, write_data, change_rate, change_momentum,
    clip, write_state, replace_state, other_optimizer, multipliers, measure, another_size, without_labels,
    backward_again, rebind, own_update, own_rule,
]  # fmt: skip


@pytest.mark.parametrize("backend", ["default", pytest.param("aot_eager", marks=follows_gradients)])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_is_changed_between_steps_counts(change: Callable[[Any], None], backend: str) -> None:
    # A network that is compiled draws other numbers.
    compiled = backend != "default"
    found, wanted = (made(each, dropout=0.0 if compiled else 0.25) for each in (backend, "default"))
    tolerance = CLOSE if compiled else {}
    for number in range(4):
        step(found, number, at_once=True)
        step(wanted, number, at_once=False)
    assert is_cached(found) and not is_cached(wanted)
    for module in (found, wanted):
        change(module)
    for number in range(4, 8):
        step(found, number, at_once=True)
        step(wanted, number, at_once=False)
        equal(state(found), state(wanted), **tolerance)
    assert vars(found).get("count") == vars(wanted).get("count")


def test_a_batch_is_its_owners() -> None:
    module, given = made(), batch(0)
    for number in range(3):
        step(module, number, at_once=True, batch=given)
    data, before = exe(module).arg_dict["data"], given.data[0].asnumpy()
    assert is_cached(module)
    np.testing.assert_array_equal(data.asnumpy(), before)
    given.data[0][:] = 7
    np.testing.assert_array_equal(data.asnumpy(), before)
    data[:] = 5
    assert given.data[0].asnumpy().min() == 7


def test_a_batch_that_others_write_to_is_copied() -> None:
    memory = torch.zeros(64, SIZE)
    given = mx.io.DataBatch([mx.nd.from_torch(memory)], batch(0).label)
    module = made()
    for number in range(3):
        step(module, number, at_once=True, batch=given)
    memory.fill_(7)
    assert is_cached(module) and not exe(module).arg_dict["data"].asnumpy().any()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda each: each.label, "data"),
        (lambda each: mx.io.DataBatch([], each.label), "got 0 arrays"),
        (lambda each: mx.io.DataBatch([mx.nd.ones((64, SIZE + 1))], each.label), "must fit the weights"),
    ],
    ids=["no batch", "none", "wider"],
)
def test_errors_are_those_of_single_steps(wrong: Callable[[Any], Any], says: str) -> None:
    module = made()
    for number in range(3):
        step(module, number, at_once=True)
    before = state(module)
    with pytest.raises(mx.base.MXNetError, match=says):
        step(module, 3, at_once=True, batch=wrong(batch(3)))
    np.testing.assert_array_equal(before["updates"], state(module)["updates"])


def test_memory_is_free_when_a_module_is_not_bound_any_more() -> None:
    module = made()
    for number in range(3):
        step(module, number, at_once=True)
    weight = weakref.ref(exe(module).arg_dict["fc1_weight"])
    assert is_cached(module)
    module.binded = False
    gc.collect()
    assert weight() is None


def test_a_copy_has_arrays_of_its_own() -> None:
    module = made()
    for number in range(3):
        step(module, number, at_once=True)
    updater = copy.deepcopy(module.policy.updater)
    weight = [mx.nd.ones((2,))]
    updater([7], [mx.nd.ones((2,))], weight)
    assert updater.states.keys() == {*module.policy.updater.states, 7}


def convolution() -> Any:
    net = S.Convolution(S.var("data"), kernel=(3, 3), num_filter=4, name="conv")
    net = S.FullyConnected(S.Activation(net, act_type="tanh"), num_hidden=3, name="fc")
    return S.SoftmaxOutput(net, name="softmax")


@pytest.mark.parametrize("backend", ["default", "aot_eager"])
def test_a_batch_may_be_written_over_between_forward_and_backward(backend: str) -> None:
    gradients = []
    for writes in (True, False):
        module = mx.mod.Module(convolution(), backend=backend)
        module.bind([("data", (8, 3, 20, 20))], [("softmax_label", (8,))])
        module.init_params(mx.init.One())
        for number in range(3):
            random = np.random.default_rng(number)
            data = mx.nd.array(random.normal(size=(8, 3, 20, 20)))
            module.forward(mx.io.DataBatch([data], [mx.nd.array(random.integers(0, 3, 8))]), is_train=True)
            if writes:
                data[:] = 9
            module.backward()
        grads = exe(module).grad_dict
        gradients.append({name: each.asnumpy() for name, each in grads.items() if each is not None})
    equal(*gradients)


def test_predictions_of_batches_that_share_an_array() -> None:
    module, data = made(), mx.nd.zeros((64, SIZE))
    found, wanted = [], []
    for number in range(4):
        data[:] = batch(number).data[0]
        module.forward(mx.io.DataBatch([data]), is_train=False)
        found.append(module.get_outputs()[0].asnumpy())
        wanted.append(exe(module).forward(is_train=False, data=batch(number).data[0])[0].asnumpy())
    np.testing.assert_array_equal(found, wanted)


def test_a_batch_in_the_memory_of_an_iterator_is_copied() -> None:
    module, memory = made(), np.random.default_rng(0).normal(size=(64, SIZE)).astype(np.float32)
    found = module.predict(mx.io.NDArrayIter(memory, batch_size=64)).asnumpy()
    wanted = exe(module).forward(is_train=False, data=mx.nd.array(memory))[0].asnumpy()
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("at_once", [True, False])
def test_a_batch_of_a_record_is_data(at_once: bool) -> None:
    module, x = made(), batch(0).data[0]
    x.attach_grad()
    with mx.autograd.record():
        given = mx.io.DataBatch([x * 2], batch(0).label)
    for number in range(3):
        step(module, number, at_once=at_once, batch=given)
        module.forward(given, is_train=False)
    data = exe(module).arg_dict["data"]
    assert not data.tensor.requires_grad
    np.testing.assert_array_equal(data.asnumpy(), 2 * x.asnumpy())


@pytest.mark.parametrize("backend", ["default", "aot_eager"])
@pytest.mark.parametrize("at_once", [True, False])
def test_two_variables_of_one_name_are_one_input(at_once: bool, backend: str) -> None:
    net = S.FullyConnected(S.concat(S.var("data"), S.var("data") * 2, dim=1), num_hidden=3, name="fc")
    modules = []
    for _ in range(2):
        module = mx.mod.Module(S.SoftmaxOutput(net, name="softmax"), backend=backend)
        module.bind([("data", (64, SIZE))], [("softmax_label", (64,))])
        module.init_params(mx.init.One())
        module.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
        modules.append(module)
    for number in range(4):
        step(modules[0], number, at_once=at_once)
        modules[1].forward(batch(number), is_train=True)
        modules[1].backward()
        modules[1].update()
        equal(state(modules[0]), state(modules[1]), **(CLOSE if backend != "default" else {}))
