"""What the mistakes are made with: a small array, a network, an iterator, and modules at each step of their life."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

import rebind as mx
from rebind import nd

_FOLDER = tempfile.TemporaryDirectory()
FOLDER = _FOLDER.name


def matrix() -> Any:
    return nd.array(np.arange(6).reshape(2, 3))


def picture() -> Any:
    return nd.array(np.zeros((8, 8, 3)), dtype="uint8")


def var(name: str = "v") -> Any:
    return mx.sym.Variable(name)


def net() -> Any:
    layer = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc1")
    return mx.sym.SoftmaxOutput(layer, name="softmax")


def arguments() -> list[Any]:
    return [nd.ones((4, 4)), nd.ones((3, 4)), nd.ones((3,)), nd.ones((4,))]


def executor() -> Any:
    return net().simple_bind(mx.cpu(), data=(4, 4))


def batches(**settings: Any) -> Any:
    given = {"data": np.ones((8, 4), "float32"), "label": np.zeros(8), "batch_size": 4, **settings}
    return mx.io.NDArrayIter(**given)


def module(**settings: Any) -> Any:
    return mx.mod.Module(net(), **settings)


def bound(**settings: Any) -> Any:
    made = module()
    made.bind([("data", (4, 4))], [("softmax_label", (4,))], **settings)
    return made


def ready() -> Any:
    made = bound()
    made.init_params()
    made.init_optimizer()
    return made


def after_forward() -> Any:
    made = ready()
    made.forward(next(iter(batches())), is_train=True)
    return made


def after_backward() -> Any:
    made = after_forward()
    made.backward()
    return made


def store() -> Any:
    made = mx.kv.create("local")
    made.init("a", nd.ones((2,)))
    return made
