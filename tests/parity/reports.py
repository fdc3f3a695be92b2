"""What callbacks log and what metrics made of others and of functions say; the same code for MXNet and rebind."""

from __future__ import annotations

import logging
import re
from collections import namedtuple
from typing import Any

import numpy as np

__all__ = ["lines_of_callbacks", "metrics_of_functions"]

Record = namedtuple("Record", "epoch nbatch eval_metric locals")
METRICS: list[Any] = [None, "acc", ["acc", "ce"]]


class _Keep(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(re.sub(r"Speed: \S+", "Speed: S", record.getMessage()))


def batch(mx: Any, number: int) -> tuple[list[Any], list[Any]]:
    """Return labels and predictions, which differ from batch to batch."""
    label = np.array([0, 1, 1, number % 2])
    return [mx.nd.array(label)], [mx.nd.array(np.eye(2)[[0, 1, 0, 1]] * 0.8 + 0.1)]


def lines_of_callbacks(mx: Any) -> list[str]:
    """Call each callback for a few batches; return what is logged, without the speeds."""
    callbacks = [
        mx.callback.Speedometer(4, frequent=2),
        mx.callback.Speedometer(4, frequent=3, auto_reset=False),
        mx.callback.Speedometer(4, frequent=1),
        mx.callback.log_train_metric(2),
        mx.callback.log_train_metric(2, auto_reset=True),
        mx.callback.ProgressBar(3, 10),
        mx.callback.ProgressBar(7),
        mx.callback.LogValidationMetricsCallback(),
    ]
    logger, keep = logging.getLogger(), _Keep()
    level = logger.level
    logger.addHandler(keep)
    logger.setLevel(logging.INFO)
    try:
        for name in METRICS:
            for callback in callbacks:
                metric = None if name is None else mx.metric.create(name)
                for epoch in range(2):
                    if metric is not None:
                        metric.reset()
                    for number in range(7):
                        if metric is not None:
                            metric.update(*batch(mx, number))
                        callback(Record(epoch, number, metric, None))
                    if metric is not None:
                        keep.lines += [
                            f"{each}={value:.6f}" for each, value in metric.get_global_name_value()
                        ]
    finally:
        logger.removeHandler(keep)
        logger.setLevel(level)
    return keep.lines


def largest(label: np.ndarray, pred: np.ndarray) -> float:
    """Return the largest of the predictions."""
    return float(pred.max())


def right(label: np.ndarray, pred: np.ndarray) -> tuple[float, int]:
    """Return how many predictions are right, and how many there are."""
    return float((pred.argmax(1) == label).sum()), len(label)


def metrics_of_functions(mx: Any) -> list[Any]:
    """Measure three batches with metrics of functions and of other metrics, the last in a window of its own."""
    create = mx.metric.create
    made = [
        create(largest),
        create(right),
        mx.metric.np(right, name="share"),
        mx.metric.np(largest, allow_extra_outputs=True),
        mx.metric.CustomMetric(lambda label, pred: 0.5),
        mx.metric.CustomMetric(right, "own", output_names=["out"], label_names=["y"]),
        create(["acc", largest, ["ce", "f1"]]),
        mx.metric.CompositeEvalMetric(["acc", mx.metric.F1(average="micro")], name="both"),
        mx.metric.CompositeEvalMetric(["acc", "ce"], output_names=["out"], label_names=["y"]),
        create("acc", output_names=["out"], label_names=["y"]),
    ]
    rows = []
    for metric in made:
        figures = []
        for number in range(3):
            if number == 2:
                metric.reset_local()
            labels, preds = batch(mx, number)
            if metric.output_names is None:
                metric.update(labels, preds)
            else:
                others = mx.nd.zeros((4, 2))
                metric.update_dict({"x": others, "y": labels[0]}, {"more": others, "out": preds[0]})
            figures.append([metric.get_name_value(), metric.get_global_name_value()])
        rows.append([metric.name, str(metric), figures])
    return rows
