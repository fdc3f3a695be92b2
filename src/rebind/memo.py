"""Keys for what was found out in earlier calls."""

from __future__ import annotations

from collections.abc import Collection, Hashable

import numpy as np

__all__ = ["LOOSE", "exact_key"]

#: Classes with equal values that are not the same: zeros have signs, and elements of tuples may be of several classes.
LOOSE = frozenset((float, np.float16, np.float32, np.float64, tuple))


def exact_key(values: tuple[object, ...]) -> Hashable:
    """Return a key for values under which those are distinguished that are equal and not the same.

    To Python ``1``, ``1.0`` and ``True`` are equal, and so are ``0.0`` and ``-0.0``. It is as hashable as the values.

    >>> len({exact_key((value,)) for value in (1, 1.0, True, 0.0, -0.0, (0.0,), (-0.0,), (0,))})
    8
    """
    types = tuple(map(type, values))
    return (values, types) if LOOSE.isdisjoint(types) else (values, types, _details(values))


def _details(values: Collection[object]) -> tuple[object, ...]:
    """Return what tells values apart that are equal and of the same classes."""
    exact: list[object] = []
    for value in values:
        if type(value) is tuple:
            types = tuple(map(type, value))
            # As text it is exact, which takes longer than the types.
            exact.append(types if LOOSE.isdisjoint(types) else repr(value))
        elif type(value) in LOOSE and not value:  # zeros have signs
            exact.append(repr(value))
    return tuple(exact)
