"""SVRGModule: the snapshot, the rule, who holds what, the order of calls."""

import logging
import re
import warnings

import numpy as np
import pytest

import rebind as mx
from rebind.contrib.svrg_optimization import SVRGModule
from rebind.errors import ArgumentError, ParameterError, StateError
from rebind.io import DataBatch
from rebind.module import Module

RANDOM = np.random.RandomState(0)
ROWS, BATCH = 22, 8  # three batches; two rows of the last one fill it up
POINTS = RANDOM.randn(ROWS, 3).astype("float32")
TARGETS = (POINTS @ np.array([1.0, 2.0, 3.0]) + 0.5).astype("float32")
LABEL = "lro_label"
INITIAL = {
    "hidden_weight": RANDOM.randn(4, 3).astype("float32"),
    "hidden_bias": RANDOM.randn(4).astype("float32"),
    "out_weight": RANDOM.randn(1, 4).astype("float32"),
    "out_bias": RANDOM.randn(1).astype("float32"),
}


def network(hidden="hidden", out="out", dropout=0.0):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name=hidden)
    net = mx.sym.Dropout(mx.sym.Activation(net, act_type="tanh"), p=dropout)
    net = mx.sym.FullyConnected(net, num_hidden=1, name=out)
    return mx.sym.LinearRegressionOutput(net, name="lro")


def batches(size=BATCH, **kwargs):
    return mx.io.NDArrayIter(POINTS, TARGETS, size, label_name=LABEL, **kwargs)


def module(devices=1, net=None, update_freq=2, **kwargs):
    context = [mx.cpu(k) for k in range(devices)]
    return SVRGModule(
        network() if net is None else net,
        label_names=[LABEL],
        context=context,
        update_freq=update_freq,
        **kwargs,
    )


def initial():
    return {name: mx.nd.array(value) for name, value in INITIAL.items()}


def ready(devices=1, size=BATCH, kvstore="local", optimizer_params=(("learning_rate", 0.1),), **kwargs):
    """A module with parameters and an optimizer."""
    mod = module(devices, **kwargs)
    data = batches(size)
    mod.bind(data.provide_data, data.provide_label)
    mod.init_params(arg_params=initial())
    mod.init_optimizer(kvstore=kvstore, optimizer_params=optimizer_params)
    return mod, data


def fitted(devices=1, mod=None, **settings):
    mod = mod or module(devices)
    settings = {
        "arg_params": initial(),
        "num_epoch": 4,
        "optimizer_params": {"learning_rate": 0.1},
        **settings,
    }
    mod.fit(settings.pop("data", None) or batches(), eval_metric="mse", progress=False, **settings)
    return mod


def arrays(params):
    return {name: value.asnumpy() for name, value in params.items()}


def weights(mod):
    return arrays(mod.get_params()[0])


def gradients(mod, device=0):
    group = mod._exec_group
    pairs = zip(group.param_names, group.grad_arrays, strict=True)
    return {name: grads[device].asnumpy() for name, grads in pairs if grads[device] is not None}


def assert_same(found, expected, rtol=1e-5):
    assert sorted(found) == sorted(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=rtol, atol=1e-6, err_msg=name)


def plain_gradients(values, batch):
    """What a plain module computes for a batch with these weights."""
    mod = Module(network(), label_names=[LABEL])
    data = batches()
    mod.bind(data.provide_data, data.provide_label)
    mod.init_params(arg_params={name: mx.nd.array(value) for name, value in values.items()})
    mod.forward_backward(batch)
    return gradients(mod)


def total_gradients(values):
    """The full gradient of the data in batches: the sum, and what it is divided by."""
    data = batches()
    sums = {name: 0.0 for name in INITIAL}
    for batch in data:
        for name, value in plain_gradients(values, batch).items():
            sums[name] = sums[name] + value
    return {name: value / (3 - 2 / BATCH) for name, value in sums.items()}


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
    with pytest.raises(StateError, match=r"update\(\) needs backward\(\) first"):
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


def by_hand(epochs, update_freq, learning_rate=0.1, begin_epoch=0):
    """SVRG in NumPy, on gradients of a plain module."""
    current = dict(INITIAL)
    for epoch in range(begin_epoch, epochs):
        if epoch == begin_epoch or epoch % update_freq == 0:
            snapshot, full = dict(current), total_gradients(current)
        for batch in batches():
            now, then = plain_gradients(current, batch), plain_gradients(snapshot, batch)
            current = {
                name: value - learning_rate / BATCH * (now[name] - then[name] + full[name])
                for name, value in current.items()
            }
    return current


@pytest.mark.parametrize("begin_epoch", [0, 3])
@pytest.mark.parametrize("update_freq", [1, 2])
def test_fit(update_freq, begin_epoch):
    mod = fitted(mod=module(update_freq=update_freq), begin_epoch=begin_epoch, num_epoch=begin_epoch + 3)
    expected = by_hand(begin_epoch + 3, update_freq, begin_epoch=begin_epoch)
    assert_same(weights(mod), expected, rtol=1e-4)


@pytest.mark.parametrize("devices", [2, 4])
@pytest.mark.parametrize("kvstore", [None, "local", "device"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_several_devices_give_what_one_gives(devices, kvstore, optimizer):
    settings = {"optimizer": optimizer, "optimizer_params": {"learning_rate": 0.05, "wd": 0.01}}
    assert_same(weights(fitted(devices, kvstore=kvstore, **settings)), weights(fitted(**settings)), rtol=1e-4)


def test_gradients_are_summed_in_a_store_that_does_not_update(monkeypatch):
    monkeypatch.setenv("MXNET_KVSTORE_BIGARRAY_BOUND", "3")
    mod = fitted(2)
    assert mod._kvstore is not None and not mod._update_on_kvstore
    assert_same(weights(mod), weights(fitted()), rtol=1e-4)


@pytest.mark.parametrize("name", ["fullyconnected0", "a_full", "out_full"])
@pytest.mark.parametrize("devices", [1, 2])
def test_names_with_full_in_them_train(name, devices):
    renamed = {key.replace("hidden", name): value for key, value in initial().items()}
    mod = fitted(mod=module(devices, net=network(hidden=name)), arg_params=renamed)
    found = {key.replace(name, "hidden"): value for key, value in weights(mod).items()}
    assert_same(found, weights(fitted()), rtol=1e-4)


def test_a_parameter_that_is_called_as_anothers_full_gradient():
    weight, bias = (mx.sym.var(name, init=mx.init.One()) for name in ("w", "w_full"))
    net = mx.sym.FullyConnected(mx.sym.var("data"), weight=weight, bias=bias, num_hidden=1)
    net = mx.sym.LinearRegressionOutput(net, name="lro")
    runs = [fitted(mod=module(devices, net=net), arg_params=None) for devices in (1, 2)]
    assert_same(weights(runs[1]), weights(runs[0]))
    assert not np.array_equal(weights(runs[0])["w_full"], np.ones(1))


@pytest.mark.parametrize("devices", [1, 2])
def test_fixed_parameters_stay(devices):
    mod = fitted(mod=module(devices, fixed_param_names=["hidden_weight"]))
    found = weights(mod)
    np.testing.assert_array_equal(found["hidden_weight"], INITIAL["hidden_weight"])
    assert not np.array_equal(found["hidden_bias"], INITIAL["hidden_bias"])
    assert "hidden_weight" not in mod._param_dict[0]


def test_dropout_and_moving_averages():
    net = mx.sym.BatchNorm(mx.sym.var("data"), name="bn", fix_gamma=False)
    net = mx.sym.FullyConnected(mx.sym.Dropout(net, p=0.5), num_hidden=1, name="fc")
    mod = fitted(
        mod=module(net=mx.sym.LinearRegressionOutput(net, name="lro")),
        arg_params=None,
        optimizer_params={"learning_rate": 0.01},
    )
    moving = arrays(mod.get_params()[1])
    np.testing.assert_allclose(moving["bn_moving_mean"], 0.8 * POINTS.mean(axis=0), atol=0.2)
    assert np.isfinite(weights(mod)["fc_weight"]).all()


class Watched(mx.io.NDArrayIter):
    """Batches that note who takes them."""

    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        self.seen = []

    def reset(self):
        super().reset()
        self.seen.append("reset")

    def next(self):
        batch = super().next()
        self.seen.append("batch")
        return batch


def test_fit_logs_and_calls_as_module_does(caplog):
    runs = []
    for mod in (module(), Module(network(), label_names=[LABEL])):
        data = Watched(POINTS, TARGETS, 11, label_name=LABEL)
        caplog.clear()
        with caplog.at_level(logging.INFO):
            fitted(
                mod=mod,
                data=data,
                eval_data=batches(),
                num_epoch=3,
                batch_end_callback=lambda param: data.seen.append(f"batch {param.epoch} {param.nbatch}"),  # noqa: B023
                epoch_end_callback=lambda epoch, *_: data.seen.append(f"epoch {epoch}"),  # noqa: B023
                eval_end_callback=lambda param: data.seen.append(f"validated {param.epoch}"),  # noqa: B023
            )
        lines = [re.sub(r"=.*", "", message) for message in caplog.messages]
        runs.append((lines, [entry for entry in data.seen if entry not in ("reset", "batch")], data.seen))
    assert runs[0][0] == runs[1][0]
    assert runs[0][1] == runs[1][1]
    first = ["reset", "batch", "batch", "reset", "batch", "batch 0 0", "batch", "batch 0 1", "epoch 0"]
    assert runs[0][2][: len(first)] == first  # the order of MXNet
    third = ["validated 1", "reset", "batch", "batch", "reset", "batch", "batch 2 0"]
    start = runs[0][2].index("validated 1")
    assert runs[0][2][start : start + len(third)] == third


@pytest.mark.parametrize("devices", [1, 2])
def test_fit_again_takes_a_snapshot_again(devices):
    mod = fitted(devices, num_epoch=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted(mod=mod, begin_epoch=1, num_epoch=2)
    assert not np.array_equal(weights(mod._mod_aux)["out_bias"], INITIAL["out_bias"])


@pytest.mark.parametrize(("size", "accumulate"), [(5, 2), (5, 4), (10, 2), (2, 5)])
def test_accumulated_gradients_are_those_of_a_larger_batch(size, accumulate):
    def trained(size, **settings):
        return weights(
            fitted(data=mx.io.NDArrayIter(POINTS[:20], TARGETS[:20], size, label_name=LABEL), **settings)
        )

    small, large = trained(size, accumulate=accumulate), trained(size * accumulate)
    assert_same(small, large, rtol=1e-4)
    assert not np.allclose(small["out_weight"], trained(4)["out_weight"])


class Kill(BaseException):
    """What nothing catches."""


class Stateless:
    """Batches that cannot report their position in the data; each `reset` decides the order again."""

    def __init__(self, points, targets, size, shuffle, label_name):
        plain = mx.io.NDArrayIter(points, targets, size, label_name=label_name)
        self.provide_data, self.provide_label = plain.provide_data, plain.provide_label
        self.size = size
        self.reset()

    def reset(self):
        self.rest = np.split(np.random.permutation(ROWS - ROWS % self.size), ROWS // self.size)

    def __iter__(self):
        while self.rest:
            rows = self.rest.pop()
            yield DataBatch([mx.nd.array(POINTS[rows])], [mx.nd.array(TARGETS[rows])])


@pytest.mark.parametrize(
    ("devices", "accumulate", "iterator"),
    [(1, 1, mx.io.NDArrayIter), (2, 1, mx.io.NDArrayIter), (2, 3, mx.io.NDArrayIter), (1, 1, Stateless)],
)
def test_a_killed_run_ends_as_one_that_was_not(devices, accumulate, iterator, tmp_path):
    def run(checkpoint, stop=None):
        def batch_end(param):
            if (param.epoch, param.nbatch) == stop:
                raise Kill

        mx.random.seed(5)
        np.random.seed(6)
        return fitted(
            mod=module(devices, net=network(dropout=0.3), update_freq=2),
            data=iterator(POINTS, TARGETS, BATCH, shuffle=True, label_name=LABEL),
            begin_epoch=1,
            num_epoch=5,
            optimizer_params={"learning_rate": 0.05, "momentum": 0.9},
            checkpoint=checkpoint,
            batch_end_callback=batch_end,
            accumulate=accumulate,
        )

    whole = weights(run(None))
    checkpoint = mx.checkpoint.Checkpoint(str(tmp_path / "run"), every_n_batches=1)
    for stop in ((1, 1), (2, 0), (3, 1), (4, 0)):
        with pytest.raises(Kill):
            run(checkpoint, stop)
    again = weights(run(checkpoint))
    for name, value in whole.items():
        np.testing.assert_array_equal(again[name], value, err_msg=name)


@pytest.mark.parametrize("devices", [1, 2])
def test_saved_and_loaded(devices, tmp_path):
    settings = {"learning_rate": 0.1, "momentum": 0.9}
    mod = fitted(devices, optimizer_params=settings)
    mod.save_checkpoint(str(tmp_path / "net"), 4, save_optimizer_states=True)
    data, context = batches(), [mx.cpu(k) for k in range(devices)]
    loaded = SVRGModule.load(
        str(tmp_path / "net"), 4, True, label_names=[LABEL], context=context, update_freq=3
    )
    assert isinstance(loaded, SVRGModule) and loaded.update_freq == 3
    loaded.bind(data.provide_data, data.provide_label)
    loaded.init_optimizer(optimizer_params=settings)
    assert_same(weights(loaded), weights(mod))
    for each in (loaded, mod):
        each.update_full_grads(data)
        each.forward_backward(next(batches()))
        each.update()
    assert_same(weights(loaded), weights(mod))
    plain = SVRGModule.load(str(tmp_path / "net"), 4, label_names=[LABEL])
    assert type(plain) is Module
