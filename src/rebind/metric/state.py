"""Saving what a metric has added up, as data that a file can hold, and restoring it exactly."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy
from torch import Tensor

from ..checks import warn_user
from ..ndarray import NDArray

__all__ = ["restore", "snapshot"]

_PLAIN = (bool, int, float, str, bytes, type(None))
_METRIC = "state_dict of a metric"


class _NotData(Exception):
    """A value that a file cannot hold as data."""


def snapshot(values: Mapping[str, Any], who: str) -> dict[str, Any]:
    """Return deep copies of values, tensors on the CPU.

    What a file cannot hold is left out, with a warning that names `who` and the value; functions silently.

    >>> total = numpy.zeros(2)
    >>> saved = snapshot({"total": total}, "mine")
    >>> total += 1
    >>> saved
    {'total': array([0., 0.])}
    """
    found = {}
    for name, value in values.items():
        try:
            found[name] = _copied(value)
        except _NotData as error:
            # A function is no state: the metric's own code makes it again.
            if not callable(value):
                warn_user(
                    f"{who}: {name} must be numbers, arrays, or lists and dicts of these to be saved; got {error}, "
                    "which is left out. Define state_dict and load_state_dict in the metric."
                )
    return found


def _copied(value: Any) -> Any:
    if isinstance(value, numpy.generic):
        return numpy.array(value)  # with its type: sums of float32 and of float64 round differently
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, Tensor):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, NDArray) or (isinstance(value, numpy.ndarray) and not value.dtype.hasobject):
        return value.copy()
    if isinstance(value, Mapping) and all(isinstance(key, (str, int)) for key in value):
        return {key: _copied(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_copied(each) for each in value]
        return tuple(items) if isinstance(value, tuple) else items
    if hasattr(value, "state_dict") and hasattr(value, "load_state_dict"):
        # Marked, for `restore` to give it to the metric that is there then.
        return {_METRIC: value.state_dict()}
    raise _NotData(type(value).__name__)


def restore(value: Any, current: Any = None) -> Any:
    """Return what `snapshot` was given; `current` is what has replaced it, for its kind and device.

    >>> import collections
    >>> restore({"a": 1}, collections.Counter())
    Counter({'a': 1})
    """
    if isinstance(value, Mapping) and _METRIC in value:
        current.load_state_dict(value[_METRIC])
        return current
    if isinstance(value, Mapping):
        # Into a copy of the present value, which may be more than a dict: a defaultdict, a Counter.
        found = copy.copy(current) if isinstance(current, dict) else {}
        before = dict(found)
        found.clear()
        found.update({key: restore(each, before.get(key)) for key, each in value.items()})
        return found
    if isinstance(value, (list, tuple)):
        known = isinstance(current, (list, tuple)) and len(current) == len(value)
        # By position where the length is the same; else nothing says what was where.
        items = [restore(each, current[i] if known else None) for i, each in enumerate(value)]
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, NDArray):
        return value.copyto(current.context) if isinstance(current, NDArray) else value.copy()
    if isinstance(value, Tensor):
        return value.to(current.device if isinstance(current, Tensor) else "cpu", copy=True)
    if isinstance(value, numpy.ndarray):
        return value[()] if value.ndim == 0 else value.copy()
    return value
