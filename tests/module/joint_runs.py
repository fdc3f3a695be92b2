"""What the tests of training over workers run in each: real processes find these functions by their names."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import rebind as mx

WIDTH = 3
BATCH = 2
RATE = 0.1
SETTINGS: dict[str, Any] = {
    "eval_metric": "mse",
    "optimizer_params": {"learning_rate": RATE, "momentum": 0.5},
    "kvstore": "dist_sync",
}


def samples(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return samples and their labels, of which there is a linear relation but for some noise."""
    random = np.random.RandomState(seed)
    x = random.randn(count, WIDTH).astype("float32")
    return x, (x.sum(1, keepdims=True) + random.randn(count, 1) / 4).astype("float32")


def linear() -> mx.sym.Symbol:
    """Return the network of a linear regression."""
    scores = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="fc")
    return mx.sym.LinearRegressionOutput(scores, mx.sym.var("label"), name="lro")


def batches(x: np.ndarray, y: np.ndarray, size: int = BATCH) -> mx.io.NDArrayIter:
    """Return an iterator over the samples."""
    return mx.io.NDArrayIter(x, y, size, label_name="label")


class Batches:
    """An iterator over given batches, which may be of several buckets."""

    def __init__(self, given: Sequence[mx.io.DataBatch]) -> None:
        self.given = list(given)
        self.provide_data, self.provide_label = given[0].provide_data, given[0].provide_label

    def __iter__(self) -> Iterator[mx.io.DataBatch]:
        return iter(self.given)


class PreparedParameters(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []
        logging.root.addHandler(self)
        logging.root.setLevel(logging.INFO)

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())

    def about(self, word: str) -> list[str]:
        """Return the lines with a word."""
        return [line for line in self.lines if word in line]


def own_samples(counts: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return this worker's samples, of which each has another number."""
    rank = mx.kv.create("dist_sync").rank
    x, y = samples(sum(counts))
    part = slice(sum(counts[:rank]), sum(counts[: rank + 1]))
    return x[part], y[part]


def fit_uneven(counts: list[int], accumulate: int) -> dict[str, Any]:
    """Train on parts of several lengths."""
    kept, seen = PreparedParameters(), []
    x, y = own_samples(counts)
    data = batches(x, y) if len(x) else Batches([])
    module = mx.mod.Module(linear(), label_names=["label"])
    history = module.fit(
        data,
        num_epoch=2,
        initializer=mx.init.Zero(),
        accumulate=accumulate,
        batch_end_callback=[
            lambda record: seen.append((record.epoch, record.nbatch, record.locals["data_batch"] is None)),
            mx.callback.Speedometer(BATCH, frequent=2, auto_reset=False),
        ],
        **SETTINGS,
    )
    return {
        "history": history,
        "weight": module.get_params()[0]["fc_weight"].asnumpy(),
        "seen": seen,
        "lines": kept.lines,
    }


# Figures.


class Largest(mx.metric.EvalMetric):
    """A metric with an attribute of its own, of which nothing is known."""

    def __init__(self) -> None:
        super().__init__("largest")

    def reset(self) -> None:
        super().reset()
        self.found = 0.0

    def update(self, labels: Any, preds: Any) -> None:
        self.found = max(self.found, float(labels[0].asnumpy().max()))
        self.sum_metric, self.num_inst = self.found, 1


class Fixed(mx.metric.EvalMetric):
    """A metric of MXNet's kind: it sums in `update`, and has a setting of its own."""

    def __init__(self) -> None:
        self.factor = 2
        super().__init__("twice the rank")

    def update(self, labels: Any, preds: Any) -> None:
        self.sum_metric += self.factor * mx.kv.create("dist_sync").rank
        self.num_inst += 1


def metrics_of_all() -> list[tuple[list[tuple[str, float]], list[str]]]:
    """Measure other values on each worker with many metrics, and return their totals."""
    from rebind.distributed import current_job
    from rebind.module.shared_metrics import SharedMetrics

    rank = mx.kv.create("dist_sync").rank
    labels, scores = classified(rank)
    found = []
    for metric in [*map(mx.metric.create, METRICS), Largest(), Fixed()]:
        shared = SharedMetrics(current_job())
        shared.begin(metric)
        for part in (slice(0, 3), slice(3, 8)):
            metric.reset_local()
            metric.update([mx.nd.array(labels[part])], [mx.nd.array(scores[part])])
        own = metric.get_global_name_value()
        with shared.total(metric, "a test") as apart:
            found.append((metric.get_global_name_value(), list(apart)))
        assert str(metric.get_global_name_value()) == str(own)  # they are this worker's again
    return found


#: Metrics whose value for all is that of all samples.
METRICS: list[Any] = [
    "acc",
    ["ce", "nll_loss"],
    {"metric": "TopKAccuracy", "top_k": 2},
    {"metric": "F1", "average": "micro"},
    {"metric": "MCC", "average": "micro"},
    "pcc",
    {"metric": "Perplexity", "ignore_label": None},
]


def classified(rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and scores of eight samples; a worker's own."""
    random = np.random.RandomState(rank)
    scores = random.rand(8, 2).astype("float32")
    return random.randint(0, 2, 8).astype("float32"), scores / scores.sum(1, keepdims=True)


def fit_with_reports(everywhere: bool) -> list[str]:
    """Train with callbacks that report, on each worker or on the first, and return what is logged."""
    rank = mx.kv.create("dist_sync").rank
    kept = PreparedParameters()
    x, y = own_samples([8, 8])
    reports = [mx.callback.Speedometer(BATCH, frequent=1), mx.callback.log_train_metric(2)]
    module = mx.mod.Module(linear(), label_names=["label"])
    module.fit(
        batches(x, y),
        eval_data=batches(x, y) if everywhere or rank == 0 else None,
        num_epoch=1,
        initializer=mx.init.Zero(),
        batch_end_callback=reports if everywhere or rank == 0 else None,
        eval_end_callback=mx.callback.LogValidationMetricsCallback() if everywhere or rank == 0 else None,
        **{**SETTINGS, "optimizer_params": {"learning_rate": 0.0}},
    )
    logging.info("the end")
    return kept.lines


# Ending together.


class StopAt(mx.callback.Callback):
    """Ends the run on one worker only."""

    def __init__(self, hook: str, epoch: int, batch: int = -1) -> None:
        self.at = hook, epoch, batch
        self.calls: list[tuple[str, int, int]] = []
        self.rank = mx.kv.create("dist_sync").rank

    def _see(self, *seen: Any) -> None:
        self.calls.append(seen)
        if seen == self.at and self.rank == 1:
            raise mx.callback.StopTraining("That is enough.")

    def on_batch_end(self, param: Any) -> None:
        self._see("on_batch_end", param.epoch, param.nbatch)

    def on_eval_batch_end(self, param: Any) -> None:
        self._see("on_eval_batch_end", param.epoch, param.nbatch)

    def on_eval_end(self, param: Any) -> None:
        self._see("on_eval_end", param.epoch, -1)

    def on_epoch_end(self, record: Any) -> None:
        self._see("on_epoch_end", record.epoch, -1)


def stop_on_one(stops: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Train several times, and end each run by a callback of worker 1; return where each worker was then."""
    found = []
    x, y = own_samples([8, 6])
    for stop in stops:
        kept, stopping = PreparedParameters(), StopAt(*stop)
        module = mx.mod.Module(linear(), label_names=["label"])
        history = module.fit(
            batches(x, y),
            eval_data=batches(x, y),
            num_epoch=3,
            initializer=mx.init.Zero(),
            callbacks=[stopping],
            batch_end_callback=[lambda record: None, mx.callback.Speedometer(BATCH, frequent=1)],
            **SETTINGS,
        )
        steps = [call for call in stopping.calls if call[0] == "on_batch_end"]
        found.append(
            (len(steps), history, kept.about("ends early"), module.get_params()[0]["fc_weight"].asnumpy())
        )
    return found


def stop_by_figures() -> tuple[list[float], float]:
    """Train until the validation of all no longer improves, and return its figures and the learning rate."""
    rank = mx.kv.create("dist_sync").rank
    x, y = own_samples([8, 8])
    # On its own, worker 1's validation would improve for ever, and worker 0's never.
    noise = (mx.nd.zeros((8, 1)), mx.nd.ones((8, 1)))[rank].asnumpy() * 100 * (1 - rank) + y
    module = mx.mod.Module(linear(), label_names=["label"])
    history = module.fit(
        batches(x, y),
        eval_data=batches(x, noise),
        num_epoch=12,
        initializer=mx.init.Zero(),
        eval_end_callback=mx.callback.EarlyStopping(patience=2, min_delta=0.01),
        callbacks=[mx.callback.ReduceLROnPlateau(patience=1, min_delta=0.01)],
        **SETTINGS,
    )
    return history["validation"]["mse"], module.optimizers()[0].learning_rate


# Files.


def write_files(folder: str) -> list[str]:
    """Train with callbacks that write files, at the same paths on all workers and at others; return who writes."""
    rank = mx.kv.create("dist_sync").rank
    x, y = own_samples([8, 8])
    module = mx.mod.Module(linear(), label_names=["label"])
    before = set(os.listdir(folder))
    written = Written(folder)
    module.fit(
        batches(x, y),
        eval_data=batches(x, y),
        num_epoch=2,
        epoch_end_callback=[
            mx.callback.do_checkpoint(f"{folder}/same"),
            mx.callback.do_checkpoint(f"{folder}/own-{rank}"),
            mx.callback.module_checkpoint(module, f"{folder}/module"),
        ],
        eval_end_callback=mx.callback.BestCheckpoint(f"{folder}/best"),
        callbacks=[
            mx.callback.CSVLogger(f"{folder}/log.csv"),
            mx.callback.JSONLogger(f"{folder}/{rank}.jsonl"),
            mx.callback.do_checkpoint(f"{folder}/member", period=2),
        ],
        **SETTINGS,
    )
    assert not before
    return sorted(written.names)


class Written:
    """Sees which files this process writes."""

    def __init__(self, folder: str) -> None:
        self.names: set[str] = set()

        def see(event: str, arguments: tuple[Any, ...]) -> None:
            if event == "open" and isinstance(arguments[0], str) and arguments[0].startswith(folder):
                if "r" not in str(arguments[1] or "r"):
                    self.names.add(os.path.basename(arguments[0]))
            elif event == "os.rename" and str(arguments[1]).startswith(folder):
                self.names.add(os.path.basename(arguments[1]))

        sys.addaudithook(see)


# Kinds of modules.


def bucket(length: int) -> tuple[mx.sym.Symbol, list[str], list[str]]:
    """Return the network of a bucket; that of the length 2 lacks a parameter."""
    data = mx.sym.sum(mx.sym.var("data"), axis=1, keepdims=True)
    hidden = mx.sym.FullyConnected(data, num_hidden=4, name="one")
    if length > 2:
        hidden = mx.sym.broadcast_mul(hidden, mx.sym.var("factor_weight", shape=(1, 4)))
    scores = mx.sym.FullyConnected(mx.sym.tanh(hidden), num_hidden=1, name="two")
    return mx.sym.LinearRegressionOutput(scores, mx.sym.var("label"), name="lro"), ["data"], ["label"]


def bucketed(steps: int, workers: int) -> list[list[mx.io.DataBatch]]:
    """Return for each step a batch for each worker, of different buckets."""
    random = np.random.RandomState(7)
    lengths = [[2, 5], [5, 2], [2, 2], [3, 5], [2, 3]]
    found = []
    for step in range(steps):
        row = []
        for rank in range(workers):
            length = lengths[step % 5][rank % 2]
            x, y = random.randn(BATCH, length).astype("float32"), random.randn(BATCH, 1).astype("float32")
            row.append(
                mx.io.DataBatch(
                    [mx.nd.array(x)],
                    [mx.nd.array(y)],
                    bucket_key=length,
                    provide_data=[mx.io.DataDesc("data", (BATCH, length))],
                    provide_label=[mx.io.DataDesc("label", (BATCH, 1))],
                )
            )
        found.append(row)
    return found


def plain(steps: int, workers: int) -> list[list[mx.io.DataBatch]]:
    """Return for each step a batch for each worker."""
    x, y = samples(steps * workers * BATCH)
    rows = [
        mx.io.DataBatch(
            [mx.nd.array(x[i : i + BATCH])],
            [mx.nd.array(y[i : i + BATCH])],
            provide_data=[mx.io.DataDesc("data", (BATCH, WIDTH))],
            provide_label=[mx.io.DataDesc("label", (BATCH, 1))],
        )
        for i in range(0, len(x), BATCH)
    ]
    return [rows[i : i + workers] for i in range(0, len(rows), workers)]


def normalized() -> mx.sym.Symbol:
    """Return a network with auxiliary states."""
    hidden = mx.sym.BatchNorm(mx.sym.var("data"), fix_gamma=False, name="bn")
    scores = mx.sym.FullyConnected(hidden, num_hidden=1, name="fc")
    return mx.sym.LinearRegressionOutput(scores, mx.sym.var("label"), name="lro")


def chain(*, loss_in_python: bool) -> mx.mod.SequentialModule:
    """Return a chain of modules."""
    first = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="one")
    second = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="two")
    made = mx.mod.SequentialModule()
    made.add(mx.mod.Module(first, label_names=None))
    if loss_in_python:
        made.add(mx.mod.Module(second, label_names=None), auto_wiring=True)
        return made.add(
            mx.mod.PythonLossModule(
                data_names=["two_output"],
                label_names=["label"],
                grad_func=lambda scores, labels: scores - labels,
            ),
            auto_wiring=True,
            take_labels=True,
        )
    second = mx.sym.LinearRegressionOutput(second, mx.sym.var("label"), name="lro")
    return made.add(mx.mod.Module(second, label_names=["label"]), auto_wiring=True, take_labels=True)


KINDS: dict[str, tuple[Any, Any]] = {
    "Module": (lambda: mx.mod.Module(linear(), label_names=["label"]), plain),
    "Module on two devices": (
        lambda: mx.mod.Module(linear(), label_names=["label"], context=[mx.cpu(0), mx.cpu(1)]),
        plain,
    ),
    "Module with auxiliary states": (lambda: mx.mod.Module(normalized(), label_names=["label"]), plain),
    "BucketingModule": (lambda: mx.mod.BucketingModule(bucket, default_bucket_key=5), bucketed),
    "SequentialModule": (lambda: chain(loss_in_python=False), plain),
    "SequentialModule with a loss in Python": (lambda: chain(loss_in_python=True), plain),
}


def fit_kind(kind: str, workers: int, accumulate: int, rank: int | None, steps: int = 12) -> dict[str, Any]:
    """Train a kind of module: as a worker, or alone by as many batches for each update as all workers have."""
    make, source = KINDS[kind]
    rows = source(steps, workers)
    given = [batch for row in rows for batch in row] if rank is None else [row[rank] for row in rows]
    mx.random.seed(0 if rank is None else rank)  # the store gives all the weights of worker 0
    module = make()
    # All lengths have their place in the default bucket's shape.
    data = Batches(given)
    data.provide_data = [mx.io.DataDesc("data", (BATCH, 5 if source is bucketed else WIDTH))]
    history = module.fit(
        data,
        num_epoch=2,
        initializer=mx.init.Normal(0.5),
        accumulate=accumulate * (workers if rank is None else 1),
        **{**SETTINGS, "kvstore": "local" if rank is None else "dist_sync"},
    )
    args, aux = module.get_params()
    return {
        "rescale": [optimizer.rescale_grad for optimizer in module.optimizers()],
        "args": {name: value.asnumpy() for name, value in args.items()},
        "aux": {name: value.asnumpy() for name, value in aux.items()},
        "history": history["train"]["mse"],
    }


def fit_kinds(kinds: list[str], accumulate: int) -> list[dict[str, Any]]:
    """Train each kind as a worker."""
    store = mx.kv.create("dist_sync")
    return [fit_kind(kind, store.num_workers, accumulate, store.rank) for kind in kinds]


# FeedForward, and data that are cut by rank.


def fit_feedforward() -> tuple[np.ndarray, list[str]]:
    """Train a FeedForward on this worker's half."""
    kept = PreparedParameters()
    rank = mx.kv.create("dist_sync").rank
    x, y = samples(24)
    model = mx.model.FeedForward(
        linear(), num_epoch=2, numpy_batch_size=BATCH, learning_rate=RATE, initializer=mx.init.Zero()
    )
    rows = [i for i in range(24) if i // BATCH % 2 == rank]
    data = mx.io.NDArrayIter(x[rows], y[rows], BATCH, label_name="label")
    model.fit(
        data,
        eval_metric="mse",
        kvstore="dist_sync",
        batch_end_callback=mx.callback.Speedometer(BATCH, frequent=2),
    )
    return model.arg_params["fc_weight"].asnumpy(), kept.about("Speed")


def squares_metric() -> mx.metric.EvalMetric:
    """Return a metric of all samples; that of batches would weigh a short last one like the others."""
    return mx.metric.np(
        lambda label, pred: (((label.ravel() - pred.ravel()) ** 2).sum(), label.size), name="squares"
    )


def read_parts(path: str, lines_of_file: int) -> dict[str, Any]:
    """Read a file without naming a part of it, train on it, and score with it."""
    kept = PreparedParameters()
    store = mx.kv.create("dist_sync")
    data, whole = (
        mx.io.LibSVMIter(
            data_libsvm=path,
            data_shape=(WIDTH,),
            batch_size=BATCH,
            round_batch=False,
            label_name="label",
            **part,
        )
        for part in ({}, {"num_parts": 1})
    )
    read = [round(float(batch.data[0].asnumpy()[i, 0])) for batch in data for i in range(BATCH - batch.pad)]
    by_hand = mx.io.NDArrayIter(*samples(lines_of_file), BATCH, label_name="label")
    module = mx.mod.Module(linear(), label_names=["label"])
    data.reset()
    module.fit(
        data,
        num_epoch=1,
        initializer=mx.init.Zero(),
        **{**SETTINGS, "optimizer_params": {"learning_rate": 0.0}},
    )
    resized = mx.io.ResizeIter(data, 2)
    return {
        "read": read,
        "parts": [(each.part_index, each.num_parts) for each in (data, whole, by_hand)],
        "said": kept.about("reads part"),
        "scores": [
            dict(module.score(each, [squares_metric(), Counts()])) for each in (data, whole, by_hand, resized)
        ],
        "alone": dict(module.score(data, Counts(), together=False)),
        "predicted": len(module.predict(data).asnumpy()),
        "of_one": module.score(whole, "mse") if store.rank == 0 else None,
    }


class Counts(mx.metric.EvalMetric):
    """Counts samples: its value is their number."""

    def __init__(self) -> None:
        super().__init__("counts")

    def update(self, labels: Any, preds: Any) -> None:
        self.sum_metric += labels[0].shape[0]

    def get(self) -> tuple[str, float]:
        return self.name, self.sum_metric


# What workers must have in common, and what they end up with.


def overflow_on_one() -> list[Any]:
    """Train with scaled losses; worker 1's gradients overflow once. Return the scale and the weights."""
    rank = mx.kv.create("dist_sync").rank
    x, y = own_samples([8, 8])
    if rank == 1:
        y[2] = np.inf
    module = mx.mod.Module(linear(), label_names=["label"])
    module.bind([("data", (BATCH, WIDTH))], [("label", (BATCH, 1))])
    module.init_params(mx.init.Zero())
    module.init_optimizer("dist_sync", "sgd", {"learning_rate": RATE})
    scaler = mx.contrib.amp.LossScaler(init_scale=8)
    module.use_loss_scaler(scaler)
    module.fit(batches(x, y), num_epoch=1, eval_metric="mse", kvstore="dist_sync")
    return [scaler.loss_scale, scaler.skipped, module.get_params()[0]["fc_weight"].asnumpy().tolist()]


def statistics() -> tuple[list[np.ndarray], np.ndarray, str]:
    """Train with a batch norm and a bar; return its mean as each worker has it last, the common one, and the bar."""
    rank = mx.kv.create("dist_sync").rank
    x, y = own_samples([8, 8])
    module, last = mx.mod.Module(normalized(), label_names=["label"]), []
    terminal = io.StringIO()
    with contextlib.redirect_stderr(terminal):
        module.fit(
            batches(x + rank, y),
            num_epoch=1,
            progress=True,
            batch_end_callback=lambda record: last.append(module.get_params()[1]["bn_moving_mean"].asnumpy()),
            **SETTINGS,
        )
    return last[-1], module.get_params()[1]["bn_moving_mean"].asnumpy(), terminal.getvalue()


def differ(setting: str) -> None:
    """Train with another setting on each worker."""
    rank = mx.kv.create("dist_sync").rank
    x, y = own_samples([8, 8])
    module = mx.mod.Module(linear(), label_names=["label"])
    module.fit(
        batches(x, y),
        **{
            **SETTINGS,
            "num_epoch": 2,
            setting: 1 + rank if setting != "eval_metric" else ["mse", "mae"][rank],
        },
    )


def fail_on_one() -> None:
    """Meet an error in the data of one worker."""
    rank = mx.kv.create("dist_sync").rank

    class Broken(Batches):
        def __iter__(self) -> Iterator[mx.io.DataBatch]:
            yield self.given[0]
            if rank == 1:
                raise OSError("no such record")
            yield from self.given[1:]

    module = mx.mod.Module(linear(), label_names=["label"])
    module.fit(Broken([row[rank] for row in plain(4, 2)]), num_epoch=2, **SETTINGS)
