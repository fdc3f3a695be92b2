"""Which worker updates which part of which key."""

from __future__ import annotations

from collections.abc import Mapping
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

    Examples
    --------
    >>> sharding = Sharding(2)
    >>> sharding.add("weight", 10_000)
    >>> sharding.add("bias", 10)
    >>> sharding.bounds["weight"], sharding.bounds["bias"]
    ((0, 5056, 10000), (0, 0, 10))
    >>> sharding.part("weight", 1)
    (5056, 10000)
    """

    num_workers: int
    scope: UpdateScope = "element"
    smallest: int = field(default_factory=lambda: current().divided_key_elements)
    #: For each key where the parts begin, and the end of the last one.
    bounds: dict[Key, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._loads = [0] * self.num_workers

    def add(self, key: Key, size: int) -> None:
        """Divide a key of so many elements."""
        count = self.num_workers
        if self.scope == "element" and size >= self.smallest:
            length = -(-size // count)
            length += -length % ALIGNMENT
            bounds = tuple(min(rank * length, size) for rank in range(count + 1))
        else:
            owner = 0 if self.scope == "optimizer" else self._loads.index(min(self._loads))
            bounds = tuple(0 if rank <= owner else size for rank in range(count + 1))
        self.bounds[key] = bounds
        for rank, (begin, end) in enumerate(pairwise(bounds)):
            self._loads[rank] += end - begin

    def part(self, key: Key, rank: int) -> tuple[int, int]:
        """Return where the part of a worker begins and ends."""
        bounds = self.bounds[key]
        return bounds[rank], bounds[rank + 1]

    def largest_part(self, key: Key) -> int:
        """Return how many elements the largest part of the key has.

        >>> Sharding.of({"w": 10_000}, 2, "element").largest_part("w")
        5056
        """
        return max(end - begin for begin, end in pairwise(self.bounds[key]))

    def owners(self, key: Key) -> list[int]:
        """Return the workers that have a part of the key.

        >>> sharding = Sharding(4, "weight")
        >>> sharding.add("w", 100_000)
        >>> sharding.owners("w")
        [0]
        """
        return [rank for rank, (begin, end) in enumerate(pairwise(self.bounds[key])) if begin < end]

    @classmethod
    def of(
        cls, sizes: Mapping[Key, int], num_workers: int, scope: UpdateScope, smallest: int | None = None
    ) -> Sharding[Key]:
        """Return the division of keys with these numbers of elements, in this order.

        >>> Sharding.of({"a": 3, "b": 2, "c": 2}, 2, "element").bounds
        {'a': (0, 3, 3), 'b': (0, 0, 2), 'c': (0, 0, 2)}
        """
        made: Sharding[Key] = cls(num_workers, scope)
        if smallest is not None:
            made.smallest = smallest
        for key, size in sizes.items():
            made.add(key, size)
        return made
