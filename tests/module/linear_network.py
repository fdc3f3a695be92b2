"""A module with one linear layer, bound and initialized, for the tests of `Module`."""

import numpy as np

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


def given(**changes):
    return {"fc_weight": nd.ones((1, 3)) * 5, "fc_bias": nd.ones((1,)) * 6, **changes}


def two_layers(order="ab"):
    a, b = (S.FullyConnected(DATA, num_hidden=1, name=name) for name in order)
    return S.LinearRegressionOutput(a + b, name="out")
