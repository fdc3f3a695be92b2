"""`Staleness`: how old the weights were that gradients were computed with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Staleness"]


@dataclass(frozen=True)
class Staleness:
    """How many updates of a key others had made between a worker's pull of it and its next pushes.

    Attributes
    ----------
    pushes
        How many pushes were counted: one for each key, or part of a key.
    total
        The sum over them.
    largest
        The largest of them.

    Examples
    --------
    >>> found = Staleness().with_pushes([0, 3])
    >>> found.mean, found.largest
    (1.5, 3)
    >>> print(found)
    2 pushes with a staleness of 1.5 updates on average, 3 at most
    """

    pushes: int = 0
    total: int = 0
    largest: int = 0

    def with_pushes(self, staleness: Sequence[int]) -> Staleness:
        """Return it with further pushes counted."""
        if not staleness:
            return self
        return Staleness(
            self.pushes + len(staleness), self.total + sum(staleness), max(self.largest, *staleness)
        )

    @property
    def mean(self) -> float:
        """The average; 0 before the first push."""
        return self.total / self.pushes if self.pushes else 0.0

    def __repr__(self) -> str:
        return f"Staleness(pushes={self.pushes}, mean={self.mean:.3g}, largest={self.largest})"

    def __str__(self) -> str:
        return f"{self.pushes} pushes with a staleness of {self.mean:.3g} updates on average, {self.largest} at most"
