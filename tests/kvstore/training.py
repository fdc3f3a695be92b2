"""A small training run for jobs of workers."""

from __future__ import annotations

import numpy as np

import rebind as mx

__all__ = ["samples", "train", "weights"]


def network() -> mx.sym.Symbol:
    """Return a network with a weight that is divided over workers."""
    hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=300, name="one")
    output = mx.sym.FullyConnected(mx.sym.Activation(hidden, act_type="tanh"), num_hidden=2, name="two")
    return mx.sym.SoftmaxOutput(output, name="softmax")


def samples() -> tuple[np.ndarray, np.ndarray]:
    """Return samples of two classes, and their labels."""
    values = np.random.RandomState(0).randn(36, 20).astype("float32")
    return values, (values.sum(1) > 0).astype("float32")


def train(
    workers: int, rank: int, kind: str, compression: dict | None = None, epochs: int = 2
) -> mx.mod.Module:
    """Train on this worker's samples of each batch of twelve."""
    values, labels = samples()
    own = [i for i in range(36) if i % 12 // (12 // workers) == rank]
    data = mx.io.NDArrayIter(values[own], labels[own], 12 // workers, label_name="softmax_label")
    mx.random.seed(0 if workers == 1 else rank)  # all start from the weights of worker 0
    devices = [mx.cpu(k) for k in range(1 if workers == 1 else 2)]
    module = mx.mod.Module(network(), context=devices, compression_params=compression)
    module.fit(
        data,
        kvstore=kind,
        optimizer="sgd",
        optimizer_params={"learning_rate": 0.2, "momentum": 0.9},
        initializer=mx.init.Xavier(),
        num_epoch=epochs,
    )
    return module


def weights(module: mx.mod.Module) -> dict[str, np.ndarray]:
    """Return the parameters."""
    return {name: array.asnumpy() for name, array in module.get_params()[0].items()}
