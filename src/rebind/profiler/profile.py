"""`Profile`: a recording with its tables, for a ``with`` block, `fit`, or the functions of MXNet."""

from __future__ import annotations

import html
import importlib
import math
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from ..checks import COUNT, WHOLE, check_kind, or_none, refuses_unknown
from ..errors import ArgumentError, MissingExtraError, StateError
from .nodes import IterationRecord, NodeRecord, by_iteration, by_node, by_prefix
from .picture import ProfilePicture, draw
from .recording import Recording, Slice, Step, now
from .text import iteration_table, node_table
from .trace import write
from .watching import Interest, watcher

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Profile"]

T = TypeVar("T")
_END = object()


class Profile:
    """Records where time goes while it runs, and shows it by node, by prefix and by iteration.

    It runs in a ``with`` block, from `start` to `stop`, or for batches of ``fit(profile=...)``. Several may run at the
    same time. Each operator runs by itself then, as its program has it; compiled code is one piece.

    Parameters
    ----------
    skip, batches
        In `fit`: how many batches run first, and how many are recorded then; None: all that follow.
    symbolic, imperative, memory, runs
        Whether it records operators of graphs; calls of ``mx.nd`` and updates; the memory in use; the runs of
        executors.

    Attributes
    ----------
    recording
        What it has recorded.

    Examples
    --------
    >>> import rebind as mx
    >>> exe = mx.sym.exp(mx.sym.var("x"), name="e").simple_bind(mx.cpu(), x=(2, 3))
    >>> with mx.profiler.Profile() as profile:
    ...     _ = exe.forward()
    >>> [(row.name, row.operator, row.calls, row.outputs) for row in profile.nodes()]
    [('e', 'exp', 1, ((2, 3),))]
    """

    @refuses_unknown
    def __init__(
        self,
        skip: int = 2,
        batches: int | None = 50,
        *,
        symbolic: bool = True,
        imperative: bool = True,
        memory: bool = False,
        runs: bool = True,
    ) -> None:
        check_kind("Profile", WHOLE, skip=skip)
        check_kind("Profile", or_none(COUNT), batches=batches)
        self.skip, self.batches = skip, batches
        self.symbolic, self.imperative, self.memory, self.runs = symbolic, imperative, memory, runs
        self.recording = Recording()
        self._interest: Interest | None = None
        self._is_paused = False
        #: Whether `fit` logs it, and the file that it writes a trace to.
        self.reports, self.path = False, ""
        #: Whether it records what the servers of key-value stores do in this process, and nothing else.
        self.servers_only = False
        self._seen = 0  # how many batches `watch` has yielded

    @classmethod
    def of(cls, given: object) -> Profile | None:
        """Return what `fit` was given as a profile, which counts its batches from here; None where nothing is recorded.

        >>> Profile.of(False) is None, Profile.of("trace.json").path
        (True, 'trace.json')
        """
        if isinstance(given, Profile):
            given._seen = 0  # it may be of an earlier `fit`
            return given
        if given is None or given is False:
            return None
        if given is not True and not isinstance(given, (str, os.PathLike)):
            raise ArgumentError(
                f"fit: profile must be True, the name of a file for the trace, or a profiler.Profile; got {given!r}"
            )
        found = cls()
        found.reports, found.path = True, "" if given is True else os.fspath(given)
        return found

    # Running.

    @property
    def is_running(self) -> bool:
        """Whether it was started, and not stopped since."""
        return self._interest is not None

    @property
    def is_recording(self) -> bool:
        """Whether it is running, and not paused."""
        return self._interest is not None and not self._is_paused

    def start(self, *, finds_steps: bool = True) -> None:
        """Record from now on.

        Parameters
        ----------
        finds_steps
            Whether an iteration begins when an executor runs again.
        """
        if self._interest is not None:
            raise StateError("Profile.start: it must not run yet; it was started before. Call stop() first.")
        self._interest = Interest(
            self.recording,
            self.symbolic,
            self.imperative,
            self.memory,
            self.runs,
            finds_steps,
            self.servers_only,
        )
        self._is_paused = False
        watcher.add(self._interest)

    def stop(self) -> None:
        """Stop recording; what was recorded is preserved."""
        if self._interest is not None:
            watcher.remove(self._interest)
        self._interest = None

    def pause(self) -> None:
        """Record nothing until `resume`."""
        if self._interest is not None and not self._is_paused:
            self._is_paused = True
            watcher.remove(self._interest)

    def resume(self) -> None:
        """Record again."""
        if self._interest is not None and self._is_paused:
            self._is_paused = False
            watcher.add(self._interest)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def watch(self, batches: Iterable[T]) -> Iterator[T]:
        """Yield batches, and record the steps that the caller takes with them, as `skip` and `batches` say.

        >>> profile = Profile(skip=1, batches=2)
        >>> for batch in profile.watch(["a", "b", "c", "d"]):
        ...     pass
        >>> len(profile.iterations())
        2
        """
        source = iter(batches)
        try:
            while True:
                self._follow()
                begin = now()
                batch = next(source, _END)
                if batch is _END:
                    return
                self._seen += 1
                if self.is_running:
                    self.recording.steps.append(Step(begin))
                    self.recording.slices.append(Slice("step", "data", begin, now(), "data"))
                yield batch  # type: ignore[misc]  # it is not `_END`
                if self.is_running:
                    self.recording.steps[-1].end = now()
        finally:
            self.stop()

    def _follow(self) -> None:
        """Start or stop, as the number of batches that were seen says."""
        last = math.inf if self.batches is None else self.skip + self.batches
        if not self.skip <= self._seen < last:
            self.stop()
        elif not self.is_running:
            self.start(finds_steps=False)

    # What was recorded.

    def nodes(self) -> list[NodeRecord]:
        """Return the figures of each node, the slowest first."""
        return by_node(self.recording)

    def prefixes(self, depth: int = 1) -> list[NodeRecord]:
        """Return sums over nodes whose names begin with the same words; `depth` is how many."""
        check_kind("Profile.prefixes", COUNT, depth=depth)
        return by_prefix(self.recording, depth)

    def iterations(self) -> list[IterationRecord]:
        """Return where the time of each iteration went."""
        return by_iteration(self.recording)

    def records(self) -> list[dict[str, Any]]:
        """Return `nodes` as a list of dicts."""
        return [row.as_dict() for row in self.nodes()]

    def to_dataframe(self) -> Any:
        """Return `nodes` as a pandas.DataFrame; needs pandas."""
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise MissingExtraError("Profile.to_dataframe: this needs pandas: pip install pandas") from error
        return pandas.DataFrame.from_records(self.records())

    def table(self, rows: int | None = 30) -> str:
        """Return the tables by node and by iteration as text, of the first `rows` nodes.

        >>> import rebind as mx
        >>> exe = mx.sym.exp(mx.sym.var("x"), name="e").simple_bind(mx.cpu(), x=(2, 3))
        >>> with Profile() as profile:
        ...     _ = exe.forward()
        >>> print(profile.table().splitlines()[0].split())
        ['Name', 'Operator', 'Output', 'Calls', ...
        """
        check_kind("Profile.table", or_none(WHOLE), rows=rows)
        return "\n\n".join([node_table(self.nodes(), rows), iteration_table(self.iterations())]).rstrip()

    def plot(self, path: str | os.PathLike[str] | None = None, rows: int = 30) -> ProfilePicture:
        """Draw the nodes as bars; the last line of a notebook's cell shows the picture. Needs matplotlib (extra `viz`).

        Parameters
        ----------
        path
            The file to write, if any; the suffix names the format (PNG, SVG, PDF).
        rows
            How many nodes have bars of their own.
        """
        check_kind("Profile.plot", WHOLE, rows=rows)
        picture = draw(self.nodes(), rows)
        if path is not None:
            picture.save(path)
        return picture

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        state = ", running" if self.is_running else ""
        return f"<Profile of {len(self.nodes())} nodes, {len(self.iterations())} iterations{state}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.table())}</pre>"

    def report(self) -> str:
        """Return the tables, with the file that the trace was written to, if one is wanted."""
        if not self.recording.steps:
            return (
                f"Nothing was recorded: there were {self._seen} batches, of which the first {self.skip} are not "
                "recorded. Give fit(profile=mx.profiler.Profile(skip=0)), and print it."
            )
        written = (
            f"\nThe trace is in {self.save(self.path)}: open it in ui.perfetto.dev." if self.path else ""
        )
        return f"Where the time of {len(self.iterations())} batches went:\n{self.table()}{written}"

    def save(self, path: str) -> str:
        """Write a trace that Perfetto and chrome://tracing show; return the path."""
        write(self.recording, path)
        return path
