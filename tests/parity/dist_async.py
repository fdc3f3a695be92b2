"""Workers that push to a store ``'dist_async'`` in turns, so that what they pull does not depend on who is faster."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["CASES", "push_in_turns"]

WORKERS = 2
TURNS = 6

#: An optimizer with its settings, and other things of a run.
CASES: dict[str, dict[str, Any]] = {
    "test": {"optimizer": "test", "settings": {"rescale_grad": 2.0}},
    "sgd": {"optimizer": "sgd", "settings": {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}},
    "adam": {"optimizer": "adam", "settings": {"learning_rate": 0.1}},
    "dcasgd": {"optimizer": "dcasgd", "settings": {"learning_rate": 0.5, "lamda": 1.0}},
    "nag": {"optimizer": "nag", "settings": {"learning_rate": 0.1, "momentum": 0.5}},
    "a schedule": {"optimizer": "sgd", "settings": {"learning_rate": 1.0}, "halved_every": 2},
    "multipliers": {"optimizer": "sgd", "settings": {"learning_rate": 1.0}, "multipliers": {"a_weight": 0.5}},
    "2 bits": {
        "optimizer": "test",
        "settings": {},
        "compression": {"type": "2bit", "threshold": 0.5},
    },
}
SHAPES = {"a_weight": (3, 4), "b_weight": (300, 300)}  # the second is divided over servers


def push_in_turns(mx: Any, case: dict[str, Any]) -> tuple[int, list[list[float]]]:
    """Return this worker's rank, and what it pulls in its turns: the first elements of both keys, and their last."""
    store = mx.kv.create("dist_async")
    if "compression" in case:
        store.set_gradient_compression(case["compression"])
    random = np.random.RandomState(5)
    keys = list(SHAPES)
    first = [random.randn(*SHAPES[key]).astype("float32") for key in keys]
    gradients = [[random.randn(*SHAPES[key]).astype("float32") for key in keys] for _ in range(TURNS)]
    # Other values on the others, which do not count.
    store.init(keys, [mx.nd.array(value + store.rank) for value in first])
    settings = dict(case["settings"])
    if "halved_every" in case:
        settings["lr_scheduler"] = mx.lr_scheduler.FactorScheduler(
            step=case["halved_every"], factor=0.5, base_lr=settings["learning_rate"]
        )
    if "multipliers" in case:
        # As a module gives it: MXNet's servers know keys by their numbers only.
        settings["param_idx2name"] = dict(enumerate(keys))
    optimizer = mx.optimizer.create(case["optimizer"], **settings)
    optimizer.set_lr_mult(case.get("multipliers", {}))
    store.set_optimizer(optimizer)
    store._barrier()
    found = []
    for turn in range(TURNS):
        if turn % WORKERS == store.rank:
            store.push(keys, [mx.nd.array(each) for each in gradients[turn]])
            pulled = [mx.nd.zeros(SHAPES[key]) for key in keys]
            store.pull(keys, out=pulled)
            flat = [each.asnumpy().ravel() for each in pulled]
            found.append([float(part[at]) for part in flat for at in (0, 1, -1)])
        store._barrier()
    return store.rank, found
