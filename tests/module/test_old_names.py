"""The private names of MXNet's modules that programs of its time use, on every kind of module that has them."""

from __future__ import annotations

from typing import Any

import pytest

import rebind as mx
from rebind.contrib.svrg_optimization import SVRGModule
from rebind.executor import DataParallelExecutorGroup


def network(_: Any = None) -> Any:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    return mx.sym.LinearRegressionOutput(net, mx.sym.var("label")), ["data"], ["label"]


KINDS = {
    "Module": lambda **settings: mx.mod.Module(*network(), **settings),
    "SVRGModule": lambda **settings: SVRGModule(*network(), update_freq=1, **settings),
    "BucketingModule": lambda **settings: mx.mod.BucketingModule(network, 8, **settings),
}


def made(kind: str, devices: int = 1, kvstore: Any = None, **settings: Any) -> Any:
    module = KINDS[kind](context=[mx.cpu(k) for k in range(devices)], **settings)
    module.bind([("data", (4, 3))], [("label", (4, 1))])
    module.init_params(mx.init.One())
    module.init_optimizer(kvstore=kvstore, optimizer_params={"learning_rate": 0.25})
    return module


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "read", "expected"),
    [
        ("_exec_group", lambda value: isinstance(value, DataParallelExecutorGroup), True),
        ("_exec_group", lambda value: value.batch_size, 4),
        ("_data_shapes", lambda value: value, [("data", (4, 3))]),
        ("_label_shapes", lambda value: value, [("label", (4, 1))]),
        ("_context", lambda value: value, [mx.cpu()]),
        ("_param_names", lambda value: value, ["fc_weight", "fc_bias"]),
        ("_aux_names", lambda value: value, []),
        ("_fixed_param_names", lambda value: value, ["fc_bias"]),
        ("_arg_params", sorted, ["fc_bias", "fc_weight"]),
        ("_aux_params", lambda value: value, {}),
        ("_optimizer", lambda value: value.lr, 0.25),
        ("_updater", lambda value: value.states, {}),
        ("_kvstore", lambda value: value, None),
        ("_update_on_kvstore", lambda value: value, False),
    ],
)
def test_reading(kind: str, name: str, read: Any, expected: Any) -> None:
    assert read(getattr(made(kind, fixed_param_names=["fc_bias"]), name)) == expected


@pytest.mark.parametrize("kind", ["Module", "SVRGModule"])
@pytest.mark.parametrize(
    ("names", "what"), [("_data_names", "data_shapes must describe"), ("_label_names", "label_shapes must")]
)
def test_names_of_inputs_that_are_assigned_count(kind: str, names: str, what: str) -> None:
    module = KINDS[kind]()
    setattr(module, names, ["fc_weight"])
    assert getattr(module, names) == getattr(module, names[1:]) == ["fc_weight"]
    with pytest.raises(mx.MXNetError, match=f"{what}.*fc_weight"):
        module.bind([("data", (4, 3))], [("label", (4, 1))])


@pytest.mark.parametrize("kind", ["Module", "SVRGModule"])
def test_what_it_was_made_with(kind: str) -> None:
    module = made(kind, work_load_list=[2], group2ctxs={"first": mx.cpu(1)})
    assert module._symbol is module.symbol and module._output_names == module.output_names
    assert module._work_load_list == [2] and module._group2ctxs == {"first": mx.cpu(1)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_that_updates(kind: str) -> None:
    module = made(kind, devices=2, kvstore="device")
    assert module._kvstore.type == "device" and module._update_on_kvstore and module._updater is None


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_that_are_assigned(kind: str) -> None:
    module, other = made(kind), KINDS[kind]()
    values = {"fc_weight": mx.nd.ones((1, 3)) * 5, "fc_bias": mx.nd.zeros((1,))}
    module._arg_params = values
    other._arg_params, other._aux_params = values, {}
    other.params_initialized = True
    for each in (module, other):
        assert each.get_params()[0]["fc_weight"].asnumpy().tolist() == [[5, 5, 5]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", ["_exec_group", "_data_shapes", "_label_shapes", "_optimizer", "_kvstore", "_updater"]
)
def test_before_there_is_anything(kind: str, name: str) -> None:
    assert getattr(KINDS[kind](), name) is None
