"""What callbacks are given, and what they may raise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, cast

from ..checks import NUMBER, check_kind, check_numbers
from ..errors import ParameterError
from ..optimizer import Optimizer
from ..protocols import ArrayDict, Metric
from ..symbol import Symbol

__all__ = [
    "BatchEndParam",
    "EpochEnd",
    "StopTraining",
    "TrainedModule",
    "begin_window",
    "check_positive",
    "module_of",
]


class BatchEndParam(NamedTuple):
    """The argument of a batch callback.

    `locals` is a small mapping with the names that MXNet's scripts read: ``self``, ``data_batch``, ``eval_metric``,
    ``epoch``, ``nbatch``.

    >>> BatchEndParam(epoch=0, nbatch=3, eval_metric=None, locals=None).nbatch
    3
    """

    epoch: int
    nbatch: int
    eval_metric: Any  # a metric, or None: callbacks call `get`, and what their own metrics have besides
    locals: Mapping[str, Any] | None  # what `fit` is working on; each name has a type of its own


class StopTraining(Exception):
    """Raised by a callback to end `fit`, which then returns the history so far.

    >>> def stop(record):
    ...     if record.nbatch == 100:
    ...         raise StopTraining("100 batches are enough.")
    """


class TrainedModule(Protocol):
    """The module of a record, as far as callbacks need it."""

    @property
    def symbol(self) -> Symbol | None:
        """The network."""

    def get_params(self) -> tuple[ArrayDict, ArrayDict]:
        """Return copies of parameters and auxiliary states."""

    def trained_params(self) -> ArrayDict:
        """Return the parameters that training changes; not copies."""

    def trained_gradients(self) -> ArrayDict:
        """Return the last batch's gradients of those parameters, summed over the devices."""

    def optimizers(self) -> list[Optimizer]:
        """Return the optimizers in use."""


class EpochEnd(Protocol):
    """A callback for the end of an epoch."""

    def __call__(
        self, epoch: int, symbol: Symbol | None, arg_params: ArrayDict, aux_params: ArrayDict, /
    ) -> object:
        """Take the epoch's number, the network and copies of its parameters."""


def module_of(param: BatchEndParam) -> TrainedModule:
    """Return the module that a record comes from.

    >>> import rebind as mx
    >>> module = mx.mod.PythonLossModule()
    >>> module_of(module.batch_record(epoch=0, nbatch=3, metric=None, batch=None)) is module
    True
    """
    assert param.locals is not None  # `fit` gives them
    return cast(TrainedModule, param.locals["self"])


def begin_window(metric: Metric) -> None:
    """Start a new local window of a metric; the figures of the whole epoch stay.

    >>> import rebind as mx
    >>> metric = mx.metric.Loss()
    >>> metric.update(None, [mx.nd.array([2, 4])])
    >>> begin_window(metric)
    >>> metric.update(None, [mx.nd.array([9])])
    >>> metric.get_name_value(), metric.get_global_name_value()
    ([('loss', 9.0)], [('loss', 5.0)])
    """
    # A metric that is no EvalMetric of ours may have only the older of the two methods.
    getattr(metric, "reset_local", metric.reset)()


def check_positive(value: int, who: str) -> None:
    """Raise an error unless a setting is positive.

    >>> check_positive(0, "Speedometer: frequent")
    Traceback (most recent call last):
    rebind.errors.ParameterError: Speedometer: frequent must be >= 1; got 0
    """
    owner, _, name = who.rpartition(": ")
    check_numbers(owner, **{name: value})
    check_kind(owner, NUMBER, **{name: value})
    if value < 1:
        raise ParameterError(f"{who} must be >= 1; got {value}")
