"""`Progress`: counts what a training run has done, and shows it where somebody watches."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Sequence
from typing import Protocol, cast

from .. import config
from ..errors import ParameterError
from ..logs import resolve
from .counting import HasData, batch_axis_of, num_batches, num_samples
from .text import BarState, EpochFigures
from .views import NotebookView, TerminalView, View, in_notebook

__all__ = ["Progress", "is_logged", "is_wanted"]


class Figures(Protocol):
    """A metric, as far as it is shown."""

    def get_global_name_value(self) -> list[tuple[str, float]]:
        """Return the figures of the epoch so far."""


_REFRESH_SECONDS = 0.1  # reading a metric waits for the device, so it is not done for every batch


class Progress:
    """Shows a bar for the running epoch, and a line for each finished one; quiet when nobody watches.

    Parameters
    ----------
    last_epoch
        The number of the epoch before which the training ends.
    wanted
        True, False, or None for the option ``REBIND_PROGRESS`` (by default: in a terminal or a notebook only).
    first_epoch
        The number of the first epoch, from 0.
    lines
        Whether to show the lines: not where they are logged.
    pace
        How many workers train in step, whose samples count too.

    Examples
    --------
    >>> import contextlib, io
    >>> with contextlib.redirect_stderr(io.StringIO()) as terminal, Progress(10, wanted=True) as bar:
    ...     bar.begin_epoch(2, data=range(10))
    ...     bar.end_epoch()
    ...     bar.report("train", "accuracy", 0.9)
    ...     bar.finish_epoch()
    >>> [text in terminal.getvalue() for text in ("epoch 3/10", "0/10", "accuracy 0.9000")]
    [True, True, True]
    """

    def __init__(
        self, last_epoch: int, wanted: bool | None, *, first_epoch: int = 0, lines: bool = True, pace: int = 1
    ) -> None:
        self._first, self._last = first_epoch, last_epoch
        self._active, self._lines, self._pace = is_wanted(wanted), lines, pace
        self._view: View | None = None
        self._state = BarState(first_epoch + 1, last_epoch)
        self._figures: EpochFigures | None = None  # of the epoch whose training has ended
        self._batches: int | None = None  # in an epoch, once one has ended
        self._finished = self._samples = self._axis = 0
        self._begun = self._started = self._drawn = 0.0

    def __enter__(self) -> Progress:
        if self._active:
            self._begun = time.monotonic()
            self._view = NotebookView() if in_notebook() else TerminalView()
        return self

    def __exit__(self, *_: object) -> None:
        if self._view is not None:
            self.finish_epoch()  # the line of an epoch in whose validation the training ended
            self._view.close()
            self._view = None

    def begin_epoch(self, epoch: int, data: object, done: int = 0) -> None:
        """Start over for an epoch of `data`, of which `done` batches were done before."""
        if self._view is None:
            return
        self._samples = 0
        self._started = self._drawn = time.monotonic()
        self._axis = batch_axis_of(data)
        # The last figures of the epoch before stay until there are new ones: nothing flickers.
        figures = self._state.figures
        self._state = BarState(epoch + 1, self._last, done, num_batches(data) or self._batches, figures)
        self._view.draw(self._state)

    def advance(self, batch: HasData | Sequence[HasData], metric: Figures) -> None:
        """Count one batch.

        >>> import contextlib, io
        >>> from types import SimpleNamespace
        >>> batch = SimpleNamespace(data=[SimpleNamespace(shape=(8, 3))])
        >>> metric = SimpleNamespace(get_global_name_value=lambda: [("loss", 0.5)])
        >>> with contextlib.redirect_stderr(io.StringIO()) as terminal, Progress(1, wanted=True) as bar:
        ...     bar.begin_epoch(0, data=[batch])
        ...     bar.advance(batch, metric)
        ...     bar.end_epoch()
        >>> "1/1" in terminal.getvalue()
        True
        """
        if self._view is None:
            return
        state = self._state
        state.done += 1
        slices = batch if isinstance(batch, list) else [cast(HasData, batch)]
        self._samples += self._pace * sum(num_samples(each, self._axis) for each in slices)
        now = time.monotonic()
        # Before the metric is asked, which may wait for the device.
        if now - self._drawn < _REFRESH_SECONDS:
            return
        self._drawn = now
        state.figures = metric.get_global_name_value()
        state.speed = self._samples / (now - self._started)
        state.left = self._time_left(now)
        self._view.draw(state)

    def end_epoch(self) -> None:
        """End the batches of an epoch; its figures follow."""
        if self._view is None:
            return
        state = self._state
        seconds = time.monotonic() - self._started
        self._figures = EpochFigures(state.epoch, state.last, seconds=seconds, samples=self._samples)
        # From now on it is known how many batches an epoch has.
        self._batches = state.total = state.done
        self._finished += 1
        self._view.draw(state)

    def report(self, kind: str, name: str, value: float) -> None:
        """Take a figure of the epoch that ended; `kind` is ``'train'`` or ``'validation'``."""
        if self._figures is not None:
            held = self._figures.train if kind == "train" else self._figures.validation
            held[name] = value

    def finish_epoch(self) -> None:
        """Show the line of the epoch that ended, instead of the bar."""
        # Once: the end of training calls this again.
        figures, self._figures = self._figures, None
        if self._view is not None and figures is not None:
            self._view.finish(figures if self._lines else None)

    def say(self, text: str) -> None:
        """Show a sentence under the lines; only when the display is closed."""
        if self._active and self._lines:
            print(text, file=sys.stdout if in_notebook() else sys.stderr)

    def _time_left(self, now: float) -> float | None:
        """Return the seconds to the end of training; validation counts, as it takes its share of each epoch."""
        if not self._state.total:
            return None
        done = self._finished + min(self._state.done / self._state.total, 1)
        return (now - self._begun) * (self._last - self._first - done) / done


def is_wanted(wanted: bool | None) -> bool:
    """Return whether progress is shown.

    Parameters
    ----------
    wanted
        True, False, or None for the option ``REBIND_PROGRESS``.

    Examples
    --------
    >>> is_wanted(True)
    True
    """
    if wanted is not None:
        return wanted
    option = config.get("REBIND_PROGRESS")
    if option not in ("auto", "on", "off"):
        raise ParameterError(f"environment variable REBIND_PROGRESS: must be auto, on or off; got {option!r}")
    return option == "on" or (option == "auto" and (sys.stderr.isatty() or in_notebook()))


def is_logged(logger: object) -> bool:
    """Return whether messages of a module's logger reach somebody, or are silenced on purpose.

    >>> is_logged(logging.getLogger("rebind.example")), is_logged(print)
    (False, True)
    """
    logger = resolve(logger)
    if not isinstance(logger, logging.Logger):
        return True  # a user's own
    if logger.disabled or max(logger.getEffectiveLevel() - 1, logger.manager.disable) >= logging.CRITICAL:
        return True
    return logger.isEnabledFor(logging.INFO) and logger.hasHandlers()
