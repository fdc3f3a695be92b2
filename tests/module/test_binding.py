"""Binding a `Module`: what it refuses, a second time, and with the arrays of another module."""

import re

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind import sym as S
from rebind.module import Module

from .linear_network import DATA, LABELS, NET, batch, given, module, step, two_layers, weight


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


@pytest.mark.parametrize("devices", [1, 2])
def test_a_shared_module_shares_parameters_and_optimizer(devices):
    first = module(rows=8, devices=devices)
    first.init_optimizer(optimizer_params={"learning_rate": 0.1})
    second = Module(NET, label_names=LABELS, context=[mx.cpu(k) for k in range(devices)])
    second.bind([("data", (4, 3))], [("out_label", (4, 1))], shared_module=first)
    assert second.params_initialized and second._optimizer is first._optimizer
    step(second, batch(4))
    assert np.array_equal(weight(first), weight(second)) and weight(first).tolist() != [[1, 1, 1]]


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
