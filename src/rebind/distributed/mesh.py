"""`Mesh`: the workers of a job as a grid, in which each exchanges arrays with those that are in line with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ..tuning import current

__all__ = ["Mesh"]


@dataclass(frozen=True)
class Mesh:
    """The workers as a grid of one dimension or more.

    Sums are formed along one dimension after the other. After the first a worker is left with the sums of 1 / sizes[0]
    of all elements, which is all that it exchanges along the others.

    Attributes
    ----------
    sizes
        The number of workers along each dimension, in the order in which sums are formed.
    ranks
        The workers in the order of the grid, its last dimension counting fastest.

    Examples
    --------
    >>> mesh = Mesh.over(["node0", "node0", "node1", "node1"])
    >>> mesh.sizes, mesh.ranks  # first within a machine, then between the machines
    ((2, 2), (0, 2, 1, 3))
    >>> mesh.line(0, 0), mesh.line(0, 1)
    ((0, 1), (0, 2))
    """

    sizes: tuple[int, ...]
    ranks: tuple[int, ...]

    @classmethod
    def line_of(cls, count: int) -> Mesh:
        """Return a grid of one dimension, in which each exchanges with every other one.

        >>> Mesh.line_of(3)
        Mesh(sizes=(3,), ranks=(0, 1, 2))
        """
        return cls((count,), tuple(range(count)))

    @classmethod
    def over(cls, machines: Sequence[str]) -> Mesh:
        """Return a grid of short lines, the first ones within machines, between which then the fewest bytes travel.

        Parameters
        ----------
        machines
            By worker the machine that it is on. Where machines have different numbers of workers the lines do not
            follow them.

        Examples
        --------
        >>> Mesh.over(["node0"] * 8).sizes, Mesh.over(["node0"] * 7).sizes
        ((4, 2), (7,))
        """
        by_machine: dict[str, list[int]] = {}
        for rank, machine in enumerate(machines):
            by_machine.setdefault(machine, []).append(rank)
        first, *others = map(len, by_machine.values())
        are_equal = all(each == first for each in others)
        sizes = (*_factors(first), *_factors(len(by_machine))) if are_equal else _factors(len(machines))
        # Workers of one machine follow each other, so that the first dimension counts fastest.
        ranks = np.reshape([rank for each in by_machine.values() for rank in each], sizes[::-1])
        return cls(sizes or (1,), tuple(ranks.T.ravel().tolist()))

    def row(self, rank: int) -> int:
        """Return where a worker is in the order of the grid.

        >>> Mesh((2, 2), (0, 2, 1, 3)).row(1)
        2
        """
        return self.ranks.index(rank)

    def line(self, rank: int, dimension: int) -> tuple[int, ...]:
        """Return the workers that differ from one along this dimension only, itself among them."""
        size, stride = self.sizes[dimension], prod(self.sizes[dimension + 1 :])
        row = self.row(rank)
        first = row - row // stride % size * stride
        return self.ranks[first : first + size * stride : stride]


def _factors(number: int) -> tuple[int, ...]:
    """Return factors of a number, as large as a line may be, or primes; none of 1.

    >>> _factors(8), _factors(12), _factors(7), _factors(1)
    ((4, 2), (4, 3), (7,), ())
    """
    found, longest = [], current().line_workers
    for factor in (*range(longest, 1, -1), *range(longest + 1, number + 1)):
        while number % factor == 0:
            found.append(factor)
            number //= factor
    return tuple(found)
