"""A classifier of three classes, and data for it, for tests of what users are told."""

from __future__ import annotations

from typing import Any

import numpy as np

import rebind as mx


def network(name: str = "softmax", *, loss: bool = True) -> Any:
    scores = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc1")
    return mx.sym.SoftmaxOutput(scores, name=name) if loss else scores


def batches(width: int = 4, labels: Any = (0, 1, 2, 0, 1, 2, 0, 1), label_name: str = "softmax_label") -> Any:
    x = np.arange(8 * width, dtype="float32").reshape(8, width) / 100
    y = None if labels is None else np.array(labels, "float32")
    return mx.io.NDArrayIter(x, y, 4, label_name=label_name)


def fit(module: Any = None, data: Any = None, **settings: Any) -> Any:
    module = mx.mod.Module(network()) if module is None else module
    module.fit(batches() if data is None else data, **{"num_epoch": 1, **settings})
    return module
