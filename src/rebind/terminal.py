"""What rebind uses of rich, which writes to terminals.

It draws from the generator of Python's `random` when it is imported: a program's own random numbers must not depend on
whether a bar or a table was shown.
"""

import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .tuning import current

_before = random.getstate()
from rich import box  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.live import Live  # noqa: E402
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, track  # noqa: E402
from rich.table import Table  # noqa: E402
from rich.text import Text  # noqa: E402

random.setstate(_before)

__all__ = ["Console", "Live", "StepBar", "Table", "Text", "box", "step_bar", "track"]


class StepBar:
    """A bar with what a command is doing, on standard error: in a terminal only, and only if it takes a while."""

    def __init__(self) -> None:
        columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("", total=None)
        self._timer: threading.Timer | None = None
        if sys.stderr.isatty():
            self._timer = threading.Timer(current().bar_delay_seconds, self._bar.start)
            self._timer.daemon = True
            self._timer.start()

    def __call__(self, text: str, done: int = 0, total: int | None = None) -> None:
        """Show what is done, after how many steps of how many; without a total the bar only moves."""
        self._bar.update(self._task, description=text, completed=done, total=total)

    def stop(self) -> None:
        """Remove the bar; what is printed from now on takes its line."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()  # it may be about to show the bar
        if self._bar.live.is_started:  # else rich would write an empty line
            self._bar.stop()


@contextmanager
def step_bar() -> Iterator[StepBar]:
    """Show a bar of steps while a block runs.

    >>> with step_bar() as bar:
    ...     bar("reading", 0, 2)
    """
    bar = StepBar()
    try:
        yield bar
    finally:
        bar.stop()
