"""`Reporter`: what a training run tells of itself: its history, its progress bar, its records of epochs."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ..callback import EpochRecord, StopTraining
from ..progress import Progress, is_logged
from ..protocols import Logger
from .settings import FitSettings
from .steps import Steps
from .training_run import History
from .workers import Workers

__all__ = ["Reporter"]


class Reporter:
    """Takes the figures of a run to its history, to the bar, and to the hooks for the end of an epoch.

    Parameters
    ----------
    settings
        The arguments of `fit`.

    Attributes
    ----------
    history
        The figures of the epochs that are finished.
    bar
        What shows the progress; nothing until `show`.

    Examples
    --------
    >>> import rebind as mx
    >>> reporter = Reporter(FitSettings(train_data=mx.io.NDArrayIter(mx.nd.ones((4, 1))), num_epoch=1))
    >>> reporter.add("train", [("mse", 0.5)])
    >>> reporter.history
    {'train': {'mse': [0.5]}, 'validation': {}}
    """

    def __init__(self, settings: FitSettings) -> None:
        self._settings = settings
        self.history: History = {"train": {}, "validation": {}}
        self.bar = Progress(settings.last_epoch, wanted=False)
        self._hooks = settings.callbacks.hooks("on_epoch_end")
        self._epoch_started = 0.0
        self._record: EpochRecord | None = None  # of the epoch whose batches have ended

    def show(self, first_epoch: int, logger: Logger, workers: Workers | None) -> Progress:
        """Return the bar that shows the run in a ``with`` block, on worker 0; with lines where nothing is logged."""
        self.bar = Progress(
            self._settings.last_epoch,
            self._settings.progress if workers is None or workers.job.rank == 0 else False,
            first_epoch=first_epoch,
            lines=not is_logged(logger),
            pace=1 if workers is None else workers.pace_of_all,
        )
        return self.bar

    def begin_epoch(self, epoch: int, done: int) -> None:
        """Begin an epoch, of which `done` batches were done before."""
        self._epoch_started = time.time()
        self.bar.begin_epoch(epoch, self._settings.train_data, done)

    def begin_record(self, epoch: int, module: Steps) -> float:
        """Begin the record of an epoch whose batches have ended; return how many seconds they took."""
        seconds = time.time() - self._epoch_started
        self._record = EpochRecord(epoch, module, seconds)
        return seconds

    def add(self, kind: str, values: Sequence[tuple[str, float]]) -> None:
        """Take figures of the epoch that has ended; `kind` is ``'train'`` or ``'validation'``."""
        history, record = self.history[kind], self._record
        for name, value in values:
            history.setdefault(name, []).append(float(value))
            self.bar.report(kind, name, float(value))
            if record is not None:
                figures = record.train if kind == "train" else record.validation
                figures[name] = float(value)

    def finish_epoch(self) -> None:
        """Show an epoch's line, and call the hooks for its end; once, however often it is called."""
        record, self._record = self._record, None
        if record is None:
            return
        self.bar.finish_epoch()
        stopped: StopTraining | None = None
        # All of them: one that stops the run keeps no other from writing its line.
        for hook in self._hooks:
            try:
                hook(record)
            except StopTraining as stop:
                stopped = stop
        if stopped is not None:
            raise stopped
