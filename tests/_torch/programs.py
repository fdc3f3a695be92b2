"""Small programs through all that private names of PyTorch are used for, and their numbers.

As a script it writes them into a file of NumPy's.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import rebind as mx

DATA = mx.sym.var("data")


def perceptron() -> Any:
    hidden = mx.sym.Activation(mx.sym.FullyConnected(DATA, num_hidden=16, name="fc1"), act_type="relu")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=4, name="fc2"), name="softmax")


def lenet() -> Any:
    images = mx.sym.reshape(DATA, shape=(-1, 1, 10, 10))
    features = mx.sym.Activation(
        mx.sym.Convolution(images, kernel=(3, 3), num_filter=8, name="conv"), act_type="tanh"
    )
    pooled = mx.sym.Pooling(
        mx.sym.BatchNorm(features, name="norm"), pool_type="max", kernel=(2, 2), stride=(2, 2)
    )
    return mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.flatten(pooled), num_hidden=4, name="fc"), name="softmax"
    )


def trained(network: Any, optimizer: str, **settings: float) -> list[np.ndarray]:
    """Return parameters and predictions after two epochs."""
    mx.random.seed(1)
    numbers = np.random.RandomState(2)
    rows, labels = numbers.rand(24, 100).astype("float32"), numbers.randint(0, 4, 24).astype("float32")
    data = mx.io.NDArrayIter(rows, labels, batch_size=8)
    module = mx.mod.Module(network)
    module.fit(
        data, num_epoch=2, optimizer=optimizer, optimizer_params=settings, initializer=mx.init.Xavier()
    )
    parameters = [value for part in module.get_params() for _, value in sorted(part.items())]
    return [each.asnumpy() for each in (*parameters, module.predict(data))]


def compiled(backend: str) -> list[np.ndarray]:
    """Return outputs and gradients of a training step, and outputs of inference."""
    mx.random.seed(1)
    executor = lenet().simple_bind(mx.cpu(), data=(8, 100), backend=backend)
    for name, array in sorted(executor.arg_dict.items()):
        array[:] = mx.nd.random.uniform(-0.5, 0.5, shape=array.shape) if name != "softmax_label" else 1
    for _ in range(3):
        executor.forward(is_train=True)
        executor.backward()
    found = [*executor.outputs, *(executor.grad_dict[name] for name in ("conv_weight", "fc_weight", "data"))]
    return [each.asnumpy() for each in (*found, *executor.forward(is_train=False))]


def imperative() -> list[np.ndarray]:
    """Return what calls of arrays give: slices and writes into them, gradients, drawn numbers."""
    mx.random.seed(3)
    drawn = mx.nd.random.gamma(alpha=mx.nd.array([0.5, 3, 9]), beta=mx.nd.array([1, 2, 1]), shape=4)
    x = mx.nd.arange(12).reshape((3, 4))
    x[1] = x[0] * 2
    x[1:3, ::2] += 10
    y = x.reshape((4, 3)).T
    y[:] = 1
    x.attach_grad()
    with mx.autograd.record():
        z = mx.nd.dot(x.slice_axis(axis=1, begin=1, end=3), x[0, :2].reshape((2, 1)))
        loss = mx.nd.smooth_l1(z).sum() + mx.nd.softmax_cross_entropy(x, mx.nd.array([0, 2, 1]))
    loss.backward()
    kept = mx.nd.where(x > 5, x, x[::-1])
    return [each.asnumpy() for each in (drawn, x, y, z, loss, x.grad, kept)]


def bytes_() -> list[np.ndarray]:
    """Return sums of products of 8-bit numbers, and a largest one."""
    mx.random.seed(4)
    data, weight = (mx.nd.random.randint(-128, 128, shape=shape).astype("int8") for shape in ((4, 9), (5, 9)))
    low, high = mx.nd.array([-1]), mx.nd.array([1])
    sums = mx.nd.contrib.quantized_fully_connected(
        data, weight, mx.nd.zeros((5,)).astype("int8"), low, high, low, high, low, high, num_hidden=5
    )
    image = data.reshape((1, 1, 6, 6))
    largest = mx.nd.contrib.quantized_pooling(image, low, high, kernel=(2, 2), stride=(2, 2), pool_type="max")
    return [each.asnumpy() for each in (*sums, *largest)]


def numbers() -> dict[str, list[np.ndarray]]:
    """Return the numbers of all programs."""
    return {
        "perceptron, sgd": trained(perceptron(), "sgd", learning_rate=0.1, momentum=0.9, wd=1e-3),
        "LeNet, adam": trained(lenet(), "adam", learning_rate=0.01, clip_gradient=1.0),
        "LeNet, ftrl": trained(lenet(), "ftrl"),
        "LeNet, compiled": compiled("aot_eager"),
        "arrays": imperative(),
        "bytes": bytes_(),
    }


if __name__ == "__main__":
    found = {f"{name} {i}": each for name, group in numbers().items() for i, each in enumerate(group)}
    np.savez(sys.argv[1], **found)
