"""A training run for `test_resume.py`, which kills it and starts it again.

python -m tests.module.training_script PREFIX OUTPUT
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import rebind as mx


def network() -> Any:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=8, name="fc1")
    net = mx.sym.BatchNorm(net, name="bn", fix_gamma=False)
    net = mx.sym.Dropout(mx.sym.Activation(net, act_type="relu"), p=0.3)
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=3, name="fc2"), name="softmax")


def iterator(batch_size: int = 8) -> mx.io.NDArrayIter:
    rng = np.random.RandomState(7)
    x, y = rng.randn(50, 5).astype("float32"), rng.randint(0, 3, 50).astype("float32")
    return mx.io.NDArrayIter(x, y, batch_size, shuffle=True)


def train(checkpoint: Any, devices: int = 1, **changed: Any) -> tuple[Any, Any]:
    """Train from the same start; return the module and the history."""
    mx.random.seed(3)
    np.random.seed(4)
    mod = mx.mod.Module(network(), context=[mx.cpu(i) for i in range(devices)])
    settings: dict[str, Any] = {
        "num_epoch": 3,
        "optimizer": "adam",
        "optimizer_params": {
            "learning_rate": 0.02,
            "wd": 1e-3,
            "lr_scheduler": mx.lr_scheduler.FactorScheduler(4, 0.8, warmup_steps=3),
        },
        "initializer": mx.init.Xavier(),
        "eval_metric": ["acc", "ce"],
        "progress": False,
        **changed,
    }
    data = settings.pop("train_data", None) or iterator()
    settings.pop("prepare", lambda module: None)(mod)
    history = mod.fit(data, eval_data=iterator(7), checkpoint=checkpoint, **settings)
    return mod, history


if __name__ == "__main__":
    checkpoint = mx.checkpoint.Checkpoint(sys.argv[1], every_n_batches=2)
    trained, _ = train(checkpoint)
    trained.save_params(sys.argv[2])
