"""What is trained by SVRG in MXNet and here, for one record: network, data, settings."""

from __future__ import annotations

from typing import Any

import numpy as np

FULL = "_full"
ROWS = 22
RANDOM = np.random.RandomState(1)
POINTS = RANDOM.randn(ROWS, 4).astype("float32")
CLASSES = (POINTS @ RANDOM.randn(4, 3)).argmax(axis=1).astype("float32")
INITIAL = {
    name: (0.3 * RANDOM.randn(*shape)).astype("float32")
    for name, shape in {
        "first_weight": (5, 4),
        "first_bias": (5,),
        "last_weight": (3, 5),
        "last_bias": (3,),
    }.items()
}

# All epochs are in the period of one snapshot.
RUNS: list[dict[str, Any]] = [
    {"optimizer": optimizer, "settings": settings, "batch_size": size, "handle": handle, "epochs": 3}
    for optimizer, settings, size, handle in (
        ("sgd", {"learning_rate": 0.2}, 11, "pad"),
        ("sgd", {"learning_rate": 0.2, "momentum": 0.9, "wd": 0.01}, 6, "pad"),
        ("sgd", {"learning_rate": 0.2, "clip_gradient": 0.1}, 5, "discard"),
        ("adam", {"learning_rate": 0.05}, 6, "pad"),
    )
]


def network(mx: Any) -> Any:
    """A perceptron with one hidden layer."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=5, name="first")
    net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type="tanh"), num_hidden=3, name="last")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def batches(mx: Any, batch_size: int, handle: str, shuffle: bool = True) -> Any:
    """The data; the order comes from ``numpy.random``, in both programs alike."""
    return mx.io.NDArrayIter(POINTS, CLASSES, batch_size, shuffle=shuffle, last_batch_handle=handle)
