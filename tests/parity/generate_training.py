"""Record what MXNet 1.9.1's optimizers, schedules, metrics, iterators and initializers do, as small tables.

Run with the Python of an environment that has MXNet 1.9.1::

    python -m tests.parity.generate_training [--check DIR]

It writes ``data/training/tables.json`` and ``data/training/*.states`` beside this file. ``--check`` reads the
``.states`` files that rebind wrote into ``DIR`` (with ``python -m tests.parity.write_states DIR``) with MXNet and
says whether they hold what they should: the direction from rebind to MXNet.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from .oracle import mx, origin

DATA = Path(__file__).resolve().parent / "data" / "training"

# name, type of the weights, settings; each runs three steps from the same weight and gradients
OPTIMIZERS: list[tuple[str, str, dict[str, Any]]] = [
    ("sgd", "float32", {}),
    ("sgd", "float32", {"learning_rate": 0.1, "momentum": 0.9}),
    ("sgd", "float32", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.1, "rescale_grad": 0.7}),
    ("sgd", "float32", {"learning_rate": 0.1, "wd": 0.1, "rescale_grad": 0.7, "clip_gradient": 0.5}),
    (
        "sgd",
        "float32",
        {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.1, "rescale_grad": 0.7, "clip_gradient": 0.5},
    ),
    ("sgd", "float32", {"momentum": 0.9, "clip_gradient": 0.0}),
    ("sgd", "float16", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.1, "multi_precision": True}),
    ("sgd", "float16", {"learning_rate": 0.1, "multi_precision": True}),
    ("adam", "float32", {}),
    ("adam", "float32", {"learning_rate": 0.1, "wd": 0.1, "rescale_grad": 0.7, "epsilon": 1e-3}),
    (
        "adam",
        "float32",
        {"learning_rate": 0.1, "wd": 0.1, "rescale_grad": 0.7, "clip_gradient": 0.5, "epsilon": 1e-3},
    ),
    ("adam", "float32", {"beta1": 0.5, "beta2": 0.9, "begin_num_update": 5}),
    ("adam", "float16", {"learning_rate": 0.1, "multi_precision": True, "wd": 0.1}),
]

SCHEDULERS: list[tuple[str, dict[str, Any]]] = [
    ("FactorScheduler", {"step": 3, "factor": 0.5, "base_lr": 1.0}),
    ("FactorScheduler", {"step": 3, "factor": 0.5, "base_lr": 1.0, "stop_factor_lr": 0.2}),
    (
        "FactorScheduler",
        {"step": 3, "factor": 0.5, "base_lr": 1.0, "warmup_steps": 4, "warmup_begin_lr": 0.1},
    ),
    (
        "FactorScheduler",
        {"step": 3, "factor": 0.5, "base_lr": 1.0, "warmup_steps": 4, "warmup_mode": "constant"},
    ),
    ("MultiFactorScheduler", {"step": [3, 7], "factor": 0.1, "base_lr": 1.0}),
    ("MultiFactorScheduler", {"step": [3, 7], "factor": 0.1, "base_lr": 1.0, "warmup_steps": 2}),
    ("PolyScheduler", {"max_update": 10, "base_lr": 1.0, "pwr": 2, "final_lr": 0.1}),
    ("PolyScheduler", {"max_update": 10, "base_lr": 1.0, "pwr": 3, "final_lr": 0.1, "warmup_steps": 3}),
    ("CosineScheduler", {"max_update": 10, "base_lr": 1.0, "final_lr": 0.1}),
    ("CosineScheduler", {"max_update": 10, "base_lr": 1.0, "warmup_steps": 3, "warmup_begin_lr": 0.2}),
]

# Not in order: a schedule remembers how far it has come.
UPDATES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 1, 5, 40]

METRICS: list[tuple[str, dict[str, Any], str]] = [
    ("acc", {}, "classes"),
    ("acc", {"axis": 1}, "pixels"),
    ("top_k_accuracy", {"top_k": 2}, "classes"),
    ("top_k_accuracy", {"top_k": 3}, "classes"),
    ("ce", {}, "classes"),
    ("ce", {"eps": 0.1}, "classes"),
    ("nll_loss", {}, "classes"),
    ("perplexity", {"ignore_label": None}, "classes"),
    ("perplexity", {"ignore_label": 3}, "classes"),
    ("mse", {}, "numbers"),
    ("rmse", {}, "numbers"),
    ("mae", {}, "numbers"),
    ("mse", {}, "columns"),
    ("loss", {}, "numbers"),
]

ITERATORS = [
    {"rows": rows, "batch_size": 4, "last_batch_handle": handle, "shuffle": shuffle, "stop_after": stop}
    for rows in (3, 8, 10, 11)
    for handle in ("pad", "discard", "roll_over")
    for shuffle in (False, True)
    for stop in (None, 2)
]

INITIALIZERS: list[tuple[str, dict[str, Any], tuple[int, ...]]] = [
    ("uniform", {"scale": 0.3}, (200, 300)),
    ("normal", {"sigma": 0.3}, (200, 300)),
    ("xavier", {}, (200, 300)),
    ("xavier", {"rnd_type": "gaussian", "factor_type": "in", "magnitude": 2}, (100, 40, 3, 3)),
    ("xavier", {"factor_type": "out", "magnitude": 1.5}, (100, 40, 3, 3)),
    ("msraprelu", {}, (200, 300)),
    ("msraprelu", {"factor_type": "out", "slope": 0.0}, (100, 40, 3, 3)),
    ("orthogonal", {}, (120, 200)),
    ("zero", {}, (2, 3)),
    ("one", {}, (2, 3)),
    ("constant", {"value": 3.5}, (2, 3)),
    ("bilinear", {}, (2, 1, 4, 4)),
    ("bilinear", {}, (1, 2, 5, 5)),
    ("lstmbias", {"forget_bias": 2.0}, (8,)),
]


def samples() -> dict[str, list[tuple[np.ndarray, np.ndarray]]]:
    """Make two batches of labels and predictions of each kind."""
    random = np.random.RandomState(7)

    def classes(batch: int) -> tuple[np.ndarray, np.ndarray]:
        return random.randint(0, 4, batch), random.dirichlet(np.ones(4), batch)

    def pixels(batch: int) -> tuple[np.ndarray, np.ndarray]:
        return random.randint(0, 4, (batch, 3)), random.dirichlet(np.ones(4), (batch, 3)).transpose(0, 2, 1)

    makers = {
        "classes": classes,
        "pixels": pixels,
        "numbers": lambda batch: (random.randn(batch, 3), random.randn(batch, 3)),
        "columns": lambda batch: (random.randn(batch), random.randn(batch, 1)),
    }
    return {kind: [make(5), make(8)] for kind, make in makers.items()}


def numbers(state: Any) -> Any:
    """Return a state as lists of numbers."""
    if state is None:
        return None
    if isinstance(state, (list, tuple)):
        return [numbers(each) for each in state]
    return state.asnumpy().tolist()


def optimizers() -> dict[str, Any]:
    """Run each optimizer for three steps."""
    random = np.random.RandomState(3)
    weight = random.randn(2, 3).astype("float32")
    grads = [(3 * random.randn(2, 3)).astype("float32") for _ in range(3)]
    rows = []
    for i, (name, dtype, settings) in enumerate(OPTIMIZERS):
        updater = mx.optimizer.get_updater(mx.optimizer.create(name, **settings))
        array = mx.nd.array(weight, dtype=dtype)
        steps = []
        for grad in grads:
            updater(0, mx.nd.array(grad, dtype=dtype), array)
            steps.append(array.asnumpy().tolist())
        (DATA / f"optimizer-{i}.states").write_bytes(updater.get_states())
        rows.append(
            {
                "name": name,
                "dtype": dtype,
                "settings": settings,
                "weights": steps,
                "state": numbers(updater.states[0]),
            }
        )
    return {"weight": weight.tolist(), "grads": [grad.tolist() for grad in grads], "rows": rows}


def dumped_optimizer() -> dict[str, Any]:
    """Write a ``.states`` file with the optimizer in it, from the middle of a schedule."""
    schedule = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.4)
    optimizer = mx.optimizer.create(
        "adam", learning_rate=0.4, lr_scheduler=schedule, wd=0.1, param_idx2name={0: "a_weight", 1: "a_bias"}
    )
    updater = mx.optimizer.get_updater(optimizer)
    weights = [mx.nd.ones((2, 2)), mx.nd.ones((2,))]
    for _ in range(3):
        updater([0, 1], [mx.nd.ones((2, 2)), mx.nd.ones((2,))], weights)
    (DATA / "dumped.states").write_bytes(updater.get_states(dump_optimizer=True))
    before = [each.asnumpy().tolist() for each in weights]
    for _ in range(3):
        updater([0, 1], [mx.nd.ones((2, 2)), mx.nd.ones((2,))], weights)
    return {"before": before, "after": [each.asnumpy().tolist() for each in weights]}


def schedulers() -> list[dict[str, Any]]:
    """Ask each schedule for the learning rate of some updates."""
    rows = []
    for name, settings in SCHEDULERS:
        schedule = getattr(mx.lr_scheduler, name)(**settings)
        rows.append({"name": name, "settings": settings, "rates": [schedule(n) for n in UPDATES]})
    return rows


def metrics() -> dict[str, Any]:
    """Measure two batches with each metric, the second in a new local window."""
    data = samples()
    rows = []
    for name, settings, kind in METRICS:
        metric = mx.metric.create(name, **settings)
        found = []
        for label, pred in data[kind]:
            metric.reset_local()
            metric.update([mx.nd.array(label)], [mx.nd.array(pred)])
            found.append([metric.get(), metric.get_global()])
        rows.append(
            {"name": name, "settings": settings, "data": kind, "values": found, "config": metric.get_config()}
        )
    batches = {
        kind: [[label.tolist(), pred.tolist()] for label, pred in pairs] for kind, pairs in data.items()
    }
    return {"batches": batches, "rows": rows}


def iterators() -> list[dict[str, Any]]:
    """Read three epochs from each iterator; `stop_after` batches of an epoch at most."""
    rows = []
    for case in ITERATORS:
        np.random.seed(11)
        iterator = mx.io.NDArrayIter(
            np.arange(case["rows"]),
            np.arange(case["rows"]) * 10,
            batch_size=case["batch_size"],
            shuffle=case["shuffle"],
            last_batch_handle=case["last_batch_handle"],
        )
        epochs = []
        for _ in range(3):
            epoch = []
            for batch in iterator:
                epoch.append([batch.data[0].asnumpy().astype(int).tolist(), batch.pad])
                if len(epoch) == case["stop_after"]:
                    break
            epochs.append(epoch)
            iterator.reset()
        rows.append({**case, "epochs": epochs})
    return rows


def initializers() -> list[dict[str, Any]]:
    """Fill an array with each initializer: moments, or the values themselves where nothing is random."""
    rows = []
    for name, settings, shape in INITIALIZERS:
        mx.random.seed(5)
        np.random.seed(5)
        initializer = mx.init.create(name, **settings)
        array = mx.nd.zeros(shape)
        initializer(mx.init.InitDesc("fc_weight"), array)
        values = array.asnumpy().astype("float64")
        row = {
            "name": name,
            "settings": settings,
            "shape": list(shape),
            "dumps": initializer.dumps(),
            "mean": float(values.mean()),
            "std": float(values.std()),
            "bound": float(np.abs(values).max()),
        }
        if values.size < 100:
            row["values"] = values.tolist()
        rows.append(row)
    return rows


def check(folder: Path) -> None:
    """Read the files that rebind wrote, and compare with what stands beside them."""
    for path in sorted(folder.glob("*.states")):
        expected = json.loads(path.with_suffix(".json").read_text())
        updater = mx.optimizer.get_updater(mx.optimizer.create(expected.get("optimizer", "sgd")))
        updater.set_states(path.read_bytes())
        found = {str(index): numbers(state) for index, state in updater.states.items()}
        assert found == expected["states"], f"{path}: {found} instead of {expected['states']}"
        if "optimizer" in expected:
            optimizer = updater.optimizer
            assert type(optimizer).__name__ == expected["optimizer"], type(optimizer)
            assert optimizer.num_update == expected["num_update"], optimizer.num_update
            assert optimizer.learning_rate == expected["learning_rate"], optimizer.learning_rate
            updater(0, mx.nd.ones((2, 2)), mx.nd.ones((2, 2)))
        print("read by MXNet:", path.name)


def main() -> None:
    """Make the tables, or check files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", type=Path, metavar="DIR")
    arguments = parser.parse_args()
    if arguments.check:
        check(arguments.check)
        return
    DATA.mkdir(parents=True, exist_ok=True)
    tables = {
        "origin": origin(),
        "optimizers": optimizers(),
        "dumped": dumped_optimizer(),
        "updates": UPDATES,
        "schedulers": schedulers(),
        "metrics": metrics(),
        "iterators": iterators(),
        "initializers": initializers(),
    }
    (DATA / "tables.json").write_text(json.dumps(tables) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
