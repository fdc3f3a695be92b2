"""What a program adds to a profile: tasks, frames, events, counters and markers, in domains."""

from __future__ import annotations

import threading

from ..checks import TEXT, check_instance, check_kind
from ..errors import ArgumentError, ParameterError, shown
from .control import process_profile
from .recording import Instant, Slice, Value, now
from .statistics import check_choice

__all__ = ["Counter", "Domain", "Event", "Frame", "Marker", "Task"]

_SCOPES = ("global", "process", "thread", "task", "marker")


class Domain:
    """A name that groups tasks, frames, counters and markers in tables and traces.

    Examples
    --------
    >>> import rebind as mx
    >>> domain = mx.profiler.Domain("reading")
    >>> with domain.new_task("parse"):
    ...     pass
    >>> counter = domain.new_counter("lines")
    >>> counter += 5
    """

    def __init__(self, name: str) -> None:
        check_kind("profiler.Domain", TEXT, name=name)
        self.name = name

    def __str__(self) -> str:
        return self.name

    def new_task(self, name: str) -> Task:
        """Return a task of this domain."""
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """Return a frame of this domain."""
        return Frame(self, name)

    def new_counter(self, name: str, value: int | None = None) -> Counter:
        """Return a counter of this domain."""
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """Return a marker of this domain."""
        return Marker(self, name)


class _Timed:
    """What is started and stopped, or is the ``with`` block of what it times."""

    _kind = ""

    def __init__(self, name: str) -> None:
        check_kind(f"profiler.{type(self).__name__}", TEXT, name=name)
        self.name = name
        self._begin: float | None = None

    @property
    def _category(self) -> str:
        """The category of the row."""
        return self._kind

    def start(self) -> None:
        """Begin."""
        self._begin = now()

    def stop(self) -> None:
        """End. Without a start, and while no profiler runs, nothing is recorded."""
        begin, self._begin = self._begin, None
        profile = process_profile()
        if begin is not None and profile.is_recording:
            found = Slice(self._category, self.name, begin, now(), self.name, self._kind)
            profile.recording.slices.append(found)

    def __enter__(self) -> _Timed:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __str__(self) -> str:
        return self.name


class _InDomain(_Timed):
    """A timed thing of a domain."""

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(name)
        self.domain = _checked(domain, type(self).__name__)

    @property
    def _category(self) -> str:
        return str(self.domain)


class Task(_InDomain):
    """A piece of work; tables have one row for each name.

    >>> import rebind as mx
    >>> task = mx.profiler.Task(mx.profiler.Domain("reading"), "parse")
    >>> task.start()
    >>> task.stop()
    """

    _kind = "task"


class Frame(_InDomain):
    """A piece of work that repeats, such as a frame of a film: a row in the category ``domain,frame``.

    >>> import rebind as mx
    >>> with mx.profiler.Frame(mx.profiler.Domain("game"), "picture"):
    ...     pass
    """

    _kind = "frame"

    @property
    def _category(self) -> str:
        return f"{self.domain},frame"


class Event(_Timed):
    """A piece of work without a domain: a row in the category ``event``.

    >>> import rebind as mx
    >>> with mx.profiler.Event("parse"):
    ...     pass
    """

    _kind = "event"


class Counter:
    """A number that changes; the trace shows it as a curve.

    Examples
    --------
    >>> import rebind as mx
    >>> counter = mx.profiler.Domain("reading").new_counter("lines", 1)
    >>> counter += 5
    >>> counter.decrement(2)
    >>> counter.value
    4
    """

    def __init__(self, domain: Domain, name: str, value: int | None = None) -> None:
        check_kind("profiler.Counter", TEXT, name=name)
        self.domain, self.name, self.value = _checked(domain, "Counter"), name, 0
        self._lock = threading.Lock()
        if value is not None:
            self.set_value(value)

    def set_value(self, value: int) -> None:
        """Set it."""
        self._change(value, keep=0)

    def increment(self, delta: int = 1) -> None:
        """Add to it."""
        self._change(delta, keep=1)

    def decrement(self, delta: int = 1) -> None:
        """Subtract from it."""
        self._change(-_whole(delta), keep=1)

    def _change(self, value: int, keep: int) -> None:
        profile = process_profile()
        with self._lock:
            self.value = keep * self.value + _whole(value)
            if profile.is_recording:
                profile.recording.values.append(Value(str(self.domain), self.name, now(), self.value))

    def __iadd__(self, delta: int) -> Counter:
        self.increment(delta)
        return self

    def __isub__(self, delta: int) -> Counter:
        self.decrement(delta)
        return self

    def __str__(self) -> str:
        return self.name


class Marker:
    """An instant; the trace shows it as a line or an arrow.

    >>> import rebind as mx
    >>> mx.profiler.Domain("reading").new_marker("file read").mark("global")
    """

    def __init__(self, domain: Domain, name: str) -> None:
        check_kind("profiler.Marker", TEXT, name=name)
        self.domain, self.name = _checked(domain, "Marker"), name

    def mark(self, scope: str = "process") -> None:
        """Mark this instant, for ``'global'``, ``'process'``, ``'thread'``, ``'task'`` or ``'marker'``."""
        check_choice("profiler.Marker.mark", "scope", scope, _SCOPES)
        profile = process_profile()
        if profile.is_recording:
            found = Instant(str(self.domain), self.name, now(), scope, threading.get_ident())
            profile.recording.instants.append(found)


def _checked(domain: Domain, who: str) -> Domain:
    check_instance(domain, f"profiler.{who}: domain")
    if not isinstance(domain, Domain):
        raise ArgumentError(f"profiler.{who}: domain must be a profiler.Domain; got {shown(domain)}")
    return domain


def _whole(value: object) -> int:
    try:
        return int(value)  # type: ignore[call-overload]  # as MXNet: 1.5 counts as 1
    except (TypeError, ValueError):
        raise ParameterError(f"profiler.Counter: value must be an int; got {shown(value)}") from None
