"""`Workers`: those that a call of `fit` trains with, and what they do together outside of the store."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar, cast

import torch

from .. import config
from ..callback import StopTraining
from ..distributed import JSON, Job
from ..errors import ParameterError
from ..logs import log, resolve
from ..ndarray import NDArray
from ..protocols import Logger, Metric
from .lockstep import Lockstep
from .settings import FitSettings
from .shared_metrics import SharedMetrics

__all__ = ["Workers", "stopping_together"]

T = TypeVar("T")

#: How many seconds pass from one look at the figures of all workers to the next, while a bar is shown.
_LOOK_SECONDS = 0.5


class Workers:
    """The workers of a training run, as each sees them.

    Where they do something together, all make the same calls in the same order.

    Parameters
    ----------
    job
        The workers.
    synchronous
        Whether they train in step: each update is by the gradients of all, or their weights are averaged after so many.
    lead
        How many steps a worker may be ahead of another one.

    Attributes
    ----------
    speaks
        Whether this worker shows figures.
    shares_validation
        Whether all have a validation, whose figures are then those of all.

    Examples
    --------
    >>> import rebind as mx
    >>> workers = Workers(mx.distributed.current_job(), synchronous=True)
    >>> workers.speaks, list(workers.in_step(iter(["a batch", "another one"])))
    (True, ['a batch', 'another one'])
    """

    def __init__(self, job: Job, *, synchronous: bool, lead: int = 1) -> None:
        self.job, self.synchronous = job, synchronous
        self.speaks = job.rank == 0 or _all_speak()
        self.shares_validation = False
        self.metrics = SharedMetrics(job)
        self._lockstep = Lockstep(job, lead)
        self._reporting: set[int] = set()  # callbacks that all workers have
        self._others_paths: set[str] = set()  # of files that a worker before this one writes
        self._notes: set[str] = set()
        self._in_step = False  # while a batch of `in_step` is dealt with
        self._stop: StopTraining | None = None
        self._short: list[str] = []  # which workers had no batch in some steps of the last epoch
        self._bar = False
        self._steps = self._last_look = 0
        self._look_at, self._looked = 1, 0.0  # the step of the next look; when the last was
        self._seen: list[tuple[str, float]] = []

    # Beginning.

    def agree(self, settings: FitSettings, metric: Metric, position: Sequence[int], bar: bool) -> None:
        """Check that all workers are about to train in the same way, and find out what they share.

        Parameters
        ----------
        settings
            The arguments of `fit`.
        metric
            The training metric.
        position
            Where the run begins: epoch and batch.
        bar
            Whether this worker shows a bar.
        """
        reporting = _reporting(settings)
        same: JSON = {
            "num_epoch": settings.last_epoch,
            "position (epoch, batch)": list(position),
            "accumulate": settings.accumulate,
            "eval_metric": [name for name, _ in metric.get_name_value()],
        }
        paths: list[JSON] = [os.path.realpath(path) for path in _paths(settings)]
        own: JSON = {
            "reports": [text for _, text in reporting],
            "paths": paths,
            "validation": settings.eval_data is not None,
            "bar": bar,
        }
        self.job.agree("fit", "settings", same)
        found = [cast(Mapping[str, JSON], each) for each in self.job.exchange("fit (callbacks)", own)]
        if all(each["reports"] == found[0]["reports"] for each in found):
            self._reporting = {id(callback) for callback, _ in reporting}
        self.shares_validation = all(each["validation"] for each in found)
        self._bar = bool(found[0]["bar"])
        for each in found[: self.job.rank]:
            self._others_paths.update(cast(list[str], each["paths"]))

    def all_of(self, value: bool, what: str) -> bool:
        """Return whether a condition holds on all workers."""
        return all(self.job.exchange(what, value))

    def unify(self, arrays: Sequence[Sequence[NDArray]]) -> None:
        """Give all workers the mean of arrays, such as auxiliary states; for each there is one of each device."""
        tensors = [of_devices[0].tensor.detach() for of_devices in arrays]
        if not tensors:
            return
        whole = torch.cat([tensor.reshape(-1).to("cpu", torch.float64) for tensor in tensors])
        self.job.sum(whole)
        pieces = (whole / self.job.size).split([tensor.numel() for tensor in tensors])
        for of_devices, piece in zip(arrays, pieces, strict=True):
            for array in of_devices:
                array.tensor.detach().copy_(piece.reshape(array.shape))

    # Batches.

    def in_step(self, batches: Iterable[T]) -> Iterator[T | None]:
        """Yield this worker's batches, and None for each step in which only others have one.

        So an epoch ends for all together, with the last batch of the worker that has most, and no batch is left out.
        A worker without a batch takes part in the step with gradients of zero. Of an asynchronous store's workers each
        trains by its own batches only.
        """
        if not self.synchronous:
            for batch in batches:
                yield batch
                if self._stop is not None:
                    return
            return
        self._steps, self._last_look, self._look_at = 0, 0, 1
        try:
            for each in self._lockstep.steps(iter(batches), lambda: self._stop is not None):
                self._in_step = True
                yield each
                self._in_step = False
        finally:
            self._in_step = False
        if self._lockstep.stopped:
            self.raise_together("fit, a callback")

    def stop(self, stop: StopTraining) -> None:
        """Note that a callback of this worker ends the run; the others read of it after `lead` steps."""
        self._stop = self._stop or stop

    def raise_together(self, what: str) -> None:
        """Raise StopTraining on all workers, if one is to end the run."""
        stop, self._stop = self._stop, None
        said = self.job.exchange(what, None if stop is None else str(stop))
        if stop is not None:
            raise stop
        for rank, text in enumerate(said):
            if text is not None:
                raise StopTraining(f"Worker {rank}: {text}")

    def note_shortage(self, logger: Logger, epoch: int) -> None:
        """Log in how many of an epoch's steps which workers had no batch, where it is other than before."""
        if not self.synchronous:
            return
        steps = self._lockstep.count
        missing = self.job.exchange("fit, end of the epoch", self._lockstep.missing)
        short = [f"worker {rank} in {count}" for rank, count in enumerate(missing) if count]
        before, self._short = self._short, short
        if short and short != before and self.speaks:
            resolve(logger).info(
                "Epoch[%d] In some of %d steps a worker had no batch, and its gradients counted as zero: %s",
                epoch,
                steps,
                ", ".join(short),
            )

    # Figures.

    @property
    def pace_of_all(self) -> int:
        """Of how many workers a step's samples are: of all where they train in step."""
        return self.job.size if self.synchronous else 1

    def pace(self, callback: object) -> int:
        """Return of how many workers the figures are that a callback shows."""
        return self.job.size if self._is_shared(callback) else 1

    def figures(self, callback: object, metric: Metric) -> list[tuple[str, float]]:
        """Return the figures of a metric's local window: of all workers where all have the callback, in step."""
        if not self._is_shared(callback):
            return metric.get_name_value()
        with self.metrics.total(metric, "fit (figures)") as apart:
            self._note_apart(apart)
            return metric.get_name_value()

    def _is_shared(self, callback: object) -> bool:
        if self._in_step and id(callback) in self._reporting:
            return True
        if not self.synchronous:
            why = "the workers do not train in step"
        else:
            why = "not all workers have it" if self._in_step else "not all workers have a validation"
        name = getattr(callback, "__qualname__", type(callback).__name__)
        self._note_once(f"{name} shows the values of this worker only, since {why}")
        return False

    def watched(self, metric: Metric) -> Figures:
        """Return what a bar shows after a batch: the newest figures of all workers."""
        if not (self._bar and self.synchronous):
            return cast(Figures, metric)
        self._steps += 1
        if self._steps >= self._look_at:
            self._look(metric)
        return Figures(self._seen)

    def _look(self, metric: Metric) -> None:
        with self.metrics.total(metric, "fit (progress)") as apart:
            self._note_apart(apart)
            self._seen = cast(Figures, metric).get_global_name_value()
        now = time.monotonic()
        seconds, self._looked = now - self._looked, now
        done, self._last_look = self._steps - self._last_look, self._steps
        wait = max(1, round(done * _LOOK_SECONDS / max(seconds, 1e-3)))
        # All look again in the same step, which worker 0 chooses.
        self._look_at = self._steps + cast(int, self.job.exchange("fit (progress)", wait)[0])

    def hold_total(self, metric: object, what: str) -> None:
        """Let a metric hold the sums of all workers, to report them."""
        self._note_apart(self.metrics.hold_total(metric, what))

    def _note_apart(self, names: Sequence[str]) -> None:
        for name in names:
            self._note_once(
                f"{name} shows the values of this worker only: a metric with attributes of its own cannot "
                "be summed over workers"
            )

    def _note_once(self, text: str) -> None:
        if self.speaks and text not in self._notes:
            self._notes.add(text)
            log().info("%s", text)

    # Files and logs.

    def writes(self, path: str) -> bool:
        """Return whether this worker writes the files at a path: no worker before it has the same."""
        return os.path.realpath(path) not in self._others_paths

    @contextlib.contextmanager
    def named_in(self, logger: Logger) -> Iterator[None]:
        """Let what this worker logs begin with its number, unless it is worker 0, who speaks for all."""
        target = resolve(logger)
        if self.job.rank == 0 or not isinstance(target, logging.Logger):
            yield
            return

        def name(record: logging.LogRecord) -> bool:
            record.msg = f"Worker {self.job.rank}: {record.msg}"
            return True

        target.addFilter(name)
        try:
            yield
        finally:
            target.removeFilter(name)


def stopping_together(workers: Workers | None, call: Callable[..., object], *args: object) -> None:
    """Make a call; if a callback ends the run in it, it does so where all workers hear of it; alone, at once."""
    # No context manager: that would cost more than most callbacks do.
    try:
        call(*args)
    except StopTraining as stop:
        if workers is None:
            raise
        workers.stop(stop)


class Figures:
    """Figures as a bar takes them from a metric.

    >>> Figures([("mse", 0.5)]).get_global_name_value()
    [('mse', 0.5)]
    """

    def __init__(self, pairs: Sequence[tuple[str, float]]) -> None:
        self._pairs = list(pairs)

    def get_global_name_value(self) -> list[tuple[str, float]]:
        """Return the figures."""
        return self._pairs


def _all_speak() -> bool:
    option = config.get("REBIND_LOG_WORKERS")
    if option not in ("first", "all"):
        raise ParameterError(f"environment variable REBIND_LOG_WORKERS: must be first or all; got {option!r}")
    return option == "all"


def _reporting(settings: FitSettings) -> list[tuple[object, JSON]]:
    """Return the callbacks that show figures every so many batches, and how each does, to compare."""
    found: list[tuple[object, JSON]] = []
    slots = settings.callbacks
    for callback in (*slots.batch_end, *slots.eval_batch_end, *slots.members):
        inner = getattr(callback, "__wrapped__", callback)
        frequent = getattr(inner, "frequent", None)
        if isinstance(frequent, int):
            found.append((inner, [type(inner).__name__, frequent, bool(getattr(inner, "auto_reset", True))]))
    return found


def _paths(settings: FitSettings) -> list[str]:
    paths = [getattr(callback, "writes_to", None) for callback in settings.callbacks.all()]
    return [path for path in paths if isinstance(path, str)]
