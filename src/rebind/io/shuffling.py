"""Orders of samples that come from C++'s random generator, by the same numbers as in MXNet."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Shuffler", "shuffled_order"]


class Shuffler:
    """Draws one order after the other, as an iterator of MXNet's does that shuffles at each epoch.

    A Fisher-Yates shuffle from the first element on, whose numbers come from a 32-bit Mersenne Twister as
    ``std::uniform_int_distribution`` of GNU's C++ library draws them.

    Parameters
    ----------
    seed
        Of the generator.

    Examples
    --------
    >>> shuffler = Shuffler(seed=111)
    >>> shuffler.order(10).tolist(), shuffler.order(3).tolist()
    ([3, 4, 9, 2, 1, 6, 7, 0, 5, 8], [2, 0, 1])
    """

    def __init__(self, seed: int) -> None:
        # C++ takes a negative seed for a large positive one.
        self._twister = np.random.RandomState(seed % 2**32)

    def order(self, count: int) -> np.ndarray:
        """Return ``0 .. count - 1`` shuffled."""
        twister = self._twister
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

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the generator, for `load_state_dict`."""
        _, words, position, _, _ = self._twister.get_state()
        return {"words": words, "position": int(position)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state that `state_dict` returned."""
        words = np.asarray(state["words"]).astype(np.uint32)
        self._twister.set_state(("MT19937", words, int(state["position"]), 0, 0.0))


def shuffled_order(count: int, seed: int) -> np.ndarray:
    """Return ``0 .. count - 1`` in the order in which MXNet's iterators shuffle them.

    >>> shuffled_order(11, seed=0).tolist()
    [0, 2, 3, 5, 9, 1, 10, 8, 4, 7, 6]
    """
    return Shuffler(seed).order(count)
