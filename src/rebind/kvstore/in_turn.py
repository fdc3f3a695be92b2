"""`OrderedWorker`: work that is done in a fixed order, in a thread, as far as it can begin."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

__all__ = ["OrderedWorker"]

Item = TypeVar("Item", bound=Hashable)


class OrderedWorker(Generic[Item]):
    """Does the same work on some items in a thread: on each when it is ready and all before it were.

    So the order of the work does not depend on which item is ready first, while the calling thread can go on.

    Parameters
    ----------
    work
        What is done with an item.
    name
        The name of the thread; there is none before the first item is ready.

    Examples
    --------
    >>> done = []
    >>> turns = OrderedWorker(done.append, "example")
    >>> turns.begin(["a", "b", "c"])
    >>> turns.ready("b")  # waits for a
    >>> turns.ready("a")
    >>> turns.wait()
    >>> done, turns.ahead
    (['a', 'b'], ['c'])
    """

    def __init__(self, work: Callable[[Item], None], name: str) -> None:
        self._work, self._name = work, name
        self._threads: ThreadPoolExecutor | None = None
        self._ahead: deque[Item] = deque()
        self._ready: set[Item] = set()
        self._begun: list[Future[None]] = []

    def begin(self, items: Sequence[Item]) -> None:
        """Take the items to come, in their order."""
        self._ahead = deque(items)
        self._ready = set()

    @property
    def ahead(self) -> list[Item]:
        """The items whose turn has not come: with which nothing is done, nor will be until they are `ready`."""
        return list(self._ahead)

    def ready(self, item: Item) -> None:
        """Say that the work on an item can be done."""
        self._ready.add(item)
        while self._ahead and self._ahead[0] in self._ready:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(1, self._name)
            self._begun.append(self._threads.submit(self._work, self._ahead.popleft()))

    def wait(self) -> None:
        """Wait until the work that has begun is done; raise its first error."""
        begun, self._begun = self._begun, []
        errors = [error for each in begun if (error := each.exception()) is not None]
        if errors:
            raise errors[0]
