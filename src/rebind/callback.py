"""What `fit` can call after each batch and each epoch.

Batch callbacks take a record with `epoch`, `nbatch`, `eval_metric` and `locals`; epoch callbacks take
``(epoch, symbol, arg_params, aux_params)``.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, TypedDict, cast

import torch

from .checkpoint import save_checkpoint
from .errors import ArgumentError, ParameterError
from .ndarray import NDArray
from .protocols import ArrayDict, Metric, StateTree
from .symbol import Symbol

__all__ = [
    "BatchCallback",
    "BatchEndParam",
    "BestCheckpoint",
    "EarlyStopping",
    "EpochCallback",
    "ExponentialMovingAverage",
    "LogValidationMetricsCallback",
    "ProgressBar",
    "Speedometer",
    "StopTraining",
    "do_checkpoint",
    "log_train_metric",
    "module_checkpoint",
]


class BatchEndParam(NamedTuple):
    """What a batch callback is given.

    `locals` is a small mapping with the names that MXNet's scripts read: ``self``, ``data_batch``, ``eval_metric``,
    ``epoch``, ``nbatch``.

    >>> BatchEndParam(epoch=0, nbatch=3, eval_metric=None, locals=None).nbatch
    3
    """

    epoch: int
    nbatch: int
    eval_metric: Metric | None
    locals: Mapping[str, Any] | None  # whatever `fit` is working on: its types are those of the names


class StopTraining(Exception):
    """Raised by a callback to end `fit`, which then returns the history so far.

    >>> def stop(record):
    ...     if record.nbatch == 100:
    ...         raise StopTraining("100 batches are enough.")
    """


class SavesCheckpoints(Protocol):
    """A module that can be saved."""

    def save_checkpoint(self, prefix: str, epoch: int, *, save_optimizer_states: bool = False) -> None:
        """Write the network, the parameters and, if asked, the optimizer's states."""


class TrainedModule(Protocol):
    """The module of a record, as far as callbacks need it."""

    @property
    def symbol(self) -> Symbol | None:
        """The network."""

    def get_params(self) -> tuple[ArrayDict, ArrayDict]:
        """Return copies of parameters and auxiliary states."""

    def trained_params(self) -> ArrayDict:
        """Return the parameters that training changes; not copies."""


class EpochEnd(Protocol):
    """What is called after an epoch."""

    def __call__(
        self, epoch: int, symbol: Symbol | None, arg_params: ArrayDict, aux_params: ArrayDict, /
    ) -> object:
        """Take the epoch's number, the network and copies of its parameters."""


def do_checkpoint(prefix: str, period: int = 1) -> EpochEnd:
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

    def save(epoch: int, symbol: Symbol | None, arg_params: ArrayDict, aux_params: ArrayDict) -> None:
        if (epoch + 1) % period == 0:
            save_checkpoint(prefix, epoch + 1, symbol, arg_params, aux_params)

    return save


def module_checkpoint(
    mod: SavesCheckpoints, prefix: str, period: int = 1, save_optimizer_states: bool = False
) -> EpochEnd:
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

    Examples
    --------
    >>> callback = module_checkpoint(None, "mymodel", period=10)  # fit(..., epoch_end_callback=callback)
    >>> callback(0, None, {}, {})  # not yet
    """
    period = max(1, int(period))

    def save(
        epoch: int,
        symbol: Symbol | None = None,
        arg_params: ArrayDict | None = None,
        aux_params: ArrayDict | None = None,
    ) -> None:
        if (epoch + 1) % period == 0:
            mod.save_checkpoint(prefix, epoch + 1, save_optimizer_states=save_optimizer_states)

    return save


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[BatchEndParam], None]:
    """Return a batch callback that logs the training metric every `period` batches.

    Parameters
    ----------
    period
        Batches from one line to the next.
    auto_reset
        Whether to begin the metric's local window anew after each line.

    Examples
    --------
    >>> callback = log_train_metric(period=50)  # fit(..., batch_end_callback=callback)
    """
    _check_positive(period, "log_train_metric: period")

    def log(param: BatchEndParam) -> None:
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

    def __call__(self, param: BatchEndParam) -> None:
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

    def _log(self, epoch: int, count: int, metric: Metric | None) -> None:
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

    def __call__(self, param: BatchEndParam) -> None:
        """Take the record of a batch."""
        done = param.nbatch / self.total
        filled = round(self.bar_len * done)
        bar = "=" * filled + "-" * (self.bar_len - filled)
        logging.info("[%s] %s%s\r", bar, math.ceil(100 * done), "%")


class LogValidationMetricsCallback:
    """Callback after an evaluation that logs its metrics.

    >>> LogValidationMetricsCallback()(BatchEndParam(0, 9, eval_metric=None, locals=None))
    """

    def __call__(self, param: BatchEndParam) -> None:
        """Take the record of the evaluation."""
        if param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)


class _Watch:
    """Keeps the best value of a validation metric."""

    def __init__(self, monitor: str | None, mode: str, min_delta: float) -> None:
        if mode not in ("max", "min", "auto"):
            raise ParameterError(
                f"{type(self).__name__}: mode must be one of 'max', 'min', 'auto'; got {mode!r}"
            )
        self.monitor, self.mode, self.min_delta = monitor, mode, min_delta
        self.best: float | None = None
        self.best_epoch: int | None = None

    def _improves(self, param: BatchEndParam) -> bool:
        """Take the record of an evaluation; return whether it is the best so far."""
        values = {} if param.eval_metric is None else dict(param.eval_metric.get_name_value())
        if not values:
            return False
        name = next(iter(values)) if self.monitor is None else self.monitor
        if name not in values:
            raise ParameterError(
                f"{type(self).__name__}: monitor must be one of {', '.join(map(repr, values))}; got {name!r}"
            )
        value = float(values[name])
        larger = self.mode == "max" or (self.mode == "auto" and not _falls(name))
        gain = -math.inf if math.isnan(value) else math.inf
        if self.best is not None and not math.isnan(value):
            gain = value - self.best if larger else self.best - value
        if gain <= self.min_delta:
            return False
        self.best, self.best_epoch = value, param.epoch
        return True

    def state_dict(self) -> StateTree:
        """Return what was seen, for `load_state_dict`."""
        return {"best": self.best, "best_epoch": self.best_epoch}

    def load_state_dict(self, state: StateTree) -> None:
        """Continue from what `state_dict` returned."""
        for name, value in state.items():
            setattr(self, name, value)


def _falls(metric: str) -> bool:
    """Return whether a metric of this name is better when it is smaller."""
    return any(
        word in metric.lower() for word in ("loss", "error", "entropy", "mae", "mse", "likelihood", "perplex")
    )


class EarlyStopping(_Watch):
    """Ends `fit` when the validation has not become better for some epochs; give it as `eval_end_callback`.

    Parameters
    ----------
    monitor
        The validation metric to watch; by default the first.
    patience
        How many epochs in a row may be no better.
    mode
        ``'max'``: larger is better; ``'min'``: smaller is; ``'auto'`` takes 'min' for losses, errors, entropies and
        perplexities, else 'max'.
    min_delta
        By how much a value must be better to count.

    Examples
    --------
    >>> stopping = EarlyStopping(
    ...     "accuracy", patience=5
    ... )  # fit(..., eval_data=..., eval_end_callback=stopping)
    """

    def __init__(
        self, monitor: str | None = None, patience: int = 3, mode: str = "auto", min_delta: float = 0.0
    ) -> None:
        super().__init__(monitor, mode, min_delta)
        _check_positive(patience, "EarlyStopping: patience")
        self.patience = patience
        self.waited = 0

    def __call__(self, param: BatchEndParam) -> None:
        """Take the record of an evaluation."""
        if self._improves(param):
            self.waited = 0
            return
        self.waited += 1
        if self.waited >= self.patience:
            raise StopTraining(
                f"The validation was best in epoch {self.best_epoch} ({self.best:g}) and no better in the "
                f"{self.waited} since."
                if self.best is not None
                else f"The validation gave no number in {self.waited} epochs."
            )

    def state_dict(self) -> StateTree:
        """Return what was seen, for `load_state_dict`."""
        return {**super().state_dict(), "waited": self.waited}


class BestCheckpoint(_Watch):
    """Saves the network and its parameters whenever the validation is the best so far; an `eval_end_callback`.

    The files are ``prefix-symbol.json`` and ``prefix-0000.params``, each replaced when it is whole.

    Parameters
    ----------
    prefix
        Where the files go, and how their names begin.
    monitor, mode, min_delta
        As of `EarlyStopping`.
    epoch
        The number in the file's name.

    Examples
    --------
    >>> best = BestCheckpoint("digits-best", "accuracy")  # fit(..., eval_data=..., eval_end_callback=best)
    """

    def __init__(
        self,
        prefix: str,
        monitor: str | None = None,
        mode: str = "auto",
        min_delta: float = 0.0,
        epoch: int = 0,
    ) -> None:
        super().__init__(monitor, mode, min_delta)
        self.prefix, self.epoch = prefix, epoch

    def __call__(self, param: BatchEndParam) -> None:
        """Take the record of an evaluation."""
        if self._improves(param):
            module = _module_of(param)
            save_checkpoint(self.prefix, self.epoch, module.symbol, *module.get_params())


class AverageState(TypedDict):
    """What `ExponentialMovingAverage.state_dict` returns."""

    num_update: int
    params: ArrayDict


class ExponentialMovingAverage:
    """Averages the parameters over the updates; give it as `batch_end_callback`.

    ``average = decay * average + (1 - decay) * parameter`` after each batch. Auxiliary states are not averaged. With
    several devices the first one's parameters count, which are those of all.

    Parameters
    ----------
    decay
        How much of the average stays at each update, between 0 and 1.
    warm_up
        Let the average follow more closely at first, ``min(decay, (1 + n) / (10 + n))`` after n batches.

    Examples
    --------
    >>> average = ExponentialMovingAverage(0.999)  # fit(..., batch_end_callback=average)
    >>> # module.set_params(average.params, module.get_params()[1])
    """

    def __init__(self, decay: float = 0.999, warm_up: bool = False) -> None:
        if not 0 <= decay < 1:
            raise ParameterError(f"ExponentialMovingAverage: decay must be in [0, 1); got {decay}")
        self.decay, self.warm_up = decay, warm_up
        self.num_update = 0
        self.params: dict[str, NDArray] = {}

    def __call__(self, param: BatchEndParam) -> None:
        """Take the record of a batch."""
        weights = _module_of(param).trained_params()
        self.num_update += 1
        decay = self.decay
        if self.warm_up:
            decay = min(decay, (1 + self.num_update) / (10 + self.num_update))
        if not self.params:
            self.params = {name: value.copy() for name, value in weights.items()}
            return
        averages = [value.tensor for value in self.params.values()]
        with torch.no_grad():
            torch._foreach_lerp_(averages, [weights[name].tensor.detach() for name in self.params], 1 - decay)

    def state_dict(self) -> StateTree:
        """Return the average, for `load_state_dict`."""
        return {"num_update": self.num_update, "params": self.params}

    def load_state_dict(self, state: StateTree) -> None:
        """Continue from what `state_dict` returned."""
        saved = cast(AverageState, state)
        self.num_update, self.params = saved["num_update"], dict(saved["params"])


def _module_of(param: BatchEndParam) -> TrainedModule:
    assert param.locals is not None  # `fit` gives them
    return cast(TrainedModule, param.locals["self"])


def _begin_window(metric: Metric) -> None:
    # What is no EvalMetric of ours may know only the older of the two calls.
    getattr(metric, "reset_local", metric.reset)()


def _check_positive(value: int, who: str) -> None:
    if value < 1:
        raise ParameterError(f"{who} must be >= 1; got {value}")


class _StateCallback:
    def __init__(self, function: Callable[..., object]) -> None:
        if not callable(function):
            raise ArgumentError(f"{type(self).__name__}: function must be callable; got {function!r}")
        self.function = function

    def __call__(self, *arguments: object) -> object:
        """Call the function."""
        return self.function(*arguments)


class BatchCallback(_StateCallback):
    """A callback of `FeedForward.fit` that sees how far training is, at each epoch's start and after each batch.

    Parameters
    ----------
    function
        ``function(state)``; `state` has `curr_epoch` (from 1), `curr_batch` (0 at the start of the epoch),
        `curr_iter` (batches since the start of `fit`) and `batch_size`.

    Examples
    --------
    >>> callback = BatchCallback(lambda state: print(state.curr_batch))  # fit(..., callbacks=[callback])
    """


class EpochCallback(_StateCallback):
    """A callback of `FeedForward.fit` that sees the model, before the first epoch and after each one.

    Parameters
    ----------
    function
        ``function(model, state, metric)``; before the first epoch `state.curr_epoch` is 0 and `metric` is empty, later
        it is the training metric, a list of ``(name, value)``. `model.arg_params` is up to date.

    Examples
    --------
    >>> callback = EpochCallback(lambda model, state, metric: model.save_checkpoint("digits", state))
    """
