"""The values of a `Module`'s parameters: where the first come from, and how they are set and read."""

import re

import pytest

import rebind as mx
from rebind import nd
from rebind import sym as S

from .linear_network import DATA, LABELS, NET, batch, given, module, step, weight


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
