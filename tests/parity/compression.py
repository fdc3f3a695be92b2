"""What is pushed to stores with compressed gradients: the same for MXNet, which is recorded, and for rebind."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

__all__ = ["RUNS", "push_all", "push_here", "workers_of"]

#: A small key, one that is divided over the workers, and one whose parts are messages of their own.
SHAPES: dict[Any, tuple[int, ...]] = {"small": (3, 5), "middle": (70, 71), "big": (1010, 1001)}
#: At each of these steps all keys are pushed and pulled.
STEPS = 5

#: The kind of store, the devices of each worker, the workers of a job; and what is set before a step.
RUNS: dict[str, dict[str, Any]] = {
    "device, one device": {"kind": "device", "devices": 1, "compression": {0: 0.5}},
    "device, three devices": {"kind": "device", "devices": 3, "compression": {0: 0.5}},
    "device, threshold 0.3": {"kind": "device", "devices": 2, "compression": {0: 0.3}},
    "device, another threshold": {"kind": "device", "devices": 2, "compression": {0: 2.0, 2: 0.4}},
    "device, with an optimizer": {"kind": "device", "devices": 2, "compression": {0: 0.5}, "optimizer": True},
    "local_allreduce_device": {"kind": "local_allreduce_device", "devices": 2, "compression": {0: 0.7}},
    "one worker": {"kind": "dist_sync", "workers": 1, "devices": 2, "compression": {0: 0.5}},
    "two workers": {"kind": "dist_sync", "workers": 2, "devices": 1, "compression": {0: 0.5}},
    "two workers, two devices": {"kind": "dist_sync", "workers": 2, "devices": 2, "compression": {0: 0.3}},
    "two workers, sums on a device": {
        "kind": "dist_device_sync", "workers": 2, "devices": 2, "compression": {0: 0.5},
    },
    "two workers, late": {"kind": "dist_sync", "workers": 2, "devices": 1, "compression": {2: 0.5}},
    "two workers, with an optimizer": {
        "kind": "dist_sync", "workers": 2, "devices": 1, "compression": {0: 0.5}, "optimizer": True,
    },
    "three workers": {"kind": "dist_sync", "workers": 3, "devices": 1, "compression": {0: 0.9}},
}  # fmt: skip


def workers_of(name: str) -> int:
    """Return how many workers a run has; 0 for a store of one process."""
    found: int = RUNS[name].get("workers", 0)
    return found


def gradient(key: Any, step: int, rank: int, device: int) -> np.ndarray:
    """Return what a device pushes; a few elements are the thresholds themselves."""
    random = np.random.RandomState(1000 * step + 100 * rank + 10 * device + len(str(key)))
    values = (random.randn(*SHAPES[key]) * 0.6).astype("float32")
    values.reshape(-1)[:6] = [0.5, -0.5, 0.3, -0.3, 0.0, 3.0]
    return values


def shown(values: np.ndarray) -> dict[str, Any]:
    """Return the first numbers, and a digest of all."""
    flat = np.ascontiguousarray(values).reshape(-1) + np.float32(0)  # for which -0 is 0
    return {"first": flat[:12].tolist(), "digest": hashlib.sha256(flat.tobytes()).hexdigest()[:24]}


def push_all(mx: Any, name: str) -> list[dict[str, Any]]:
    """Push and pull all steps of a run, and return what was pulled."""
    run = RUNS[name]
    store = mx.kv.create(run["kind"])
    for key, shape in SHAPES.items():
        store.init(key, mx.nd.ones(shape))
    if "optimizer" in run:
        store.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.25, rescale_grad=0.5))
    found = []
    for step in range(STEPS):
        if step in run["compression"]:
            store.set_gradient_compression({"type": "2bit", "threshold": run["compression"][step]})
        pulled = {}
        for key, shape in SHAPES.items():
            given = [
                mx.nd.array(gradient(key, step, store.rank, k), ctx=mx.cpu(k)) for k in range(run["devices"])
            ]
            store.push(key, given)
            store.pull(key, out=(out := mx.nd.zeros(shape)))
            pulled[str(key)] = shown(out.asnumpy())
        found.append(pulled)
    return found


def push_here(names: list[str]) -> dict[str, Any]:
    """Push runs as a worker of a job of rebind's, each to a store of its own."""
    import rebind  # which the environment that has MXNet has not

    return {name: push_all(rebind, name) for name in names}
