"""Signals that end a job."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType, TracebackType

__all__ = ["StopSignals"]

_SIGNALS = tuple(
    found for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT") if (found := getattr(signal, name, None))
)


class StopSignals:
    """Notes signals that are to end the job, while it is entered.

    An exception from a signal's handler, as PyTorch's launcher raises it, may come up at any place: between the
    starts of two processes, so that nobody knows of the first one, or in the start of a thread. The signal is
    therefore only noted, to be looked at where all processes are known.

    Attributes
    ----------
    received
        The first signal that came.
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._raises = False
        self._handlers_before = ExitStack()

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Raise :class:`KeyboardInterrupt` at a further signal: from somebody for whom the end takes too long."""
        self._raises = True
        try:
            yield
        finally:
            self._raises = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._raises:
            self._raises = False
            raise KeyboardInterrupt
        self.received = self.received or signal.Signals(number)

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():  # no other may set handlers
            for each in _SIGNALS:
                self._handlers_before.callback(signal.signal, each, signal.signal(each, self._note))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._handlers_before.close()
