"""Where progress is shown: a terminal, or a notebook's own display. Both draw with rich."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator, Sequence
from typing import Protocol

from .text import BarState, EpochFigures, bar_pieces, duration, epoch_line, number

__all__ = ["NotebookView", "TerminalView", "View", "in_notebook"]

# rich is imported where a view is made, so that importing rebind does not pay for what only a watched run needs.

_NOTEBOOK_WIDTH = 100


class View(Protocol):
    """What shows the bar and the lines."""

    def draw(self, state: BarState) -> None:
        """Show the bar as it is now."""

    def finish(self, figures: EpochFigures | None) -> None:
        """Let the bar vanish; into the line of its epoch, if there is one to show."""

    def close(self) -> None:
        """End the display."""


class TerminalView:
    """Draws on standard error: what is printed or logged meanwhile appears above the bar."""

    def __init__(self) -> None:
        from ..terminal import Console, Live, Text

        self._make_text = Text
        self._stack = contextlib.ExitStack()
        # Whoever makes a view has checked that there is a terminal, or wants one drawn anyway.
        self._console = Console(stderr=True, force_terminal=True, force_jupyter=False)
        self._live = Live(
            console=self._console,
            auto_refresh=False,
            transient=True,
            # Else rich would send what is printed to the terminal, though the user sent it to a file.
            redirect_stdout=sys.stdout.isatty(),
        )
        self._stack.enter_context(self._live)
        self._stack.enter_context(_handlers_write_above())

    def draw(self, state: BarState) -> None:
        """Show the bar as it is now, in the terminal's present width."""
        options = self._console.options
        pieces = bar_pieces(state, options.max_width, options.ascii_only)
        # The window may have been resized since the last time.
        self._live.update(self._make_text.assemble(*pieces, no_wrap=True, overflow="crop"), refresh=True)

    def finish(self, figures: EpochFigures | None) -> None:
        """Let the bar vanish; into the line of its epoch, if there is one to show."""
        self._live.update(self._make_text(""), refresh=True)
        if figures is not None:
            line = epoch_line(figures, self._console.width)
            self._console.print(line, markup=False, highlight=False, overflow="ignore", crop=False)

    def close(self) -> None:
        """Give the terminal back."""
        self._stack.close()


class NotebookView:
    """Draws into one output of the notebook's cell: the lines, the bar under them, at the end a table."""

    def __init__(self) -> None:
        from IPython.display import display  # type: ignore[import-not-found]  # a notebook has it

        from ..terminal import Text

        self._make_text = Text
        self._finished: list[EpochFigures] = []
        self._handle = display(Text(""), display_id=True)

    def draw(self, state: BarState) -> None:
        """Show the bar under the lines so far."""
        self._show(bar_pieces(state, _NOTEBOOK_WIDTH))

    def finish(self, figures: EpochFigures | None) -> None:
        """Let the bar vanish; into the line of its epoch, if there is one to show."""
        if figures is not None:
            self._finished.append(figures)
        self._show([])

    def _show(self, bar: Sequence[tuple[str, str]]) -> None:
        lines = "\n".join(epoch_line(figures, _NOTEBOOK_WIDTH) for figures in self._finished)
        between = "\n" if lines and bar else ""
        self._handle.update(self._make_text.assemble(lines, between, *bar))

    def close(self) -> None:
        """Turn the lines into a table."""
        if not self._finished:
            return
        from ..terminal import Table

        table = Table()
        names = {
            kind: list(dict.fromkeys(name for each in self._finished for name in getattr(each, kind)))
            for kind in ("train", "validation")
        }
        for heading in ["epoch", *names["train"], *(f"val {name}" for name in names["validation"])]:
            table.add_column(heading, justify="right")
        table.add_column("time", justify="right")
        table.add_column("samples/s", justify="right")
        for each in self._finished:
            cells = [f"{each.epoch}/{each.last}"]
            for kind, held in (("train", each.train), ("validation", each.validation)):
                cells += [number(held[name]) if name in held else "" for name in names[kind]]
            table.add_row(*cells, duration(each.seconds), f"{each.speed:,.0f}")
        self._handle.update(table)


def in_notebook() -> bool:
    """Return whether this is the kernel of a notebook.

    >>> in_notebook()
    False
    """
    # A notebook has imported IPython; nothing else needs to.
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


@contextlib.contextmanager
def _handlers_write_above() -> Iterator[None]:
    """Let log lines that go to the terminal pass through the bar, which then redraws itself below them.

    While a bar is shown, rich replaces the standard streams; handlers that hold the originals would write into the
    middle of it.
    """
    # By identity: a handler holds the stream itself, from before the bar.
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
                # What rich has put there, which passes lines on above the bar.
                handler.setStream(getattr(sys, name))
    try:
        yield
    finally:
        for handler, stream in changed:
            handler.setStream(stream)
