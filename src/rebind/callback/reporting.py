"""Callbacks that log figures."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import ClassVar

from ..checks import check_numbers, refuses_unknown
from ..logs import log
from ..protocols import Metric
from .hooks import OnBatchEnd, OnEvalEnd
from .records import BatchEndParam, begin_window, check_positive
from .shared import SharedRun, run_of

__all__ = ["LogValidationMetricsCallback", "ProgressBar", "Speedometer", "log_train_metric"]


class _BatchEndFunction(OnBatchEnd):
    """A function for the end of a batch; a member of `callbacks` too."""

    def __init__(self, function: Callable[[BatchEndParam], None], frequent: int) -> None:
        self.function = function
        #: After how many batches it shows figures; by this, workers know when to add theirs up.
        self.frequent = frequent
        self.__qualname__ = "log_train_metric"  # for messages

    def __call__(self, param: BatchEndParam) -> None:
        """Call the function."""
        self.function(param)


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[BatchEndParam], None]:
    """Return a batch callback that logs the training metric every `period` batches.

    Parameters
    ----------
    period
        Batches from one line to the next.
    auto_reset
        Whether to start a new local window of the metric after each line.

    Examples
    --------
    >>> callback = log_train_metric(period=50)  # fit(..., batch_end_callback=callback)
    """
    check_positive(period, "log_train_metric: period")

    def log_metric(param: BatchEndParam) -> None:
        if param.nbatch % period == 0 and param.eval_metric is not None:
            run = run_of(param)
            for name, value in run.figures(callback, param.eval_metric):
                if run.speaks:
                    log().info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
            if auto_reset:
                begin_window(param.eval_metric)

    callback = _BatchEndFunction(log_metric, period)
    return callback


class Speedometer(OnBatchEnd):
    """Batch callback that logs the speed, and the metric, every `frequent` batches.

    Over several workers, worker 0 logs the speed and the metric of all; the others are quiet.

    Parameters
    ----------
    batch_size
        Samples in a batch, of one worker.
    frequent
        Batches from one line to the next.
    auto_reset
        Whether the metric in a line is that of the batches since the last line; otherwise since the epoch began.
        The metric of the whole epoch is right either way.

    Examples
    --------
    >>> callback = Speedometer(batch_size=64, frequent=10)  # fit(..., batch_end_callback=callback)
    """

    #: The arguments of `fit` that take it.
    slots: ClassVar[tuple[str, ...]] = ("batch_end_callback", "eval_batch_end_callback")

    @refuses_unknown
    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True) -> None:
        check_positive(frequent, "Speedometer: frequent")
        # Not more: MXNet's is called with a record where the class itself is given as a callback.
        check_numbers("Speedometer", batch_size=batch_size)
        self.batch_size = batch_size
        self.frequent = frequent
        self.init = False
        self.tic = 0.0
        self.last_count = 0
        self.auto_reset = auto_reset

    def __call__(self, param: BatchEndParam) -> None:
        """Take the record of a batch."""
        count = param.nbatch
        if self.last_count > count:  # a new epoch
            self.init = False
        self.last_count = count
        if not self.init:  # the first batch starts the clock, so that warming up is not counted
            self.init = True
            self.tic = time.perf_counter()
        elif count % self.frequent == 0:
            self._log(run_of(param), param.epoch, count, param.eval_metric)
            self.tic = time.perf_counter()

    def _log(self, run: SharedRun, epoch: int, count: int, metric: Metric | None) -> None:
        workers = run.pace(self)
        if metric is None:
            if run.speaks:
                log().info("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", epoch, count, self._speed(workers))
            return
        # Read before the clock: the value waits for the device, and so belongs to the time of these batches.
        pairs = run.figures(self, metric)
        first = count - self.frequent if self.auto_reset else 0
        if self.auto_reset:
            begin_window(metric)
        if not run.speaks:
            return
        # MXNet's line, tabs included: there are scripts that parse it.
        log().info(
            "Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec" + "\t%s=%f" * len(pairs),
            epoch,
            first,
            count,
            self._speed(workers),
            *(each for pair in pairs for each in pair),
        )

    def _speed(self, workers: int) -> float:
        seconds = time.perf_counter() - self.tic
        return self.frequent * self.batch_size * workers / seconds if seconds > 0 else math.inf


class ProgressBar(OnBatchEnd):
    """Batch callback that logs a progress bar.

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

    #: The arguments of `fit` that take it.
    slots: ClassVar[tuple[str, ...]] = ("batch_end_callback", "eval_batch_end_callback")

    @refuses_unknown
    def __init__(self, total: int, length: int = 80) -> None:
        check_positive(total, "ProgressBar: total")
        check_positive(length, "ProgressBar: length")
        self.bar_len = length
        self.total = total

    def __call__(self, param: BatchEndParam) -> None:
        """Take the record of a batch."""
        if not run_of(param).speaks:
            return
        done = param.nbatch / self.total
        filled = round(self.bar_len * done)
        bar = "=" * filled + "-" * (self.bar_len - filled)
        log().info("[%s] %s%s\r", bar, math.ceil(100 * done), "%")


class LogValidationMetricsCallback(OnEvalEnd):
    """Callback after an evaluation that logs its metrics.

    >>> LogValidationMetricsCallback()(BatchEndParam(0, 9, eval_metric=None, locals=None))
    """

    def __call__(self, param: BatchEndParam) -> None:
        """Take the record of the evaluation."""
        if param.eval_metric is not None and run_of(param).speaks:
            for name, value in param.eval_metric.get_name_value():
                log().info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)
