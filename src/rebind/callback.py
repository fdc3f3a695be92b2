"""What `fit` can call after each batch and each epoch.

Batch callbacks take a record with `epoch`, `nbatch`, `eval_metric` and `locals`; epoch callbacks take
``(epoch, symbol, arg_params, aux_params)``.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import Any

from .checkpoint import save_checkpoint
from .errors import ParameterError

__all__ = [
    "LogValidationMetricsCallback",
    "ProgressBar",
    "Speedometer",
    "do_checkpoint",
    "log_train_metric",
    "module_checkpoint",
]


def do_checkpoint(prefix: str, period: int = 1) -> Callable[..., None]:
    """Return an epoch callback that saves a checkpoint every `period` epochs.

    Parameters
    ----------
    prefix
        Where the files go, and how their names begin.
    period
        Epochs from one checkpoint to the next.

    Examples
    --------
    >>> callback = do_checkpoint("mymodel", period=10)  # fit(..., epoch_end_callback=callback)
    """
    period = max(1, int(period))

    def save(epoch: int, symbol: Any, arg_params: Any, aux_params: Any) -> None:
        if (epoch + 1) % period == 0:
            save_checkpoint(prefix, epoch + 1, symbol, arg_params, aux_params)

    return save


def module_checkpoint(
    mod: Any, prefix: str, period: int = 1, save_optimizer_states: bool = False
) -> Callable[..., None]:
    """Return an epoch callback that saves a module every `period` epochs.

    Parameters
    ----------
    mod
        The module, which has `save_checkpoint`.
    prefix
        Where the files go, and how their names begin.
    period
        Epochs from one checkpoint to the next.
    save_optimizer_states
        Whether to save the optimizer's states too.
    """
    period = max(1, int(period))

    def save(epoch: int, symbol: Any = None, arg_params: Any = None, aux_params: Any = None) -> None:
        if (epoch + 1) % period == 0:
            mod.save_checkpoint(prefix, epoch + 1, save_optimizer_states)

    return save


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[Any], None]:
    """Return a batch callback that logs the training metric every `period` batches.

    Parameters
    ----------
    period
        Batches from one line to the next.
    auto_reset
        Whether to begin the metric's local window anew after each line.
    """
    _check_positive(period, "log_train_metric: period")

    def log(param: Any) -> None:
        if param.nbatch % period == 0 and param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
            if auto_reset:
                _begin_window(param.eval_metric)

    return log


class Speedometer:
    """Batch callback that logs the speed, and the metric, every `frequent` batches.

    Parameters
    ----------
    batch_size
        Samples in a batch.
    frequent
        Batches from one line to the next.
    auto_reset
        Whether the metric in a line is that of the batches since the last line; otherwise since the epoch began.
        The figures of the epoch stay right either way.

    Examples
    --------
    >>> callback = Speedometer(batch_size=64, frequent=10)  # fit(..., batch_end_callback=callback)
    """

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True) -> None:
        _check_positive(frequent, "Speedometer: frequent")
        self.batch_size = batch_size
        self.frequent = frequent
        self.init = False
        self.tic = 0.0
        self.last_count = 0
        self.auto_reset = auto_reset

    def __call__(self, param: Any) -> None:
        """Take the record of a batch."""
        count = param.nbatch
        if self.last_count > count:  # a new epoch
            self.init = False
        self.last_count = count
        if not self.init:
            self.init = True
            self.tic = time.perf_counter()
        elif count % self.frequent == 0:
            self._log(param.epoch, count, param.eval_metric)
            self.tic = time.perf_counter()

    def _log(self, epoch: int, count: int, metric: Any) -> None:
        if metric is None:
            logging.info("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", epoch, count, self._speed())
            return
        # Read before the clock: the value waits for the device, and so belongs to the time of these batches.
        pairs = metric.get_name_value()
        first = count - self.frequent if self.auto_reset else 0
        if self.auto_reset:
            _begin_window(metric)
        logging.info(
            "Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec" + "\t%s=%f" * len(pairs),
            epoch,
            first,
            count,
            self._speed(),
            *(each for pair in pairs for each in pair),
        )

    def _speed(self) -> float:
        seconds = time.perf_counter() - self.tic
        return self.frequent * self.batch_size / seconds if seconds > 0 else math.inf


class ProgressBar:
    """Batch callback that logs a bar.

    Parameters
    ----------
    total
        Batches in an epoch.
    length
        Characters of the bar.

    Examples
    --------
    >>> callback = ProgressBar(total=100)  # fit(..., batch_end_callback=callback)
    """

    def __init__(self, total: int, length: int = 80) -> None:
        _check_positive(total, "ProgressBar: total")
        self.bar_len = length
        self.total = total

    def __call__(self, param: Any) -> None:
        """Take the record of a batch."""
        done = param.nbatch / self.total
        filled = round(self.bar_len * done)
        bar = "=" * filled + "-" * (self.bar_len - filled)
        logging.info("[%s] %s%s\r", bar, math.ceil(100 * done), "%")


class LogValidationMetricsCallback:
    """Callback after an evaluation that logs its metrics."""

    def __call__(self, param: Any) -> None:
        """Take the record of the evaluation."""
        if param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)


def _begin_window(metric: Any) -> None:
    # What is no EvalMetric of ours may know only the older of the two calls.
    getattr(metric, "reset_local", metric.reset)()


def _check_positive(value: int, who: str) -> None:
    if value < 1:
        raise ParameterError(f"{who} must be >= 1; got {value}")
