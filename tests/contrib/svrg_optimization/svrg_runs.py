"""A small network with its data, and SVRG modules of it."""

from __future__ import annotations

import numpy as np

import rebind as mx
from rebind.contrib.svrg_optimization import SVRGModule
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
