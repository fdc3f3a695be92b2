"""`Module`, point by point; values in comments "as MXNet" are those of MXNet 1.9.1."""

import re
from collections import namedtuple

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind import sym as S
from rebind.io import DataBatch, DataDesc
from rebind.module import Module

DATA = S.var("data")
NET = S.LinearRegressionOutput(S.FullyConnected(DATA, num_hidden=1, name="fc"), name="out")
LABELS = ["out_label"]


def batch(rows=8, columns=3, label=True, seed=0):
    x = np.random.RandomState(seed).rand(rows, columns).astype("float32")
    return DataBatch([nd.array(x)], [nd.array(x.sum(axis=1, keepdims=True) * 3)] if label else None)


def module(rows=8, devices=1, init=True, net=NET, label_names=LABELS, columns=3, **kwargs):
    context = [mx.cpu(k) for k in range(devices)]
    bind = {
        name: kwargs.pop(name) for name in ("for_training", "inputs_need_grad", "grad_req") if name in kwargs
    }
    mod = Module(net, label_names=label_names, context=context, **kwargs)
    labels = [DataDesc(name, (rows, 1)) for name in label_names or ()]
    mod.bind([DataDesc("data", (rows, columns))], labels or None, **bind)
    if init:
        mod.init_params(mx.init.One())
    return mod


def weight(mod):
    return mod.get_params()[0]["fc_weight"].asnumpy()


def step(mod, one):
    mod.forward_backward(one)
    mod.update()


@pytest.mark.parametrize(
    ("kwargs", "error", "says"),
    [
        (
            dict(data_names=["dat"]),
            ValueError,
            "data_names: the symbol has no argument 'dat'; did you mean 'data'?",
        ),
        (
            dict(state_names=["fc_weigth"]),
            ValueError,
            "state_names: the symbol has no argument 'fc_weigth'; did you mean",
        ),
        (dict(fixed_param_names=["fc"]), ValueError, "fixed_param_names: the symbol has no argument 'fc'"),
        (
            dict(context=[mx.cpu(0), mx.cpu(1)], work_load_list=[1]),
            ValueError,
            "work_load_list must have a number for each",
        ),
        (dict(context="cpu"), TypeError, "context must be a Device or a list of them; got 'cpu'"),
    ],
)
def test_bad_arguments(kwargs, error, says):
    with pytest.raises(error, match=re.escape(says)):
        Module(NET, label_names=LABELS, **kwargs)


def test_an_unknown_label_name_is_a_warning():
    with pytest.warns(UserWarning, match="label_names: the symbol has no argument 'softmax_label'"):
        Module(NET)


def test_none_means_no_names():
    net = S.FullyConnected(S.arange(start=0, stop=6).reshape((2, 3)), num_hidden=1, name="fc")
    mod = Module(net, data_names=None, label_names=None)
    assert mod.data_names == [] and mod.label_names == []
    assert Module(NET, label_names=None)._param_names == ["fc_weight", "fc_bias", "out_label"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("binded", False),
        ("params_initialized", False),
        ("optimizer_initialized", False),
        ("data_names", ["data"]),
        ("label_names", ["out_label"]),
        ("output_names", ["out_output"]),
    ],
)
def test_what_an_unbound_module_reports(name, expected):
    assert getattr(Module(NET, label_names=LABELS), name) == expected


@pytest.mark.parametrize("name", ["data_shapes", "label_shapes", "output_shapes"])
def test_properties_that_need_bind(name):
    with pytest.raises(mx.MXNetError, match=rf"Module\.{name} needs bind\(\) first"):
        getattr(Module(NET, label_names=LABELS), name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("binded", True),
        ("params_initialized", True),
        ("optimizer_initialized", True),
        ("for_training", True),
        ("data_shapes", [("data", (8, 3))]),
        ("label_shapes", [("out_label", (8, 1))]),
        ("output_shapes", [("out_output", (8, 1))]),
        ("output_names", ["out_output"]),
    ],
)
@pytest.mark.parametrize("devices", [1, 2])
def test_what_a_bound_module_reports(name, expected, devices):
    mod = module(devices=devices)
    mod.init_optimizer()
    assert getattr(mod, name) == expected
    assert "bound to" in repr(mod) and mod.symbol is NET


@pytest.mark.parametrize(
    "make",
    [lambda: module(init=False, label_names=None), lambda: Module(NET, label_names=LABELS)],
    ids=["without names", "without shapes"],
)
def test_no_labels_are_none(make):
    mod = make()
    mod.bind([("data", (8, 3))], [], force_rebind=True)
    assert mod.label_shapes is None


@pytest.mark.parametrize(
    ("bind", "says"),
    [
        pytest.param(
            dict(data_shapes=[("dat", (8, 3))]),
            "data_shapes must describe the inputs ['data']; got ['dat']",
            id="an unknown input",
        ),
        pytest.param(
            dict(data_shapes=[("data", (8, 3)), ("q", (8,))]),
            "data_shapes must describe the inputs ['data']; got ['data', 'q']",
            id="one input too many",
        ),
        pytest.param(
            dict(data_shapes=[("data", (8, 3))], label_shapes=[("softmax_label", (8,))]),
            "label_shapes must describe the labels ['out_label']; got",
            id="an unknown label",
        ),
        pytest.param(
            dict(data_shapes=["data"]),
            "data_shapes must hold DataDesc records or pairs (name, shape); got 'data'",
            id="no shape",
        ),
        pytest.param(
            dict(data_shapes=[("data", (8, 3))], for_training=False, inputs_need_grad=True),
            "inputs_need_grad=True needs for_training=True",
            id="gradients without training",
        ),
    ],
)
def test_what_bind_refuses(bind, says):
    mod = Module(NET, label_names=LABELS)
    with pytest.raises((ValueError, TypeError), match=re.escape(says)):
        mod.bind(**bind)
    assert not mod.binded


def test_a_label_that_is_not_named_is_no_parameter_by_mistake():
    with pytest.raises(ValueError, match=r"label_shapes must describe the labels \[\]; got \['out_label'\]"):
        Module(NET, label_names=None).bind([("data", (8, 3))], [("out_label", (8, 1))])


@pytest.mark.parametrize(
    ("call", "warning"),
    [
        pytest.param(
            lambda mod: mod.bind([("data", (4, 3))], [("out_label", (4, 1))]),
            r"Module\.bind: already bound.*\(8, 3\).*\(4, 3\).*force_rebind=True",
            id="bind to other shapes",
        ),
        pytest.param(
            lambda mod: mod.bind([("data", (8, 3))], [("out_label", (8, 1))]),
            r"already bound, so this call changes nothing\. Set force_rebind",
            id="bind to the same shapes",
        ),
        pytest.param(
            lambda mod: mod.init_params(mx.init.Zero()),
            r"Module\.init_params.*force_init=True",
            id="init_params",
        ),
        pytest.param(
            lambda mod: mod.set_params(given(), {}, force_init=False), "force_init", id="set_params"
        ),
        pytest.param(
            lambda mod: mod.set_params(given(), {}, allow_missing=True, force_init=False),
            "force_init",
            id="set_params, allow_missing",
        ),
        pytest.param(
            lambda mod: mod.init_optimizer(optimizer="adam"),
            r"Module\.init_optimizer.*force_init=True",
            id="init_optimizer",
        ),
    ],
)
def test_a_second_call_changes_nothing_and_warns(call, warning):
    mod = module()
    mod.init_optimizer()
    first = mod._optimizer
    with pytest.warns(UserWarning, match=warning):
        call(mod)
    assert mod.data_shapes == [("data", (8, 3))] and weight(mod).tolist() == [[1, 1, 1]]
    assert mod._optimizer is first


def test_a_second_call_that_is_forced_counts():
    mod = module()
    mod.init_optimizer()
    first = mod._optimizer
    mod.init_optimizer(optimizer="adam", force_init=True)
    assert mod._optimizer is not first
    mod.init_params(mx.init.Constant(2), force_init=True)
    assert weight(mod).tolist() == [[2, 2, 2]]


@pytest.mark.parametrize("devices", [1, 2])
def test_binding_again_leaves_parameters_and_optimizer(devices):
    mod = Module(NET, label_names=LABELS, context=[mx.cpu(k) for k in range(devices)])
    for rows in (8, 4):  # before init_params too
        mod.bind([("data", (rows, 3))], [("out_label", (rows, 1))], force_rebind=True)
    mod.init_params(mx.init.One())
    mod.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    step(mod, batch(4))
    before, optimizer = weight(mod), mod._optimizer
    mod.bind([("data", (6, 3))], [("out_label", (6, 1))], force_rebind=True)
    assert np.array_equal(weight(mod), before) and mod._optimizer is optimizer
    step(mod, batch(6))
    assert not np.array_equal(weight(mod), before)


@pytest.mark.parametrize("devices", [1, 2])
def test_a_bind_that_fails_leaves_the_module_as_it_was(devices):
    mod = Module(NET, label_names=LABELS, context=[mx.cpu(k) for k in range(devices)])
    mod._arg_params, mod._aux_params = {"fc_weight": nd.ones((1, 3)), "fc_bias": nd.zeros((1,))}, {}
    mod.params_initialized = True
    with pytest.raises(ValueError, match=r"fc_weight must have shape \(1, 5\); got \(1, 3\)"):
        mod.bind([("data", (8, 5))], [("out_label", (8, 1))])
    assert not mod.binded and mod.params_initialized
    mod.bind([("data", (8, 3))], [("out_label", (8, 1))])
    assert weight(mod).tolist() == [[1, 1, 1]]


def test_several_devices_need_a_row_each():
    with pytest.raises(ValueError, match="Too many slices"):
        module(rows=1, devices=2)


def given(**changes):
    return {"fc_weight": nd.ones((1, 3)) * 5, "fc_bias": nd.ones((1,)) * 6, **changes}


@pytest.mark.parametrize(
    "put",
    [
        pytest.param(lambda mod, params: mod.set_params(params, {}), id="set_params"),
        pytest.param(
            lambda mod, params: mod.init_params(arg_params=params, aux_params={}, force_init=True),
            id="init_params",
        ),
    ],
)
@pytest.mark.parametrize("devices", [1, 2])
def test_parameters_are_copied_in_and_out(put, devices):
    mod, params = module(devices=devices), given()
    put(mod, params)
    params["fc_weight"][:] = 0
    mod.get_params()[0]["fc_weight"][:] = 0
    assert weight(mod).tolist() == [[5, 5, 5]]


def fails_at_the_bias(name, array):
    array[:] = 1
    if "bias" in name:
        raise KeyError(name)


@pytest.mark.parametrize(
    ("first", "error", "says"),
    [
        pytest.param(
            dict(arg_params={"fc_weight": nd.ones((1, 3))}),
            RuntimeError,
            "'fc_bias' is not among the given parameters. Set allow_missing=True",
            id="a missing parameter",
        ),
        pytest.param(
            dict(arg_params=given(fc_weight=nd.ones((1, 4)))),
            ValueError,
            "'fc_weight' must have shape (1, 3); got (1, 4)",
            id="another shape",
        ),
        pytest.param(
            dict(arg_params=given(fc_weight=[1])),
            TypeError,
            "'fc_weight' must be an NDArray; got list",
            id="a list",
        ),
        pytest.param(
            dict(initializer=fails_at_the_bias), KeyError, "fc_bias", id="an initializer that fails"
        ),
    ],
)
@pytest.mark.parametrize("devices", [1, 2])
def test_first_values_that_fail_leave_the_module_uninitialised(first, error, says, devices):
    mod = module(init=False, devices=devices)
    with pytest.raises(error, match=re.escape(says)):
        mod.init_params(**first)
    assert not mod.params_initialized and not mod._exec_group.param_arrays[0][0].asnumpy().any()


OWN_INITIALIZER = S.FullyConnected(
    DATA, weight=S.var("w_weight", init=mx.init.Constant(7)), num_hidden=1, name="fc"
)


@pytest.mark.parametrize(
    ("net", "first", "expected"),
    [
        pytest.param(
            NET,
            dict(
                initializer=mx.init.Constant(9), arg_params={"fc_weight": nd.ones((1, 3))}, allow_missing=True
            ),
            {"fc_weight": [[1, 1, 1]], "fc_bias": [0]},
            id="given values before the initializer",
        ),
        pytest.param(
            OWN_INITIALIZER,
            dict(initializer=mx.init.One()),
            {"w_weight": [[7, 7, 7]], "fc_bias": [0]},
            id="the variable's initializer before the module's",
        ),
    ],
)
def test_where_first_values_come_from(net, first, expected):
    mod = module(init=False, net=net, label_names=LABELS if net is NET else None)
    mod.init_params(**first)
    assert {name: value.asnumpy().tolist() for name, value in mod.get_params()[0].items()} == expected


OTHER = {"other_weight": nd.ones((2,))}


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ((given(**OTHER), {}, True), ValueError, "no argument 'other_weight'"),
        ((given(), OTHER, True), ValueError, "no auxiliary state 'other_weight'"),
        (({"fc_bias": nd.ones((1,))}, {}), RuntimeError, "'fc_weight' is not among the given"),
    ],
    ids=["extra argument", "extra auxiliary state", "missing argument"],
)
def test_names_that_set_params_refuses(arguments, error, says):
    with pytest.raises(error, match=says):
        module().set_params(*arguments)


@pytest.mark.parametrize(
    "again",
    [
        pytest.param(lambda mod: mod.set_params(given(fc_bias=nd.ones((1,)) * 3, **OTHER), OTHER), id="all"),
        pytest.param(
            lambda mod: mod.set_params(
                {"fc_bias": nd.ones((1,)) * 3, **OTHER}, OTHER, allow_missing=True, allow_extra=True
            ),
            id="some",
        ),
    ],
)
def test_extra_names_beside_the_modules_own(again):
    mod = module(init=False)
    mod.init_params(arg_params=given(**OTHER), aux_params=OTHER)
    again(mod)
    assert mod.get_params()[0]["fc_bias"].asnumpy().tolist() == [3] and weight(mod).tolist() == [[5, 5, 5]]


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("kvstore", [None, "local"])
def test_parameters_set_after_the_optimizer_count(devices, kvstore):
    mod = module(devices=devices)
    mod.init_optimizer(kvstore=kvstore, optimizer_params={"learning_rate": 0.0})
    mod.set_params(given(), {})
    step(mod, batch())
    assert weight(mod).tolist() == [[5, 5, 5]]
    mod.set_params({"fc_bias": nd.zeros((1,))}, {}, allow_missing=True)
    step(mod, batch())
    assert mod.get_params()[0]["fc_bias"].asnumpy().tolist() == [0]


@pytest.mark.parametrize(("values", "mean"), [((1, 3), 2), ((1, 3, 5, 7), 4)])
def test_parameters_of_several_devices_are_their_mean(values, mean):
    net = S.BatchNorm(DATA, name="bn")
    mod = module(net=net, label_names=None, devices=len(values))
    for exe, value in zip(mod._exec_group.execs, values, strict=True):
        exe.arg_dict["bn_beta"][:] = value
        exe.aux_dict["bn_moving_mean"][:] = value * 10
    args, aux = mod.get_params()
    assert args["bn_beta"].asnumpy().tolist() == [mean] * 3
    assert aux["bn_moving_mean"].asnumpy().tolist() == [10 * mean] * 3


@pytest.mark.parametrize("devices", [1, 2])
def test_files_of_parameters(devices, tmp_path):
    path = str(tmp_path / "it.params")
    mod = module(devices=devices)
    mod.save_params(path)
    mod.init_params(mx.init.Zero(), force_init=True)
    mod.load_params(path)
    assert weight(mod).tolist() == [[1, 1, 1]]
    nd.save(path, {"fc_weight": nd.ones((1, 3))})
    with pytest.raises(
        ValueError, match=r"it\.params: names must begin with 'arg:' or 'aux:'; got 'fc_weight'"
    ):
        mod.load_params(path)


@pytest.mark.parametrize(
    ("devices", "kvstore", "store", "store_updates"),
    [
        (1, None, None, False),
        (1, "local", None, False),
        (1, "device", None, False),
        (2, None, None, False),
        (2, "local", "local", True),
        (2, "device", "device", True),
        (1, mx.kv.create("local"), "local", True),
    ],
)
def test_which_store(devices, kvstore, store, store_updates):
    mod = module(devices=devices)
    mod.init_optimizer(kvstore=kvstore)
    assert (mod._kvstore and mod._kvstore.type) == store and mod._update_on_kvstore is store_updates
    assert (mod._updater is None) == store_updates


@pytest.mark.parametrize("bad", [3, ["local"], True])
def test_what_is_no_store(bad):
    mod = module()
    with pytest.raises(TypeError, match="kvstore: must be None, a name or a KVStore"):
        mod.init_optimizer(kvstore=bad)
    assert not mod.optimizer_initialized


@pytest.mark.parametrize(
    ("kwargs", "error", "says"),
    [
        (dict(optimizer=3), TypeError, "optimizer must be a name or an Optimizer; got 3"),
        (dict(optimizer="sgdd"), ValueError, "no optimizer 'sgdd'"),
        (dict(optimizer_params={"momntum": 1}), (TypeError, ValueError), "did you mean 'momentum'"),
        (dict(kvstore="lokal"), ValueError, "did you mean 'local'"),
    ],
)
@pytest.mark.parametrize("devices", [1, 2])
def test_an_optimizer_that_fails_is_not_there(kwargs, error, says, devices):
    mod = module(devices=devices)
    if devices == 1 and "kvstore" in kwargs:
        return  # one device needs no store and does not look for it
    with pytest.raises(error, match=says):
        mod.init_optimizer(**kwargs)
    assert not mod.optimizer_initialized and mod._kvstore is None


def unbound():
    return Module(NET, label_names=LABELS)


def without_values():
    return module(init=False)


def for_prediction():
    mod = module(for_training=False)
    mod.init_optimizer()
    mod.forward(batch())
    return mod


@pytest.mark.parametrize(
    ("make", "call", "says"),
    [
        (unbound, lambda mod: mod.init_params(), "init_params() needs bind() first"),
        (unbound, lambda mod: mod.forward(batch()), "forward() needs bind() first"),
        (unbound, lambda mod: mod.borrow_optimizer(module()), "shared_module needs init_optimizer()"),
        (
            without_values,
            lambda mod: mod.init_optimizer(),
            "init_optimizer() needs bind() and init_params() first",
        ),
        (without_values, lambda mod: mod.forward(batch()), "forward() needs init_params() first"),
        (without_values, lambda mod: mod.get_params(), "get_params() needs init_params() first"),
        (without_values, lambda mod: mod.score([], "acc"), "score() needs init_params() first"),
        (module, lambda mod: mod.update(), "update() needs init_optimizer() first"),
        (
            module,
            lambda mod: mod.save_optimizer_states("x"),
            "save_optimizer_states() needs init_optimizer() first",
        ),
        (for_prediction, lambda mod: mod.backward(), "for_training=True"),
        (for_prediction, lambda mod: mod.update(), "for_training=True"),
    ],
)
def test_steps_come_in_order(make, call, says):
    with pytest.raises(mx.MXNetError, match=re.escape(says)):
        call(make())


@pytest.mark.parametrize(("devices", "kvstore"), [(1, None), (2, None), (2, "local")])
def test_rescale_grad_is_one_over_the_batch_size_at_the_start_and_stays(devices, kvstore):
    mod = module(rows=8, devices=devices)
    mod.init_optimizer(kvstore=kvstore)
    assert mod._optimizer.rescale_grad == 1 / 8
    step(mod, batch(4))
    assert mod._optimizer.rescale_grad == 1 / 8
    mod.init_optimizer(kvstore=kvstore, optimizer_params={"rescale_grad": 3.0}, force_init=True)
    assert mod._optimizer.rescale_grad == 3


def test_an_optimizer_object_with_another_rescale_grad_is_used_with_a_warning():
    mod, optimizer = module(rows=8), mx.optimizer.SGD(learning_rate=0.1)
    with pytest.warns(UserWarning, match=r"rescale_grad is 1\.0.*is 0\.125"):
        mod.init_optimizer(optimizer=optimizer)
    assert mod._optimizer is optimizer and optimizer.rescale_grad == 1
    module(rows=8).init_optimizer(optimizer=mx.optimizer.SGD(rescale_grad=0.125))


@pytest.mark.parametrize(
    ("capabilities", "workers"),
    [
        pytest.param(dict(spans_processes=True), 3, id="synchronous"),
        pytest.param(dict(spans_processes=True, compresses=True), 3, id="compressed"),
        pytest.param(dict(spans_processes=True, is_synchronous=False), 1, id="asynchronous"),
    ],
)
def test_rescale_grad_counts_the_workers_of_a_synchronous_store(capabilities, workers):
    class Distributed(mx.kvstore.KVStore):
        num_workers = 3

    Distributed.capabilities = mx.kvstore.Capabilities(**capabilities)
    mod = module(rows=8)
    mod.init_optimizer(kvstore=Distributed("mine"))
    assert mod._optimizer.rescale_grad == 1 / (8 * workers)


def network(batch_norm):
    hidden = S.FullyConnected(DATA, num_hidden=4, name="fc1")
    hidden = S.BatchNorm(hidden, name="bn", use_global_stats=True) if batch_norm else hidden
    return S.LinearRegressionOutput(S.FullyConnected(S.tanh(hidden), num_hidden=1, name="fc"), name="out")


def trained(devices, kvstore, optimizer, params, batch_norm=False, work_load_list=None, rows=10):
    mod = module(rows, devices, False, network(batch_norm), work_load_list=work_load_list)
    mx.random.seed(3)
    mod.init_params(mx.init.Uniform(0.5))
    mod.init_optimizer(kvstore=kvstore, optimizer=optimizer, optimizer_params=params)
    for seed in range(4):
        step(mod, batch(rows, seed=seed))
    for arrays in mod._exec_group.param_arrays:
        for other in arrays[1:]:
            assert np.array_equal(arrays[0].asnumpy(), other.asnumpy())  # no drift
    return mod.get_params()[0]


@pytest.mark.parametrize("kvstore", [None, "local", "device", "object", "large"])
@pytest.mark.parametrize("devices", [2, 4])
@pytest.mark.parametrize(
    ("optimizer", "params"),
    [("sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}), ("adam", {"learning_rate": 0.01})],
)
def test_several_devices_train_as_one_does(monkeypatch, kvstore, devices, optimizer, params):
    wanted = trained(1, None, optimizer, params)
    if kvstore == "large":  # a parameter is above the bound: gradients are summed, and each device updates
        monkeypatch.setenv("MXNET_KVSTORE_BIGARRAY_BOUND", "3")
        kvstore = "local"
    found = trained(devices, mx.kv.create("local") if kvstore == "object" else kvstore, optimizer, params)
    for name, value in wanted.items():
        assert np.allclose(found[name].asnumpy(), value.asnumpy(), atol=1e-6), name


@pytest.mark.parametrize(("rows", "loads"), [(10, [1, 3]), (7, [1, 1]), (9, [2, 1])])
@pytest.mark.parametrize("batch_norm", [False, True])
def test_uneven_slices_train_as_one_does(rows, loads, batch_norm):
    params = {"learning_rate": 0.1, "momentum": 0.9}
    wanted = trained(1, None, "sgd", params, batch_norm, rows=rows)
    found = trained(2, "local", "sgd", params, batch_norm, loads, rows)
    for name, value in wanted.items():
        assert np.allclose(found[name].asnumpy(), value.asnumpy(), atol=1e-6), name


def test_batch_norm_on_devices_takes_each_ones_own_statistics():
    mod = module(rows=4, devices=2, net=S.BatchNorm(DATA, name="bn", momentum=0.0), label_names=None)
    mod.forward(DataBatch([nd.array([[0] * 3, [2] * 3, [10] * 3, [30] * 3])]))
    mod.backward(nd.ones((4, 3)))
    means = [exe.aux_dict["bn_moving_mean"].asnumpy()[0] for exe in mod._exec_group.execs]
    assert means == [1, 20] and mod.get_params()[1]["bn_moving_mean"].asnumpy()[0] == 10.5


@pytest.mark.parametrize("devices", [1, 2])
def test_accumulating_gradients(devices):
    wanted, mod = module(rows=8, devices=devices), module(rows=4, devices=devices, grad_req="add")
    for each in (wanted, mod):
        each.init_optimizer(optimizer_params={"learning_rate": 0.1, "rescale_grad": 0.125})
    whole = batch(8)
    step(wanted, whole)
    for half in (slice(0, 4), slice(4, 8)):
        mod.forward_backward(DataBatch([whole.data[0][half]], [whole.label[0][half]]))
    mod.update()
    for arrays in mod._exec_group.grad_arrays:
        for array in arrays:
            array[:] = 0
    assert np.allclose(weight(mod), weight(wanted))


@pytest.mark.parametrize(
    ("devices", "kvstore"), [(1, None), (2, None), (2, "local")], ids=["one device", "two", "two and a store"]
)
def test_fixed_parameters_stay(devices, kvstore):
    mod = module(devices=devices, fixed_param_names=["fc_weight"])
    mod.init_optimizer(kvstore=kvstore, optimizer_params={"learning_rate": 0.5})
    step(mod, batch())
    assert weight(mod).tolist() == [[1, 1, 1]] and mod.get_params()[0]["fc_bias"].asnumpy()[0] != 0
    assert mod._exec_group.grad_arrays[0] == [None] * devices and mod._fixed_param_names == ["fc_weight"]


@pytest.mark.parametrize("devices", [1, 2])
def test_a_shared_module_shares_parameters_and_optimizer(devices):
    first = module(rows=8, devices=devices)
    first.init_optimizer(optimizer_params={"learning_rate": 0.1})
    second = Module(NET, label_names=LABELS, context=[mx.cpu(k) for k in range(devices)])
    second.bind([("data", (4, 3))], [("out_label", (4, 1))], shared_module=first)
    assert second.params_initialized and second._optimizer is first._optimizer
    step(second, batch(4))
    assert np.array_equal(weight(first), weight(second)) and weight(first).tolist() != [[1, 1, 1]]


@pytest.mark.parametrize("for_training", [True, False])
@pytest.mark.parametrize("is_train", [None, True, False])
def test_the_mode_of_forward_is_that_of_bind_unless_given(for_training, is_train):
    net = S.Dropout(DATA, p=0.5, name="drop")
    mod = module(net=net, label_names=None, for_training=for_training, rows=100)
    mod.forward(DataBatch([nd.ones((100, 3))]), is_train=is_train)
    dropped = not mod.get_outputs()[0].asnumpy().all()
    assert dropped == (for_training if is_train is None else is_train)


@pytest.mark.parametrize("devices", [1, 2])
def test_batches_of_other_sizes_and_shapes(devices):
    mod = module(
        devices=devices, net=S.LinearRegressionOutput(S.sum(DATA, axis=1, keepdims=True), name="out")
    )
    for rows, columns, label in (
        (8, 3, True),
        (4, 3, True),
        (6, 5, False),
        (8, 3, True),
        (8, 3, False),
        (4, 3, False),
    ):
        one = batch(rows, columns, label)
        mod.forward(one, is_train=False)
        assert np.allclose(
            mod.get_outputs()[0].asnumpy(), one.data[0].asnumpy().sum(1, keepdims=True), atol=1e-6
        )


@pytest.mark.parametrize("devices", [1, 2])
def test_labels_count_again_after_a_batch_without(devices):
    mod = module(rows=8, devices=devices)
    mod.forward(batch(4, label=False), is_train=False)
    assert mod.label_shapes is None
    mod.forward(batch(4), is_train=True)
    mod.backward()
    found = np.concatenate([array.asnumpy() for _, array in mod._exec_group.label_arrays[0]])
    assert np.array_equal(found, batch(4).label[0].asnumpy())


@pytest.mark.parametrize("devices", [1, 2])
def test_shapes_that_come_again_are_not_lowered_again(devices, monkeypatch):
    import rebind.executor.bound as bound

    mod = module(rows=8, devices=devices)
    mod.init_optimizer()
    step(mod, batch(8))
    first, traces = mod._exec_group.execs, []
    monkeypatch.setattr(bound, "infer_shapes", lambda *args, **kwargs: traces.append(args))
    step(mod, batch(8, seed=2))
    monkeypatch.undo()
    step(mod, batch(4))
    step(mod, batch(8))
    assert not traces and mod._exec_group.execs is first


DataOnly = namedtuple("DataOnly", ["data"])


@pytest.mark.parametrize("rows", [8, 5])
def test_a_batch_is_anything_with_data(rows):
    mod = module()
    mod.forward(DataOnly([nd.ones((rows, 3))]))
    assert mod.get_outputs()[0].asnumpy().tolist() == [[3]] * rows
    mod.forward(DataOnly([np.ones((rows, 3))]), is_train=False)
    anything = type("Batch", (), {"data": [nd.ones((rows, 3))], "label": [nd.zeros((rows, 1))]})
    mod.forward_backward(anything())
    assert mod.get_outputs()[0].shape == (rows, 1)


@pytest.mark.parametrize(
    ("bad", "error", "says"),
    [
        (nd.ones((8, 3)), TypeError, "a batch must have data, a list of arrays; got NDArray"),
        (DataBatch([]), ValueError, "the batch must hold ['data']; got 0 arrays"),
        (DataBatch([nd.ones((8, 4))]), ValueError, "fc_weight"),
    ],
)
def test_what_is_no_batch(bad, error, says):
    mod = module()
    with pytest.raises(error, match=re.escape(says)):
        mod.forward(bad)
    mod.forward(batch())  # still works
    assert mod.data_shapes == [("data", (8, 3))]


def test_batches_cut_already():
    mod, whole = module(devices=2), module(devices=2)
    one = batch()
    halves = [DataBatch([one.data[0][half]], [one.label[0][half]]) for half in (slice(0, 4), slice(4, 8))]
    scores = []
    for each, data in ((mod, halves), (whole, one)):
        each.init_optimizer()
        step(each, data)
        metric = mx.metric.create("mse")
        if each is mod:
            each.update_metric(metric, [half.label for half in halves], pre_sliced=True)
        else:
            each.update_metric(metric, one.label)
        scores.append(metric.get()[1])
    assert np.array_equal(weight(mod), weight(whole)) and scores[0] == scores[1]


@pytest.mark.parametrize("devices", [1, 2, 4])
@pytest.mark.parametrize("wrap", [lambda head: head, lambda head: [head], lambda head: {"fc_output": head}])
def test_head_gradients_for_the_whole_batch(devices, wrap):
    mod = module(
        devices=devices,
        net=S.FullyConnected(DATA, num_hidden=1, name="fc"),
        label_names=None,
        inputs_need_grad=True,
    )
    mod.forward(batch())
    mod.backward(wrap(nd.array(np.arange(8).reshape(8, 1))))
    (grad,) = mod.get_input_grads()
    assert grad.asnumpy().tolist() == [[i] * 3 for i in range(8)]
    assert len(mod.get_input_grads(merge_multi_context=False)[0]) == devices
    assert [out.shape for out in mod.get_outputs(merge_multi_context=False)[0]] == [
        (8 // devices, 1)
    ] * devices


def test_gradients_of_inputs_must_be_asked_for():
    mod = module()
    mod.forward_backward(batch())
    with pytest.raises(mx.MXNetError, match="must be bound with inputs_need_grad=True"):
        mod.get_input_grads()


def test_outputs_are_handles_that_show_the_newest_values():
    mod = module()
    mod.forward(batch())
    (out,) = mod.get_outputs()
    mod.forward(DataOnly([nd.ones((8, 3)) * 2]))
    assert out.asnumpy().tolist() == [[6]] * 8 and mod._exec_group.execs[0].outputs[0] is out


@pytest.mark.parametrize("devices", [1, 2, 4])
def test_a_layout_says_which_axis_is_the_batch(devices):
    net = S.FullyConnected(S.transpose(DATA, axes=(1, 0, 2)), num_hidden=1, name="fc")
    mod = Module(net, label_names=None, context=[mx.cpu(k) for k in range(devices)])
    mod.bind([DataDesc("data", (5, 8, 2), layout="TNC")])
    mod.init_params(mx.init.One())
    data = np.arange(80).reshape(5, 8, 2)
    mod.forward(DataBatch([nd.array(data)]), is_train=False)
    assert mod.get_outputs()[0].asnumpy().ravel().tolist() == data.sum(axis=(0, 2)).tolist()


def stateful(devices=1):
    mod = Module(S.elemwise_add(DATA, S.var("h"), name="sum"), label_names=None, state_names=["h"],
                 context=[mx.cpu(k) for k in range(devices)])  # fmt: skip
    mod.bind([("data", (4, 3))])
    mod.init_params()
    return mod


WHOLE = nd.array(np.arange(12).reshape(4, 3))


def test_a_state_is_no_parameter_and_starts_at_zero():
    mod = stateful()
    assert mod.get_params()[0] == {} and not mod.get_states()[0].asnumpy().any()


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(lambda devices: dict(value=2), np.full((4, 3), 2), id="one value"),
        pytest.param(lambda devices: dict(states=[WHOLE]), WHOLE.asnumpy(), id="the whole batch"),
        pytest.param(
            lambda devices: dict(
                states=[[WHOLE[k * 4 // devices : (k + 1) * 4 // devices] for k in range(devices)]]
            ),
            WHOLE.asnumpy(),
            id="by device",
        ),
    ],
)
def test_states(given, expected, devices):
    mod = stateful(devices)
    mod.set_states(**given(devices))
    assert np.array_equal(mod.get_states()[0].asnumpy(), expected)
    assert len(mod.get_states(merge_multi_context=False)[0]) == devices
    mod.forward(batch(4), is_train=False)
    assert np.allclose(mod.get_outputs()[0].asnumpy(), batch(4).data[0].asnumpy() + expected)
    mod.set_states(states=mod.get_outputs(merge_multi_context=False))
    assert np.array_equal(mod.get_states()[0].asnumpy(), mod.get_outputs()[0].asnumpy())
    mod.forward(batch(2), is_train=False)  # another batch size: states of that size, from zero
    assert np.allclose(mod.get_outputs()[0].asnumpy(), batch(2).data[0].asnumpy())


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "needs either states or value; got neither"),
        (dict(states=[WHOLE], value=1), "got both"),
        (dict(states=[]), r"states must hold an array for each of \['h'\]; got 0"),
        (dict(states=[nd.ones((9, 3))]), "'h' must have"),
    ],
    ids=["neither", "both", "none", "another shape"],
)
def test_states_that_are_refused(given, says, devices):
    with pytest.raises(ValueError, match=says):
        stateful(devices).set_states(**given)


def test_private_names_that_programs_read_and_assign_to():
    mod = module()
    mod.init_optimizer(optimizer_params={"learning_rate": 0.25})
    assert mod._exec_group.execs[0].outputs[0].shape == (8, 1)
    mod._exec_group.data_arrays[0][0][1][:] = 5
    mod._exec_group.execs[0].forward()
    assert mod.get_outputs()[0].asnumpy().tolist() == [[15]] * 8
    mod._exec_group.reshape([DataDesc("data", (2, 3))], None)
    assert (
        mod._exec_group.batch_size == 2
        and mod._data_shapes == [("data", (2, 3))]
        and mod._label_shapes is None
    )
    assert mod._optimizer.lr == 0.25 and mod._updater is not None and mod._kvstore is None
    assert mod._context == [mx.cpu()] and mod._update_on_kvstore is False and mod._preload_opt_states is None
    mod._optimizer.lr = 0.5
    assert mod._arg_params["fc_weight"].asnumpy().tolist() == [[1, 1, 1]] and mod._aux_params == {}
    mod._arg_params = given()
    assert weight(mod).tolist() == [[5, 5, 5]]


FLAGS = {
    "binded": lambda mod: mod.bind([("data", (4, 3))], [("out_label", (4, 1))]),
    "params_initialized": lambda mod: mod.init_params(mx.init.One()),
    "optimizer_initialized": lambda mod: mod.init_optimizer(),
}


@pytest.mark.parametrize(("flag", "call"), FLAGS.items(), ids=FLAGS)
def test_a_flag_that_a_program_clears_lets_it_call_again(flag, call):
    mod = module()
    mod.init_optimizer()
    setattr(mod, flag, False)
    assert [getattr(mod, each) for each in FLAGS] == [each != flag for each in FLAGS]
    call(mod)
    assert getattr(mod, flag) and weight(mod).tolist() == [[1, 1, 1]]


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_can_be_set_only_where_it_holds(flag):
    mod = module()
    mod.init_optimizer()
    setattr(mod, flag, True)
    with pytest.raises(mx.MXNetError, match=flag):
        setattr(Module(NET, label_names=LABELS), flag, True)


@pytest.mark.parametrize("devices", [1, 2])
def test_checkpoints_resume_where_training_stopped(tmp_path, caplog, devices):
    prefix = str(tmp_path / "net")
    context = [mx.cpu(k) for k in range(devices)]
    params = {"learning_rate": 0.1, "momentum": 0.9}
    mod = module(devices=devices)
    mod.init_optimizer(optimizer_params=params)
    step(mod, batch())
    with caplog.at_level("INFO"):
        mod.save_checkpoint(prefix, 7, save_optimizer_states=True)
    files = [f"{prefix}-symbol.json", f"{prefix}-0007.params", f"{prefix}-0007.states"]
    assert sorted(map(str, tmp_path.iterdir())) == sorted(files)
    assert all(any(path in line for line in caplog.messages) for path in files)
    step(mod, batch(seed=1))

    again = Module.load(prefix, 7, load_optimizer_states=True, label_names=LABELS, context=context)
    assert again.params_initialized and not again.binded and again._preload_opt_states == files[2]
    again.bind([("data", (8, 3))], [("out_label", (8, 1))])
    again.init_optimizer(optimizer_params=params)
    assert again._preload_opt_states is None
    step(again, batch(seed=1))
    assert np.array_equal(weight(again), weight(mod))


def test_a_missing_file_of_states_is_an_error_with_its_path(tmp_path):
    prefix = str(tmp_path / "net")
    mod = module()
    with pytest.raises(mx.MXNetError, match="needs init_optimizer"):
        mod.save_checkpoint(prefix, 1, save_optimizer_states=True)
    assert not list(tmp_path.iterdir())
    mod.save_checkpoint(prefix, 1)
    again = Module.load(prefix, 1, load_optimizer_states=True, label_names=LABELS)
    again.bind([("data", (8, 3))], [("out_label", (8, 1))])
    with pytest.raises(FileNotFoundError, match=re.escape(f"{prefix}-0001.states")):
        again.init_optimizer()
    assert not again.optimizer_initialized
    again._preload_opt_states = None
    again.init_optimizer()


@pytest.mark.parametrize("devices", [1, 2])
def test_a_loaded_module_gives_its_parameters_before_it_is_bound(devices, tmp_path):
    prefix = str(tmp_path / "net")
    module(devices=devices).save_checkpoint(prefix, 0)
    loaded = Module.load(prefix, 0, label_names=LABELS, context=[mx.cpu(k) for k in range(devices)])
    loaded.get_params()[0]["fc_weight"][:] = 9
    assert weight(loaded).tolist() == [[1, 1, 1]]
    loaded.save_checkpoint(prefix, 1)
    loaded.bind([("data", (2, 3))], for_training=False)
    assert loaded.predict(np.ones((2, 3))).asnumpy().tolist() == [[3], [3]]


def two_layers(order="ab"):
    a, b = (S.FullyConnected(DATA, num_hidden=1, name=name) for name in order)
    return S.LinearRegressionOutput(a + b, name="out")


@pytest.mark.parametrize(
    ("shared", "other", "error", "says"),
    [
        pytest.param(
            lambda: module(init=False),
            dict(symbol=NET),
            mx.MXNetError,
            r"shared_module needs bind\(\) and init_params\(\) first",
            id="without values",
        ),
        pytest.param(
            module,
            dict(symbol=NET, context=[mx.cpu(0), mx.cpu(1)]),
            ValueError,
            "shared_module must be on the same devices",
            id="on other devices",
        ),
        pytest.param(
            lambda: module(net=two_layers("ab")),
            dict(symbol=two_layers("ac")),
            ValueError,
            "shared_module must have all parameters.*it lacks 'c_weight', 'c_bias'",
            id="of another layer",
        ),
        pytest.param(
            lambda: module(net=two_layers("ab")),
            dict(symbol=S.BatchNorm(DATA, name="bn"), label_names=[]),
            ValueError,
            "shared_module must have all parameters.*it lacks 'bn_gamma'",
            id="of another network",
        ),
    ],
)
def test_a_shared_module_that_does_not_fit(shared, other, error, says):
    mod = Module(**{"label_names": LABELS, **other})
    with pytest.raises(error, match=says):
        mod.bind([("data", (8, 3))], shared_module=shared())
    assert not mod.binded


def test_a_borrowed_optimizer_must_know_all_parameters():
    one = module(net=two_layers("ab"))
    one.init_optimizer()
    with pytest.raises(ValueError, match=r"shared_module must have all parameters.*it lacks 'fc_weight'"):
        module().borrow_optimizer(one)


@pytest.mark.parametrize("devices", [1, 2])
def test_a_shared_optimizer_knows_parameters_by_name(devices):
    """In MXNet a parameter at another position in the network gets another one's momentum."""
    context = [mx.cpu(k) for k in range(devices)]
    one, plain = (module(net=two_layers("ab"), devices=devices) for _ in range(2))
    for each in (one, plain):
        each.init_optimizer(kvstore=None, optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
        each.set_params({"b_weight": nd.ones((1, 3)) * 3}, {}, allow_missing=True)
    other = Module(two_layers("ba"), label_names=LABELS, context=context)
    other.bind([("data", (8, 3))], [("out_label", (8, 1))], shared_module=one)
    for seed in range(4):
        step(one if seed % 2 else other, batch(seed=seed))
        step(plain, batch(seed=seed))
    for name, value in plain.get_params()[0].items():
        assert np.allclose(one.get_params()[0][name].asnumpy(), value.asnumpy(), atol=1e-6)
