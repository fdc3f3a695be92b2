"""Which worker updates which part of which key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Generic, TypeVar

from ..optimizer import UpdateScope
from ..tuning import current

__all__ = ["Sharding"]

Key = TypeVar("Key", bound="str | int")

#: Parts begin at multiples of this many elements, so that a part's compressed gradients begin at a whole byte, and its
#: elements at a whole cache line.
ALIGNMENT = 64


@dataclass
class Sharding(Generic[Key]):
    """Divides keys over the workers, so that each updates about the same number of elements.

    A big key is cut into equal parts, one for each worker; a small one belongs to the worker that has the fewest
    elements so far. All workers come to the same result, since they see the same keys in the same order.

    Parameters
    ----------
    num_workers
        How many workers there are.
    scope
        What an update must see at once (`Optimizer.update_scope`): with ``'weight'`` no key is cut, and with
        ``'optimizer'`` one worker has all.
    smallest
        Keys of fewer elements are not cut.
    ranks
        The workers in the order of the parts.

    Examples
    --------
    >>> sharding = Sharding(2)
    >>> sharding.add("weight", 10_000)
    >>> sharding.add("bias", 10)
    >>> sharding.bounds["weight"], sharding.bounds["bias"]
    ((0, 5056, 10000), (0, 0, 10))
    >>> sharding.part("weight", 1)
    (5056, 10000)
    >>> sharding = Sharding.of({"one": 60, "two": 80}, 2, "element", smallest=1)
    >>> sharding.join(["one", "two"])
    >>> sharding.bounds["one"], sharding.bounds["two"]
    ((0, 60, 60), (0, 68, 80))
    """

    num_workers: int
    scope: UpdateScope = "element"
    smallest: int = field(default_factory=lambda: current().divided_key_elements)
    ranks: Sequence[int] = ()
    #: For each key where the parts begin, and the end of the last one.
    bounds: dict[Key, tuple[int, ...]] = field(default_factory=dict)
    #: The keys of each array of several, in their order in it.
    groups: list[list[Key]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ranks = self.ranks or range(self.num_workers)
        self._number_of = {rank: number for number, rank in enumerate(self.ranks)}
        self._loads = [0] * self.num_workers

    def add(self, key: Key, size: int, unit: int = ALIGNMENT) -> None:
        """Divide a key of so many elements; parts begin at multiples of `unit`, such as the size of a row.

        >>> sharding = Sharding(2, smallest=1)
        >>> sharding.add("w", 3 * 500, unit=500)
        >>> sharding.bounds["w"]
        (0, 1000, 1500)
        """
        count = self.num_workers
        if self.scope == "element" and size >= self.smallest:
            length = -(-size // count)
            length += -length % unit
            bounds = tuple(min(rank * length, size) for rank in range(count + 1))
        else:
            owner = 0 if self.scope == "optimizer" else self._loads.index(min(self._loads))
            bounds = tuple(0 if number <= owner else size for number in range(count + 1))
        self.bounds[key] = bounds
        for number, (begin, end) in enumerate(pairwise(bounds)):
            self._loads[number] += end - begin

    def join(self, keys: Sequence[Key]) -> None:
        """Put keys that were added into one array, since they travel together.

        Keys that can be cut are divided again: as if the array were a single key.
        """
        if self.scope != "element":
            self.groups.append(
                sorted(keys, key=lambda key: self.bounds[key].count(0))
            )  # those of worker 0 first
            return
        sizes = [self.bounds[key][-1] for key in keys]
        length = -(-sum(sizes) // self.num_workers)
        length += -length % ALIGNMENT
        edges = [self._edge(number * length, sizes) for number in range(self.num_workers + 1)]
        begin = 0
        for key, size in zip(keys, sizes, strict=True):
            self.bounds[key] = tuple(min(max(edge - begin, 0), size) for edge in edges)
            begin += size
        self.groups.append(list(keys))

    def _edge(self, wanted: int, sizes: Sequence[int]) -> int:
        """Return where a row begins in an array of several keys: as wanted, but not within a key that is not cut."""
        begin = 0
        for size in sizes:
            if begin < wanted < begin + size and size < self.smallest:
                return begin if 2 * (wanted - begin) < size else begin + size
            begin += size
        return min(wanted, begin)

    def part(self, key: Key, rank: int) -> tuple[int, int]:
        """Return where the part of a worker begins and ends."""
        number = self._number_of[rank]
        return self.bounds[key][number], self.bounds[key][number + 1]

    def owners(self, key: Key) -> list[int]:
        """Return the workers that have a part of the key, in the order of the parts.

        >>> sharding = Sharding(4, "weight")
        >>> sharding.add("w", 100_000)
        >>> sharding.owners("w")
        [0]
        """
        bounds = self.bounds[key]
        return [rank for rank, (begin, end) in zip(self.ranks, pairwise(bounds), strict=True) if begin < end]

    def row_edges(self, keys: Iterable[Key]) -> list[int]:
        """Return where the row of each worker begins, and the last one ends, in an array of some keys of a group.

        >>> sharding = Sharding.of({"one": 60, "two": 80}, 2, "element", smallest=1)
        >>> sharding.join(["one", "two"])
        >>> sharding.row_edges(["one", "two"]), sharding.row_edges(["two"])
        ([0, 128, 140], [0, 68, 80])
        """
        return [sum(bounds) for bounds in zip(*map(self.bounds.__getitem__, keys), strict=True)]

    @classmethod
    def of(
        cls,
        sizes: Mapping[Key, int],
        num_workers: int,
        scope: UpdateScope,
        smallest: int | None = None,
        ranks: Sequence[int] = (),
    ) -> Sharding[Key]:
        """Return the division of keys with these numbers of elements, in this order.

        >>> Sharding.of({"a": 3, "b": 2, "c": 2}, 2, "element").bounds
        {'a': (0, 3, 3), 'b': (0, 0, 2), 'c': (0, 0, 2)}
        """
        made: Sharding[Key] = cls(num_workers, scope, ranks=ranks)
        if smallest is not None:
            made.smallest = smallest
        for key, size in sizes.items():
            made.add(key, size)
        return made
