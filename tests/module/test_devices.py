"""Training a `Module` on several devices, by parts of a batch, and with fixed parameters: as one device does."""

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind import sym as S
from rebind.io import DataBatch

from .linear_network import DATA, batch, module, step, weight


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
