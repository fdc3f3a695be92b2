"""Record what MXNet 1.9.1's schedules, metrics, iterators, initializers, callbacks and monitor do, in small tables.

Run with the Python of an environment that has MXNet 1.9.1::

    python -m tests.parity.generate_training

It writes ``data/training/tables.json`` beside this file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from . import reports
from .oracle import mx, origin

DATA = Path(__file__).resolve().parent / "data" / "training"

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
    *(
        (name, {**settings, "base_lr": 0.7, **warmup})
        for name, settings in (
            ("FactorScheduler", {"step": 2, "factor": 0.3, "stop_factor_lr": 1e-3}),
            ("FactorScheduler", {"step": 1}),
            ("MultiFactorScheduler", {"step": [1, 2, 9], "factor": 0.5}),
            ("PolyScheduler", {"max_update": 12, "pwr": 1.5}),
            ("PolyScheduler", {"max_update": 7, "final_lr": 0.9}),
            ("PolyScheduler", {"max_update": 7, "pwr": 0}),
            ("CosineScheduler", {"max_update": 12, "final_lr": 0.02}),
            ("CosineScheduler", {"max_update": 2}),
        )
        for warmup in (
            {},
            {"warmup_steps": 1},
            {"warmup_steps": 6, "warmup_mode": "linear"},
            {"warmup_steps": 6, "warmup_begin_lr": 0.3, "warmup_mode": "linear"},
            {"warmup_steps": 5, "warmup_begin_lr": 0.7},
            {"warmup_steps": 6, "warmup_begin_lr": 0.3, "warmup_mode": "constant"},
            {"warmup_steps": 6, "warmup_mode": "constant"},
        )
    ),
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
    ("acc", {}, "ties"),
    ("acc", {}, "label columns"),
    ("acc", {}, "given classes"),
    ("acc", {"axis": 2}, "pixels, classes last"),
    ("top_k_accuracy", {"top_k": 3}, "four apart"),
    ("ce", {"name": "c", "output_names": ["a"], "label_names": ["b"]}, "label columns"),
    ("perplexity", {"ignore_label": 1}, "label columns"),
    ("perplexity", {"ignore_label": None}, "certain"),
    ("perplexity", {"ignore_label": 2, "axis": -1}, "sequences"),
    ("mae", {}, "columns"),
    ("rmse", {}, "columns"),
    ("mae", {}, "cubes"),
    ("mse", {}, "cubes"),
    ("rmse", {}, "cubes"),
    ("loss", {}, "cubes"),
    ("torch", {}, "numbers"),
    ("caffe", {}, "numbers"),
    *(
        (name, {"average": average}, kind)
        for name in ("f1", "mcc")
        for average in ("macro", "micro")
        for kind in ("two", "only zeros", "only ones", "two, with ties", "two, of three scores", "two pixels")
    ),
    ("f1", {}, "two"),
    ("mcc", {"name": "m"}, "two"),
    # Not pixels: of those of one sample that have the same label and class, MXNet counts one.
    *(
        ("pcc", {}, kind)
        for kind in (
            "two",
            "classes",
            "given classes",
            "more and more classes",
            "unseen classes",
            "only zeros",
        )
    ),
    ("pcc", {"has_global_stats": False}, "classes"),
    ("pearsonr", {}, "numbers"),
    ("pearsonr", {}, "cubes"),
    ("pearsonr", {"average": "macro"}, "far from zero"),
    # With "micro", and without global sums, MXNet loses the figure of the epoch: compared is one window.
    ("pearsonr", {"average": "micro"}, "numbers"),
    ("pearsonr", {"average": "micro"}, "cubes"),
    ("pearsonr", {"average": "micro"}, "far from zero"),
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
    ("lstmbias", {}, (10,)),
    ("lstmbias", {"forget_bias": 3.0}, (8, 2)),
    ("zeros", {}, (3,)),
    ("ones", {}, (3,)),
    ("constant", {"value": -2}, (4,)),
    ("bilinear", {}, (2, 3, 3, 4)),
    ("bilinear", {}, (1, 1, 7, 6)),
    ("normal", {}, (200, 300)),
    ("uniform", {}, (200, 300)),
    ("orthogonal", {"scale": 2.0, "rand_type": "normal"}, (200, 120)),
    ("orthogonal", {"rand_type": "normal"}, (40, 20, 3, 3)),
    ("xavier", {"rnd_type": "gaussian", "factor_type": "out"}, (200, 300)),
    ("xavier", {"rnd_type": "uniform", "factor_type": "avg", "magnitude": 2.34}, (200, 300)),
    ("msraprelu", {"factor_type": "in", "slope": 0.1}, (200, 300)),
]

# what `RNN` has: mode, layers, both directions; units and inputs are 3 and 5
FUSED = [
    (mode, layers, both)
    for mode in ("lstm", "gru", "rnn_tanh", "rnn_relu")
    for layers in (1, 2)
    for both in (False, True)
]


def samples() -> dict[str, list[tuple[np.ndarray, np.ndarray]]]:
    """Make two or three batches of labels and predictions of each kind."""
    random = np.random.RandomState(7)

    def classes(batch: int) -> tuple[np.ndarray, np.ndarray]:
        return random.randint(0, 4, batch), random.dirichlet(np.ones(4), batch)

    def pixels(batch: int) -> tuple[np.ndarray, np.ndarray]:
        return random.randint(0, 4, (batch, 3)), random.dirichlet(np.ones(4), (batch, 3)).transpose(0, 2, 1)

    def scores(labels: int, count: int) -> Any:
        return lambda batch: (random.randint(0, labels, batch), random.dirichlet(np.ones(count), batch))

    def two_pixels(batch: int) -> tuple[np.ndarray, np.ndarray]:
        return random.randint(0, 2, (batch, 3)), random.dirichlet(np.ones(2), (batch, 3)).transpose(0, 2, 1)

    def one_class(label: int) -> Any:
        return lambda batch: (np.full(batch, label), random.dirichlet(np.ones(2), batch))

    def four_apart(batch: int) -> tuple[np.ndarray, np.ndarray]:
        return random.randint(0, 4, batch), np.stack([random.permutation(4) for _ in range(batch)]) / 8

    makers = {
        "classes": classes,
        "pixels": pixels,
        "numbers": lambda batch: (random.randn(batch, 3), random.randn(batch, 3)),
        "columns": lambda batch: (random.randn(batch), random.randn(batch, 1)),
        # New kinds come last: the numbers of the others stay what they are.
        "ties": lambda batch: (random.randint(0, 4, batch), random.randint(0, 2, (batch, 4)) / 2),
        "label columns": lambda batch: (
            random.randint(0, 4, (batch, 1)),
            random.dirichlet(np.ones(4), batch),
        ),
        "given classes": lambda batch: (random.randint(0, 4, batch), random.randint(0, 4, batch)),
        "pixels, classes last": lambda batch: (
            random.randint(0, 4, (batch, 3)),
            random.dirichlet(np.ones(4), (batch, 3)),
        ),
        "sequences": lambda batch: (
            random.randint(0, 4, (batch, 3)),
            random.dirichlet(np.ones(4), 3 * batch),
        ),
        "four apart": four_apart,
        "certain": lambda batch: (random.randint(0, 2, batch), np.eye(2)[random.randint(0, 2, batch)]),
        "cubes": lambda batch: (random.randn(batch, 2, 3), random.randn(batch, 2, 3)),
        "far from zero": lambda batch: (1000 + random.randn(batch), 1000 + random.randn(batch)),
        "two": scores(2, 2),
        "only zeros": one_class(0),
        "only ones": one_class(1),
        "two, with ties": lambda batch: (random.randint(0, 2, batch), random.randint(0, 2, (batch, 2)) / 2),
        "two, of three scores": scores(2, 3),
        "two pixels": two_pixels,
        "more and more classes": lambda batch: scores(batch // 2, batch // 2)(batch),
        "unseen classes": scores(6, 3),
    }
    return {
        kind: [make(size) for size in ((5, 8) if number < 4 else (5, 8, 3))]
        for number, (kind, make) in enumerate(makers.items())
    }


def schedulers() -> list[dict[str, Any]]:
    """Ask each schedule for the learning rate of some updates."""
    rows = []
    for name, settings in SCHEDULERS:
        schedule = getattr(mx.lr_scheduler, name)(**settings)
        rows.append({"name": name, "settings": settings, "rates": [schedule(n) for n in UPDATES]})
    return rows


def metrics() -> dict[str, Any]:
    """Measure batches with each metric, each in a new local window."""
    data = samples()
    rows = []
    for name, settings, kind in METRICS:
        metric = mx.metric.create(name, **settings)
        found = []
        windows = settings.get("has_global_stats", True) and (name, settings.get("average")) != (
            "pearsonr",
            "micro",
        )
        for label, pred in data[kind]:
            if windows:
                metric.reset_local()
            metric.update([mx.nd.array(label)], [mx.nd.array(pred)])
            found.append([metric.get(), metric.get_global() if windows else metric.get()])
        rows.append(
            {
                "name": name,
                "settings": settings,
                "data": kind,
                "windows": windows,
                "values": found,
                "config": metric.get_config(),
            }
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


class Numbered(mx.init.Initializer):
    """Fills each part with its number, and writes down what it is called."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[list[Any]] = []

    def _init_weight(self, name: str, arr: Any) -> None:
        self.parts.append([str(name), list(arr.shape)])
        arr[:] = len(self.parts)

    _init_bias = _init_weight


def fused() -> list[dict[str, Any]]:
    """Fill the parameters of `RNN`, each gate's with another number."""
    rows = []
    for mode, layers, both in FUSED:
        cell = {"state_cell": mx.sym.var("c")} if mode == "lstm" else {}
        network = mx.sym.RNN(
            mx.sym.var("d"), mx.sym.var("p"), mx.sym.var("s"), state_size=3, num_layers=layers, mode=mode,
            bidirectional=both, **cell,
        )  # fmt: skip
        shapes = dict(zip(network.list_arguments(), network.infer_shape(d=(2, 2, 5))[0]))
        parts, values = Numbered(), mx.nd.zeros(shapes["p"])
        made = mx.init.FusedRNN(parts, 3, layers, mode, both, forget_bias=0.5)
        made._init_weight(mx.init.InitDesc("p_weight"), values)
        dumps = mx.init.FusedRNN(None, 3, layers, mode, both, forget_bias=0.5).dumps()
        rows.append(
            {
                "name": mode, "layers": layers, "both": both, "parts": parts.parts, "dumps": dumps,
                "values": values.asnumpy().tolist(),
            }
        )  # fmt: skip
    return rows


def monitored() -> list[dict[str, Any]]:
    """Watch one training step: names and statistics, in MXNet's order."""
    data = mx.sym.var("data")
    body = mx.sym.FullyConnected(data, num_hidden=3, name="fc")
    body = mx.sym.Activation(mx.sym.BatchNorm(body, name="bn"), act_type="tanh", name="act")
    body = mx.sym.FullyConnected(body, num_hidden=2, no_bias=True, name="last")
    network = mx.sym.LogisticRegressionOutput(body, name="out")
    rows = []
    for settings in ({}, {"pattern": ".*weight"}, {"sort": True}, {"pattern": "fc|bn_b"}):
        exe = network.simple_bind(mx.cpu(), data=(4, 5))
        for i, array in enumerate(exe.arg_arrays):
            array[:] = np.cos(np.arange(array.size) * (i + 1)).reshape(array.shape)
        monitor = mx.mon.Monitor(2, **settings)
        monitor.install(exe)
        batches = []
        for _ in range(3):
            monitor.tic()
            exe.forward(is_train=True)
            exe.backward()
            batches.append(monitor.toc())
        rows.append({"name": settings.get("pattern", "all"), "settings": settings, "batches": batches})
    return rows


def main() -> None:
    """Make the tables."""
    DATA.mkdir(parents=True, exist_ok=True)
    tables = {
        "origin": origin(),
        "updates": UPDATES,
        "schedulers": schedulers(),
        "metrics": metrics(),
        "iterators": iterators(),
        "initializers": initializers(),
        "fused": fused(),
        "monitored": monitored(),
        "callbacks": reports.lines_of_callbacks(mx),
        "functions": reports.metrics_of_functions(mx),
    }
    (DATA / "tables.json").write_text(json.dumps(tables) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
