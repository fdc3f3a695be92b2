"""The cache of runs: a run on the same arrays as the last one skips its preparation.

Between two batches of a training loop hardly anything changes but the numbers. A cached run holds what was found out of
arrays, shapes and modes, with a `Guard` that says what must be as it was; `RunCache` holds the last one, and drops it
when its guard does not hold. Cached are inference, forward with backward (`CachedPass`), updates (`CachedUpdate`), and
all of them in one call of compiled code (`CachedStep`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from ..ndarray import NDArray
from ..ndarray.same_memory import SameMemory

__all__ = ["CachedRun", "Guard", "RunCache"]


class Guard:
    """What must be as it was for a cached run. Made by `of`.

    Compared are, by identity: the tensor in which each array lies, and the objects that `objects` returns. Values in
    memory may be others; an array in other memory, another storage or another object drops the run.

    Examples
    --------
    >>> import rebind as mx
    >>> weight, settings = mx.nd.ones((2,)), {"mode": "a"}
    >>> guard = Guard.of([weight], lambda: (settings["mode"],))
    >>> weight[:] = 5
    >>> guard.holds()
    True
    >>> settings["mode"] = "b"
    >>> guard.holds()
    False
    """

    __slots__ = ("_memory", "_objects", "_were")

    def __init__(self, memory: SameMemory, objects: Callable[[], Sequence[object]]) -> None:
        self._memory, self._objects, self._were = memory, objects, objects()

    @classmethod
    def of(cls, arrays: Iterable[NDArray], objects: Callable[[], Sequence[object]]) -> Guard | None:
        """Return the guard of arrays; None where one is not dense in the order of its axes, or was recorded."""
        memory = SameMemory.of(arrays)
        return None if memory is None else cls(memory, objects)

    def holds(self) -> bool:
        """Return whether all is as it was."""
        return all(map(operator.is_, self._objects(), self._were)) and self._memory.holds()


class CachedRun(Protocol):
    """A run with all that does not change from batch to batch prepared."""

    guard: Guard


R = TypeVar("R", bound=CachedRun)


class RunCache(Generic[R]):
    """The last cached run of a kind.

    One that was dropped is made again when the next plain run is done, unless it was never of use: then the next one
    would not be either.

    Attributes
    ----------
    run
        The run; None where there is none.
    was_used
        Whether it ran since it was made.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> cache = RunCache()
    >>> cache.find(lambda: None) is None, cache.may_make
    (True, False)
    """

    __slots__ = ("may_make", "run", "was_used")

    def __init__(self) -> None:
        self.run: R | None = None
        self.was_used = False
        self.may_make = True

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(self), ()  # a copy is of other arrays

    def find(self, make: Callable[[], R | None]) -> R | None:
        """Return the run if its guard holds, or one that `make` makes; None where all must be found out again."""
        if self.run is None:
            if not self.may_make:
                return None
            self.run, self.was_used = make(), False
            self.may_make = self.run is not None
        elif not self.run.guard.holds():
            self.drop()
        return self.run

    def note(self, done: bool) -> bool:
        """Note whether the run that was found has run, and return that; drop it if not."""
        if done:
            self.was_used = True
        else:
            self.drop()
        return done

    def drop(self) -> None:
        """Drop the run."""
        self.run, self.may_make = None, self.was_used
