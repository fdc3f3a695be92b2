"""Executors by the shapes that they are bound for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

from ..executor import Executor

__all__ = ["BindingCache"]


class BindingCache:
    """The executors of the last few shapes; a shape that comes again costs nothing.

    Parameters
    ----------
    limit
        How many shapes stay bound, since each holds memory for its inputs and outputs.

    Examples
    --------
    >>> cache = BindingCache(limit=1)
    >>> first = cache.switch("a", lambda: [])
    >>> len(cache), cache.current is first
    (1, True)
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.current: list[Executor] = []
        self._by_shapes: dict[Hashable, list[Executor]] = {}  # the most recently used last

    def switch(self, shapes: Hashable, bind: Callable[[], list[Executor]]) -> list[Executor]:
        """Return the executors for `shapes`, which `bind` makes when there are none; they are current from then on.

        Those that were current free their intermediate results: `backward` will not run on them any more.

        >>> cache = BindingCache(limit=2)
        >>> first = cache.switch((8, 3), lambda: [])
        >>> len(cache)
        1
        """
        found = self._by_shapes.pop(shapes, None)
        if found is None:
            found = bind()
        else:
            for exe in found:
                exe.create_operators()
        # What is not in use keeps its arrays, but not the memory of its last pass.
        for exe in self.current:
            if exe not in found:
                exe.release()
        self._by_shapes[shapes] = self.current = found
        if len(self._by_shapes) > self.limit:
            # Dicts are ordered by insertion, and each use inserts again: the first is the least recently
            # used.
            del self._by_shapes[next(iter(self._by_shapes))]
        return found

    def __len__(self) -> int:
        return len(self._by_shapes)

    def __iter__(self) -> Iterator[Executor]:
        """Yield all executors, of all shapes."""
        return (exe for executors in self._by_shapes.values() for exe in executors)
