"""Training runs of FeedForward, for MXNet and for rebind: `mx` is either."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

ROWS = 22
_RANDOM = np.random.RandomState(4)
POINTS = _RANDOM.rand(ROWS, 4).astype("float32")
CLASSES = _RANDOM.randint(0, 3, ROWS).astype("float32")
NUMBERS = POINTS.sum(axis=1)


def classifier(mx: Any) -> Any:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=5, no_bias=True, name="fc1")
    net = mx.sym.BatchNorm(net, name="bn", fix_gamma=False)
    net = mx.sym.Activation(net, act_type="relu", name="relu")
    net = mx.sym.FullyConnected(net, num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def multiplied(mx: Any) -> Any:
    weight = mx.sym.var("fc_weight", lr_mult=0.3, wd_mult=2.0)
    return mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.var("data"), weight, num_hidden=3, name="fc"), name="softmax"
    )


def regression(mx: Any) -> Any:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    return mx.sym.LinearRegressionOutput(net, name="lro")


def factor(mx: Any) -> Any:
    return mx.lr_scheduler.FactorScheduler(step=3, factor=0.7, base_lr=0.2)


@dataclass(frozen=True)
class Run:
    """One model: how it is made, how it is trained."""

    network: Callable[[Any], Any]
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: Settings that are made with `mx`.
    made: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    devices: int = 1
    #: Whether it trains on an iterator; otherwise on arrays, shuffled.
    iterator: bool = False
    validation: str = ""
    metric: str = "acc"
    #: Rows that training uses; a multiple of the batch size where MXNet would else count padding in its metrics.
    rows: int = ROWS
    label_name: str = "softmax_label"
    labels: Any = field(default_factory=lambda: CLASSES)
    fit: Mapping[str, Any] = field(default_factory=dict)


RUNS = {
    "arrays": Run(classifier, {"learning_rate": 0.2, "momentum": 0.9, "wd": 0.01}),
    "arrays, validation from arrays": Run(classifier, {"learning_rate": 0.2}, validation="arrays"),
    "iterator, adam": Run(classifier, {"optimizer": "adam", "learning_rate": 0.05}, iterator=True),
    "two devices, schedule": Run(
        classifier, {"momentum": 0.5}, {"lr_scheduler": factor}, devices=2, validation="iterator"
    ),
    "multipliers, clipping": Run(
        multiplied, {"learning_rate": 0.5, "wd": 0.1, "clip_gradient": 0.1}, validation="iterator"
    ),
    "epochs of two batches": Run(
        multiplied, {"epoch_size": 2, "num_epoch": 5, "learning_rate": 0.1}, iterator=True
    ),
    "epochs of nine batches": Run(
        multiplied, {"epoch_size": 9, "begin_epoch": 1, "num_epoch": 3, "learning_rate": 0.1}, iterator=True
    ),
    "an optimizer": Run(
        multiplied, {}, {"optimizer": lambda mx: mx.optimizer.SGD(learning_rate=0.02, momentum=0.9)}
    ),
    "regression": Run(
        regression,
        {"learning_rate": 0.1},
        iterator=True,
        metric="mse",
        label_name="lro_label",
        labels=NUMBERS,
        validation="iterator",
    ),
    "another store": Run(
        classifier, {"learning_rate": 0.1}, devices=2, iterator=True, fit={"kvstore": "local_allreduce_cpu"}
    ),
}


def start(mx: Any, run: Run) -> dict[str, Any]:
    """Return first values of all parameters and auxiliary states."""
    symbol = run.network(mx)
    shapes, _, aux_shapes = symbol.infer_shape(data=(4, POINTS.shape[1]))
    random = np.random.RandomState(5)
    return {
        "arg_params": {
            name: mx.nd.array(random.uniform(-0.5, 0.5, shape).astype("float32"))
            for name, shape in zip(symbol.list_arguments(), shapes)
            if name != "data" and not name.endswith("label")
        },
        "aux_params": {
            name: mx.nd.array(random.uniform(0.5, 1, shape).astype("float32"))
            for name, shape in zip(symbol.list_auxiliary_states(), aux_shapes)
        },
    }


def iterator(mx: Any, run: Run, rows: int, batch_size: int) -> Any:
    return mx.io.NDArrayIter(POINTS[:rows], run.labels[:rows], batch_size, label_name=run.label_name)


def train(mx: Any, run: Run, settle: Callable[[], None] = lambda: None) -> tuple[Any, dict[str, Any]]:
    """Train; return the model, and what happened: order of the rows, epochs, validation."""
    seen: dict[str, Any] = {"batches": [], "epochs": [], "validation": []}
    places = {float(value): i for i, value in enumerate(POINTS[:, 0])}

    def batch_end(param: Any) -> None:
        settle()
        rows = [places[float(value)] for value in param.locals["data_batch"].data[0].asnumpy()[:, 0]]
        seen["batches"].append([param.epoch, param.nbatch, *rows])

    def epoch_end(epoch: int, symbol: Any, arg_params: Any, aux_params: Any) -> None:
        seen["epochs"].append([epoch, [float(value.asnumpy().sum()) for value in arg_params.values()]])

    def evaluated(param: Any) -> None:
        seen["validation"].append(float(param.eval_metric.get()[1]))

    eval_data: Any = None
    if run.validation == "iterator":
        eval_data = iterator(mx, run, 20, 4)
    elif run.validation == "arrays":
        eval_data = (POINTS[:20], run.labels[:20])
    np.random.seed(8)
    model = mx.model.FeedForward(
        run.network(mx),
        ctx=[mx.cpu(k) for k in range(run.devices)],
        numpy_batch_size=4,
        **{"num_epoch": 2, **run.settings},
        **{name: make(mx) for name, make in run.made.items()},
        **start(mx, run),
    )
    data = (iterator(mx, run, ROWS, 4),) if run.iterator else (POINTS, run.labels)
    model.fit(
        *data,
        eval_data=eval_data,
        eval_metric=run.metric,
        batch_end_callback=batch_end,
        epoch_end_callback=epoch_end,
        **({} if eval_data is None else {"eval_end_callback": evaluated}),
        **run.fit,
    )
    return model, seen
