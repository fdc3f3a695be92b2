"""Keys for what was found out in earlier calls."""

from __future__ import annotations

import operator
from collections.abc import Collection, Hashable

import numpy as np

__all__ = ["Exactly", "exact_key"]

#: Classes with equal values that are not the same: zeros have signs, and tuples elements of several classes.
_LOOSE = frozenset((float, np.float16, np.float32, np.float64, tuple))


def exact_key(values: tuple[object, ...]) -> Hashable:
    """Return a key for values under which those are told apart that are equal and not the same.

    To Python ``1``, ``1.0`` and ``True`` are equal, and so are ``0.0`` and ``-0.0``. It is as hashable as the values.

    >>> len({exact_key((value,)) for value in (1, 1.0, True, 0.0, -0.0, (0.0,), (-0.0,), (0,))})
    8
    """
    types = tuple(map(type, values))
    return (values, types) if _LOOSE.isdisjoint(types) else (values, types, _details(values))


def _details(values: Collection[object]) -> tuple[object, ...]:
    """Return what tells values apart that are equal and of the same classes."""
    exact: list[object] = []
    for value in values:
        if type(value) is tuple:
            types = tuple(map(type, value))
            # As text it is exact, which takes longer than the types.
            exact.append(types if _LOOSE.isdisjoint(types) else repr(value))
        elif type(value) in _LOOSE and not value:  # zeros have signs
            exact.append(repr(value))
    return tuple(exact)


class Exactly:
    """Values of which equal ones of the same classes may be others: zeros, which have signs, and tuples.

    For keys that are made in each call: such a key has the values and their classes, and what is found by it is asked
    for these, if they are `needed`. That they are the very same objects, as a program's constants are, is soon seen.

    Examples
    --------
    >>> Exactly.needed((1, "a")) is None
    True
    >>> known = Exactly.needed(((0, 1), 0.0))
    >>> [known.are(given) for given in [((0, 1), 0.0), ((False, 1), 0.0), ((0, 1), -0.0)]]
    [True, False, False]
    """

    __slots__ = ("_details", "_values")

    def __init__(self, values: tuple[object, ...]) -> None:
        self._values, self._details = values, _details(values)

    @classmethod
    def needed(cls, values: tuple[object, ...]) -> Exactly | None:
        """Return the values to be asked for; None where a key with their classes is exact.

        >>> Exactly.needed((0.5, 2)) is None, Exactly.needed((0.0, 2)) is None
        (True, False)
        """
        found = cls(values)
        return found if found._details else None

    def are(self, values: Collection[object]) -> bool:
        """Whether equal values of the same classes are the same."""
        return all(map(operator.is_, values, self._values)) or _details(values) == self._details
