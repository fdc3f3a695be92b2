"""Orders of samples that come from C++'s random generator, by the same numbers as in MXNet."""

from __future__ import annotations

import numpy as np

__all__ = ["shuffled_order"]


def shuffled_order(count: int, seed: int) -> np.ndarray:
    """Return ``0 .. count - 1`` in the order in which MXNet's iterators shuffle them.

    A Fisher-Yates shuffle from the first element on, whose numbers come from a 32-bit Mersenne Twister as
    ``std::uniform_int_distribution`` of GNU's C++ library draws them.

    >>> shuffled_order(11, seed=0).tolist()
    [0, 2, 3, 5, 9, 1, 10, 8, 4, 7, 6]
    """
    # C++ takes a negative seed for a large positive one.
    twister = np.random.RandomState(seed % 2**32)
    bounds = np.arange(2, count + 1, dtype=np.uint64)  # element i changes places with one of 0..i
    widths = np.uint64(2**32 - 1) // bounds
    draws = twister.randint(0, 2**32, len(bounds), dtype=np.uint32).astype(np.uint64)
    start = 0
    # A draw beyond the last whole multiple of the bound is thrown away, and those after it move up.
    while (rejected := np.flatnonzero(draws[start:] >= (widths * bounds)[start:])).size:
        start += int(rejected[0])
        draws = np.append(np.delete(draws, start), twister.randint(0, 2**32, dtype=np.uint32))
    order = list(range(count))
    for i, other in enumerate((draws // widths).tolist(), 1):
        order[i], order[other] = order[other], order[i]
    return np.array(order, dtype=np.int64)
