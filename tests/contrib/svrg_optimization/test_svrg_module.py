"""SVRGModule by its steps: the snapshot, the rule, who holds what, the order of calls."""

import re

import numpy as np
import pytest

import rebind as mx
from rebind.contrib.svrg_optimization import SVRGModule
from rebind.errors import ArgumentError, ParameterError, StateError
from rebind.io import DataBatch
from rebind.module import Module

from .svrg_runs import (
    BATCH,
    INITIAL,
    LABEL,
    POINTS,
    TARGETS,
    arrays,
    assert_same,
    batches,
    fitted,
    gradients,
    initial,
    module,
    plain_gradients,
    ready,
    total_gradients,
    weights,
)


@pytest.mark.parametrize(
    ("given", "builtin", "error", "says"),
    [(each, TypeError, ArgumentError, "an integer.*; got ") for each in (None, 1.5, "2", True, [1])]
    + [(each, ValueError, ParameterError, f"positive.*; got {each}") for each in (0, -3)],
)
def test_frequencies_that_are_refused(given, builtin, error, says):
    with pytest.raises(builtin, match=f"SVRGModule: update_freq must be {says}") as caught:
        module(update_freq=given)
    assert isinstance(caught.value, error)


@pytest.mark.parametrize("given", [3, np.int64(3)])
def test_frequencies(given):
    assert module(update_freq=given).update_freq == 3


def test_labels_that_the_symbol_lacks_are_warned_of_once():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1)
    with pytest.warns(UserWarning, match="softmax_label") as caught:
        SVRGModule(net, update_freq=2)
    assert len(caught) == 1


@pytest.mark.parametrize("devices", [1, 2])
def test_the_second_module_is_bound_for_training_only(devices):
    mod, data = module(devices), batches()
    assert isinstance(mod._mod_aux, Module) and not mod._mod_aux.binded and mod._param_dict is None
    mod.bind(data.provide_data, data.provide_label, for_training=False)
    assert mod.binded and not mod._mod_aux.binded
    mod.bind(data.provide_data, data.provide_label, force_rebind=True)
    assert mod._mod_aux.binded and mod._mod_aux.for_training
    mod.bind(data.provide_data, data.provide_label, for_training=False, force_rebind=True)
    assert not mod._mod_aux.binded
    mod.init_params()
    mod.forward(next(data))
    assert mod.get_outputs()[0].shape == (BATCH, 1)


@pytest.mark.parametrize("devices", [1, 2])
def test_a_second_bind_changes_nothing(devices):
    mod, data = ready(devices)
    mod.update_full_grads(data)
    group = mod._mod_aux._exec_group
    with pytest.warns(UserWarning, match="already bound"):
        mod.bind(data.provide_data, data.provide_label, for_training=False)
    assert mod._mod_aux._exec_group is group


@pytest.mark.parametrize("devices", [1, 2])
def test_a_snapshot_outlives_a_rebind(devices):
    mod, data = ready(devices)
    mod.update_full_grads(data)
    fulls = arrays(mod._param_dict[0])
    group = mod._mod_aux._exec_group
    mod.bind(data.provide_data, data.provide_label, force_rebind=True)
    assert mod._mod_aux._exec_group is not group
    assert_same(weights(mod._mod_aux), INITIAL)
    assert_same(arrays(mod._param_dict[0]), fulls)


@pytest.mark.parametrize("reshape", [True, False], ids=["by reshape", "by the batch"])
@pytest.mark.parametrize("devices", [1, 2])
def test_another_batch_size_reaches_both(reshape, devices):
    mod, data = ready(devices)
    mod.update_full_grads(data)
    other = batches(4)
    if reshape:
        mod.reshape(other.provide_data, other.provide_label)
        assert mod._mod_aux.data_shapes == mod.data_shapes == other.provide_data
    mod.forward_backward(next(other))
    mod.update()
    assert mod._mod_aux.data_shapes[0].shape == mod.data_shapes[0].shape == (4, 3)
    assert mod.get_outputs()[0].shape == (4, 1)


@pytest.mark.parametrize(("is_train", "both"), [(True, True), (None, True), (False, False)])
def test_forward_runs_both_in_training_mode_only(is_train, both):
    mod, data = ready()
    mod.update_full_grads(data)
    data.reset()
    mod.forward(next(data), is_train=True)
    seen = mod._mod_aux.get_outputs()[0]
    before = seen.asnumpy().copy()
    mod.forward(next(data), is_train=is_train)
    assert (not np.array_equal(seen.asnumpy(), before)) == both


def test_prepare_warns_once_of_rows():
    mod, data = ready()
    with pytest.warns(UserWarning, match="sparse_row_id_fn") as caught:
        mod.prepare(next(data), sparse_row_id_fn=lambda batch: {"hidden_weight": mx.nd.array([0])})
    assert len(caught) == 1


def test_states_go_to_both():
    net = mx.sym.LinearRegressionOutput(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
        + mx.sym.var("state", shape=(2, 1)),
        name="lro",
    )
    mod = module(net=net, state_names=["state"])
    mod.bind([("data", (2, 3))], [(LABEL, (2, 1))])
    mod.set_states(value=3)
    for each in (mod, mod._mod_aux):
        assert (each.get_states()[0].asnumpy() == 3).all()


@pytest.mark.parametrize("devices", [1, 2, 4])
@pytest.mark.parametrize("kvstore", [None, "local", "device"])
@pytest.mark.parametrize("given", [lambda data: data, list], ids=["iterator", "list"])
def test_the_full_gradient(given, devices, kvstore):
    mod, data = ready(devices, kvstore=kvstore)
    data = given(data)
    expected = {name: value / devices for name, value in total_gradients(INITIAL).items()}
    for _ in range(2):  # each begins at zero
        mod.update_full_grads(data)
        for full in mod._param_dict:
            assert_same(arrays(full), expected)
    assert_same(weights(mod), INITIAL)
    assert_same(weights(mod._mod_aux), INITIAL)


@pytest.mark.parametrize("devices", [1, 2])
def test_a_snapshot_needs_no_optimizer(devices):
    mod = initialised(devices)
    mod.update_full_grads(batches())
    expected = {name: value / devices for name, value in total_gradients(INITIAL).items()}
    assert_same(arrays(mod._param_dict[0]), expected)


@pytest.mark.parametrize("devices", [1, 3])
def test_keys_in_the_store(devices):
    store = mx.kv.create("local")
    mod, data = ready(devices, kvstore=store)
    mod.update_full_grads(data)
    for name, expected in total_gradients(INITIAL).items():
        out = mx.nd.zeros(expected.shape)
        store.pull(name + "_full", out=out)
        np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-5)
        store.pull(name, out=out)
        np.testing.assert_array_equal(out.asnumpy(), INITIAL[name])


def test_a_second_init_optimizer_leaves_the_store_alone():
    store = mx.kv.create("local")
    mod, data = ready(kvstore=store)
    mod.update_full_grads(data)
    with pytest.warns(UserWarning, match="init_optimizer"):
        mod.init_optimizer(kvstore=store)
    out = mx.nd.zeros((1,))
    store.pull("out_bias_full", out=out)
    assert out.item() != 0


def changed():
    """Other weights than the snapshot's."""
    return {name: value + 0.25 for name, value in INITIAL.items()}


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_a_step(devices, grad_req):
    mod, data = module(devices), batches()
    mod.bind(data.provide_data, data.provide_label, grad_req=grad_req)
    mod.init_params(arg_params=initial())
    mod.init_optimizer(kvstore=None, optimizer_params={"learning_rate": 0.1, "rescale_grad": 1.0})
    mod.update_full_grads(data)
    mod.set_params({name: mx.nd.array(value) for name, value in changed().items()}, {})
    data.reset()
    used = [next(data) for _ in range(1 if grad_req == "write" else 2)]
    for batch in used:
        mod.forward_backward(batch)
    mod.update()
    full = total_gradients(INITIAL)
    pairs = [(plain_gradients(changed(), batch), plain_gradients(INITIAL, batch)) for batch in used]
    expected = {
        name: value - 0.1 * sum(now[name] - then[name] + full[name] for now, then in pairs)
        for name, value in changed().items()
    }
    assert_same(weights(mod), expected)


@pytest.mark.parametrize("devices", [1, 2])
def test_forward_and_backward_in_one_or_two_calls(devices):
    found = []
    for together in (True, False):
        mod, data = ready(devices)
        mod.update_full_grads(data)
        mod.set_params({name: mx.nd.array(value) for name, value in changed().items()}, {})
        batch = next(batches())
        if together:
            mod.forward_backward(batch)
        else:
            mod.forward(batch)
            mod.backward()
        mod.update()
        found.append(weights(mod))
    assert_same(found[0], found[1], rtol=0)


def test_gradients_are_raw_until_the_update():
    mod, data = ready()
    mod.update_full_grads(data)
    batch = next(batches())
    mod.forward_backward(batch)
    assert_same(gradients(mod), plain_gradients(INITIAL, batch))
    mod.update()  # at the snapshot's weights, so what is left is the full gradient
    assert_same(gradients(mod), total_gradients(INITIAL), rtol=1e-4)


@pytest.mark.parametrize("devices", [1, 2])
def test_the_rule_acts_once(devices):
    mod, data = ready(devices, optimizer_params={"learning_rate": 0.0})
    mod.update_full_grads(data)
    mod.forward_backward(next(batches()))
    mod.update()
    once = gradients(mod)
    mod.update()
    assert_same(gradients(mod), once)


@pytest.mark.parametrize(
    ("current", "snapshot", "full", "expected"),
    [
        ([[1.0, 2.0], [3.0]], [[0.5, 0.5], [1.0]], [[10.0, 10.0], [20.0]], [[10.5, 11.5], [22.0]]),
        ([1.0], [2.0], [5.0], [4.0]),
    ],
    ids=["lists", "single arrays"],
)
def test_the_rule(current, snapshot, full, expected):
    def given(values):
        return [mx.nd.array(each) for each in values] if isinstance(values[0], list) else mx.nd.array(values)

    def numbers(given):
        return [each.asnumpy().tolist() for each in given] if isinstance(given, list) else given.asnumpy()

    result, then = given(current), given(snapshot)
    assert module()._svrg_grads_update_rule(result, then, given(full)) is result
    assert numbers(result) == expected and numbers(then) == snapshot


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_types(dtype):
    data = mx.io.NDArrayIter(
        mx.nd.array(POINTS, dtype=dtype), mx.nd.array(TARGETS, dtype=dtype), BATCH, label_name=LABEL
    )
    settings = {"learning_rate": 0.05, "multi_precision": True}
    mod = fitted(data=data, optimizer_params=settings)
    reference = fitted(optimizer_params=settings)
    assert all(value.dtype == dtype for value in weights(mod).values())
    assert_same(weights(mod), weights(reference), rtol=1e-5 if dtype == "float64" else 0.02)


def bound(devices=1):
    mod, data = module(devices), batches()
    mod.bind(data.provide_data, data.provide_label)
    return mod


def initialised(devices=1):
    mod = bound(devices)
    mod.init_params(arg_params=initial())
    return mod


@pytest.mark.parametrize(
    ("make", "call", "says"),
    [
        (
            module,
            lambda mod: mod.update_full_grads(batches()),
            "update_full_grads() needs bind(for_training=True) first",
        ),
        (module, lambda mod: mod.forward(next(batches())), "forward() needs bind() first"),
        (module, lambda mod: mod.update(), "needs"),
        (module, lambda mod: mod.init_optimizer(), "needs"),
        (bound, lambda mod: mod.update_full_grads(batches()), "init_params() first"),
        (bound, lambda mod: mod.forward(next(batches())), "forward() needs init_params() first"),
        (initialised, lambda mod: mod.update(), "update() needs init_optimizer() first"),
        (
            lambda: ready()[0],
            lambda mod: mod.update_full_grads([]),
            "update_full_grads: train_data must yield at least one batch",
        ),
        (
            lambda: ready()[0],
            lambda mod: mod.forward(next(batches()), is_train=True),
            "needs update_full_grads() first; fit() calls it",
        ),
        (
            lambda: ready()[0],
            lambda mod: mod.forward(next(batches())),
            "needs update_full_grads() first; fit() calls it",
        ),
    ],
)
def test_steps_come_in_order(make, call, says):
    with pytest.raises(StateError, match=re.escape(says)):
        call(make())


@pytest.mark.parametrize("devices", [1, 2])
def test_inference_needs_no_snapshot(devices):
    mod, data = ready(devices)
    mod.forward(next(data), is_train=False)
    assert mod.get_outputs()[0].shape == (BATCH, 1)


@pytest.mark.parametrize("devices", [1, 2])
def test_gradients_of_an_inference_pass_are_no_step(devices):
    mod, data = ready(devices)
    mod.update_full_grads(data)
    mod.forward(next(batches()), is_train=False)
    mod.backward()
    with pytest.raises(StateError, match=r"update\(\) needs forward\(is_train=True\) before backward\(\)"):
        mod.update()
    assert_same(weights(mod), INITIAL)


def with_the_snapshots_weights():
    """As MXNet's own tests do it: full gradients are zero until a pass over the data."""
    mod, data = ready()
    mod._mod_aux.set_params(initial(), {})
    mod.forward_backward(next(data))
    return mod


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(with_the_snapshots_weights, id="of a snapshot given by hand"),
        pytest.param(
            lambda: fitted(2, mod=module(2, fixed_param_names=list(INITIAL))), id="with all parameters fixed"
        ),
    ],
)
def test_an_update_that_changes_nothing(make):
    mod = make()
    mod.update()
    assert_same(weights(mod), INITIAL)


def test_an_update_before_all_else():
    with pytest.warns(UserWarning, match=r"Module.update: backward\(\) must run first"):
        ready()[0].update()


def test_outputs_that_are_no_losses():
    mod = SVRGModule(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc"),
        label_names=None,
        update_freq=2,
        context=[mx.cpu(0), mx.cpu(1)],
    )
    for size in (4, 2):
        if mod.binded:
            mod.reshape([("data", (size, 3))])
        else:
            mod.bind([("data", (size, 3))])
            mod.init_params()
            mod._mod_aux.init_params()
            mod.init_optimizer(optimizer_params={"learning_rate": 1.0})
        mod.forward(DataBatch([mx.nd.ones((size, 3))], None))
        mod.backward([mx.nd.ones((size, 4))])
        mod.update()
        assert mod.get_outputs()[0].shape == (size, 4)
