"""NumPy's functions on arrays: ``np.sum(x)``, ``np.mean(x)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..errors import MXNetError
from .base import ArrayBase

__all__ = ["Nested", "run_on_arrays"]

#: A Python number, or lists of them.
Nested: TypeAlias = "int | float | bool | list[Nested]"


def run_on_arrays(
    func: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> object:
    """Run a function of NumPy's: as the method of an array, else on copies as NumPy arrays.

    >>> import rebind as mx
    >>> run_on_arrays(np.mean, [mx.nd.array([1, 3])], {})
    np.float32(2.0)
    """
    # What NumPy runs for arrays without this protocol: it asks for the method.
    plain = getattr(func, "_implementation", None)
    # Tried first, as it stays on the device and is recorded where the array's method is.
    if plain is not None:
        try:
            return plain(*args, **kwargs)
        except (MXNetError, TypeError, ValueError, AttributeError):
            pass
    return func(*_as_numpy(args), **_as_numpy(kwargs))


def _as_numpy(value: Any) -> Any:
    """Return arguments with NumPy arrays in the place of arrays, in lists, tuples and dicts too."""
    if isinstance(value, ArrayBase):
        return np.asarray(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(_as_numpy, value))
    if isinstance(value, dict):
        return {key: _as_numpy(item) for key, item in value.items()}
    return value
