"""`Tag`: the numbers by which arrays that are sent are distinguished; all in one place, so that none is used twice."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Tag"]


class Tag(IntEnum):
    """The number, or the first of the numbers, of each kind of transfer between workers.

    Attributes
    ----------
    BUCKETS
        Buckets of keys that are pushed: two for each, for gradients and for weights.
    KEYS
        Keys that are pushed by themselves: two for each.
    STATES
        Optimizer states, to and from those who update.
    FROM_FIRST
        What worker 0 gives the others, or gets from them.
    NOBODY
        What nobody sends.

    Examples
    --------
    >>> Tag.KEYS + 2 * 3  # of the gradients of the fourth key
    1048582
    """

    BUCKETS = 0
    KEYS = 1 << 20
    STATES = 1 << 30
    FROM_FIRST = STATES + 1
    NOBODY = STATES + 2
