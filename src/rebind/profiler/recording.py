"""What a profiler records: slices of time, values of counters, instants; in the order in which they end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import torch

from ..graph import Node

__all__ = ["CUSTOM", "Array", "Instant", "Recording", "Slice", "Step", "Value", "now"]

#: The category of what custom operators do, in MXNet's tables.
CUSTOM = "Custom Operator"


def now() -> float:
    """Return the time in seconds, once GPUs have computed what they were given.

    >>> now() <= now()
    True
    """
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return time.perf_counter()


class Array(NamedTuple):
    """What is recorded of an array."""

    shape: tuple[int, ...]
    dtype: torch.dtype

    @property
    def nbytes(self) -> int:
        """How many bytes it has.

        >>> Array((2, 3), torch.float32).nbytes
        24
        """
        size = self.dtype.itemsize
        for each in self.shape:
            size *= each
        return size


@dataclass(slots=True)
class Slice:
    """A time in which something was done.

    Attributes
    ----------
    category
        ``'operator'``, a domain's name, ``'event'``, ``'step'``, ...
    name
        What the trace shows: a node's name.
    begin, end
        When, by `now`.
    statistic
        The row of the tables by category: an operator's name. Empty: it is in none.
    kind
        Of operators: ``'forward'``, ``'backward'``, ``'call'`` (of ``mx.nd``), ``'update'``, ``'compiled'``.
    seconds
        How long it took, without pauses between its pieces.
    calls
        How many calls it counts as: 0 for a later piece of a call.
    inputs, outputs
        The arrays of an operator; None where one is absent.
    node
        The node of the graph; None for what is of none.
    nodes
        The names of the nodes that compiled code was made of.
    thread
        The thread that did it.
    """

    category: str
    name: str
    begin: float
    end: float
    statistic: str = ""
    kind: str = ""
    seconds: float = 0.0
    calls: int = 1
    inputs: Sequence[Array | None] = ()
    outputs: Sequence[Array | None] = ()
    node: Node | None = None
    nodes: tuple[str, ...] = ()
    thread: int = field(default_factory=threading.get_ident)

    def __post_init__(self) -> None:
        self.seconds = self.seconds or self.end - self.begin


class Value(NamedTuple):
    """The value of a counter from a time on."""

    category: str
    name: str
    time: float
    value: float


class Instant(NamedTuple):
    """A marker."""

    category: str
    name: str
    time: float
    scope: str
    thread: int


@dataclass(slots=True)
class Step:
    """An iteration: when it began, and ended; None: when the next began."""

    begin: float
    end: float | None = None


class Recording:
    """What was recorded while a profiler ran.

    Attributes
    ----------
    slices, values, instants
        What was recorded.
    steps
        The iterations.
    uncounted
        How many of `slices`, `values` and `instants` were recorded before MXNet's tables were reset.

    Examples
    --------
    >>> recording = Recording()
    >>> with recording.slice("step", "data"):
    ...     pass
    >>> [each.name for each in recording.slices]
    ['data']
    """

    def __init__(self) -> None:
        self.begin = now()
        self.slices: list[Slice] = []
        self.values: list[Value] = []
        self.instants: list[Instant] = []
        self.steps: list[Step] = []
        self.uncounted = (0, 0, 0)

    @contextmanager
    def slice(self, category: str, name: str, statistic: str = "") -> Iterator[None]:
        """Record the time that a ``with`` block takes."""
        begin = now()
        try:
            yield
        finally:
            self.slices.append(Slice(category, name, begin, now(), statistic))

    def reset_tables(self) -> None:
        """Have MXNet's tables begin with what is recorded from now on; traces and tables by node have all.

        >>> recording = Recording()
        >>> recording.slices.append(Slice("operator", "fc1", 0.0, 1.0))
        >>> recording.reset_tables()
        >>> len(recording.slices), recording.uncounted
        (1, (1, 0, 0))
        """
        self.uncounted = len(self.slices), len(self.values), len(self.instants)

    def clear(self) -> None:
        """Forget what was recorded."""
        for each in (self.slices, self.values, self.instants, self.steps):
            each.clear()
        self.uncounted = (0, 0, 0)
