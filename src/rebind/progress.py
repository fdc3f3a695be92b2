"""A progress bar for training, in a terminal."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Iterator, Sequence, Sized
from datetime import timedelta
from typing import Any, Protocol, cast

from . import config
from .errors import ParameterError
from .shapes import HasShape

__all__ = ["Progress"]


class HasData(Protocol):
    """A batch, as far as it is counted."""

    @property
    def data(self) -> Sequence[HasShape]:
        """The inputs."""


class Figures(Protocol):
    """A metric, as far as it is shown."""

    def get_global_name_value(self) -> list[tuple[str, float]]:
        """Return the figures of the epoch so far."""


_REFRESH_SECONDS = 0.1  # reading a metric waits for the device, so it is not done for every batch


class Progress:
    """Shows the epoch, batches, metrics, samples per second and the time left; quiet when nobody watches.

    Log lines that go to the terminal are printed above the bar.

    Parameters
    ----------
    epochs
        How many epochs there will be.
    wanted
        True, False, or None for the option ``REBIND_PROGRESS`` (by default: in a terminal only).

    Examples
    --------
    >>> import contextlib, io
    >>> with contextlib.redirect_stderr(io.StringIO()) as terminal, Progress(epochs=1, wanted=True) as bar:
    ...     bar.begin_epoch(0, data=range(10))
    >>> "Epoch 0" in terminal.getvalue(), "0/10" in terminal.getvalue()
    (True, True)
    """

    def __init__(self, epochs: int, wanted: bool | None) -> None:
        self._epochs = epochs
        self._active = _is_wanted(wanted)
        self._stack = contextlib.ExitStack()
        self._bar: Any = None
        self._batches: int | None = None
        self._finished = self._seen = self._samples = self._axis = 0

    def __enter__(self) -> Progress:
        if self._active:
            self._begun = time.monotonic()
            self._bar = self._stack.enter_context(_make_bar())
            self._stack.enter_context(_handlers_write_above())
            self._task = self._bar.add_task("", total=None, speed="", values="", left="")
        return self

    def __exit__(self, *_: Any) -> None:
        self._stack.close()

    def begin_epoch(self, epoch: int, data: object) -> None:
        """Start over for an epoch of `data`."""
        if not self._active:
            return
        self._seen = self._samples = 0
        self._last = self._started = time.monotonic()
        self._batches = _number_of_batches(data) or self._batches
        self._axis = _batch_axis(data)
        # The last figures of the epoch before stay until there are new ones: nothing flickers.
        self._bar.update(self._task, completed=0, total=self._batches, description=f"Epoch {epoch}")

    def advance(self, batch: HasData | Sequence[HasData], metric: Figures) -> None:
        """Count one batch.

        >>> import contextlib, io
        >>> from types import SimpleNamespace
        >>> batch = SimpleNamespace(data=[SimpleNamespace(shape=(8, 3))])
        >>> metric = SimpleNamespace(get_global_name_value=lambda: [("loss", 0.5)])
        >>> with (
        ...     contextlib.redirect_stderr(io.StringIO()) as terminal,
        ...     Progress(epochs=1, wanted=True) as bar,
        ... ):
        ...     bar.begin_epoch(0, data=[batch])
        ...     bar.advance(batch, metric)
        ...     bar.end_epoch()
        >>> "1/1" in terminal.getvalue()
        True
        """
        if not self._active:
            return
        self._seen += 1
        slices = batch if isinstance(batch, list) else [cast(HasData, batch)]
        self._samples += sum(_num_samples(each, self._axis) for each in slices)
        now = time.monotonic()
        if now - self._last < _REFRESH_SECONDS:
            return
        self._last = now
        values = "  ".join(f"{name} {value:.4f}" for name, value in metric.get_global_name_value())
        self._bar.update(
            self._task,
            completed=self._seen,
            values=values,
            speed=f"{self._samples / (now - self._started):,.0f} samples/s",
            left=self._time_left(now),
        )

    def end_epoch(self) -> None:
        """Remember how many batches an epoch has."""
        if not self._active:
            return
        self._batches = self._seen
        self._finished += 1
        self._bar.update(self._task, completed=self._seen, total=self._seen)

    def _time_left(self, now: float) -> str:
        """Return the time to the end of training; validation counts, as it takes its share of each epoch."""
        if not self._batches:
            return ""
        done = self._finished + min(self._seen / self._batches, 1)
        seconds = (now - self._begun) * (self._epochs - done) / done
        return f"{timedelta(seconds=round(seconds))} left"


def _is_wanted(wanted: bool | None) -> bool:
    if wanted is not None:
        return wanted
    option = config.get("REBIND_PROGRESS")
    if option not in ("auto", "on", "off"):
        raise ParameterError(f"environment variable REBIND_PROGRESS: must be auto, on or off; got {option!r}")
    return option == "on" or (option == "auto" and sys.stderr.isatty())


def _make_bar() -> Any:
    # Imported here, so that importing rebind does not pay for what only a terminal needs.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as RichProgress

    return RichProgress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[values]}", style="cyan"),
        TextColumn("{task.fields[speed]}", style="green"),
        TextColumn("{task.fields[left]}"),
        console=Console(stderr=True, force_terminal=True),  # _is_wanted() has checked that there is one
        transient=True,
        # Else rich would send what is printed to the terminal, though the user sent it to a file.
        redirect_stdout=sys.stdout.isatty(),
    )


@contextlib.contextmanager
def _handlers_write_above() -> Iterator[None]:
    """Let log lines that go to the terminal pass through the bar, which then redraws itself below them.

    While a bar is shown, rich replaces the standard streams; handlers that hold the originals would write into the
    middle of it.
    """
    originals = {id(sys.__stderr__): "stderr", id(sys.__stdout__): "stdout"}
    changed = []
    loggers = [
        logging.getLogger(),
        *(x for x in logging.root.manager.loggerDict.values() if hasattr(x, "handlers")),
    ]
    for logger in loggers:
        for handler in logger.handlers:
            name = originals.get(id(getattr(handler, "stream", None)))
            if name is not None and isinstance(handler, logging.StreamHandler):
                changed.append((handler, handler.stream))
                handler.setStream(getattr(sys, name))
    try:
        yield
    finally:
        for handler, stream in changed:
            handler.setStream(stream)


def _batch_axis(data: object) -> int:
    """Return the axis of the first input that counts samples: that of N in its layout."""
    descriptions = getattr(data, "provide_data", None)
    layout = getattr(descriptions[0], "layout", None) if descriptions else None
    return max(layout.find("N"), 0) if layout else 0


def _num_samples(batch: HasData, axis: int) -> int:
    """Return how many samples a batch holds, without padding."""
    if not batch.data:
        return 0
    shape = batch.data[0].shape
    return shape[axis] - (getattr(batch, "pad", None) or 0) if len(shape) > axis else 0


def _number_of_batches(data: object) -> int | None:
    with contextlib.suppress(TypeError):  # a wrapper has a length only if its iterator has one
        return len(cast(Sized, data))
    samples, batch_size = getattr(data, "num_data", None), getattr(data, "batch_size", None)
    if not (isinstance(samples, int) and isinstance(batch_size, int)):  # not made of arrays in memory
        return None
    whole, rest = divmod(samples, batch_size)
    return whole + (rest > 0 and getattr(data, "last_batch_handle", None) != "discard")
