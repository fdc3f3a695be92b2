"""The ``.states`` format of MXNet: pickled optimizer states, read and written without running anything.

The content is a pickle of ``{index: state}``, or of ``(that, optimizer)``. A state is None, an array or a tuple of
states. An array is pickled as ``NDArray(None)`` with the attribute ``handle``, a bytearray with the array as it
is in a ``.params`` file. Optimizers and schedules are pickled as their classes with their attributes.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from .. import lr_scheduler
from ..errors import FormatError
from ..ndarray import NDArray, load_frombuffer
from ..ndarray.serialization import array_to_bytes
from . import contrib
from .arrays import StoredState
from .base import Optimizer, optimizers
from .records import ARRAYS, SCHEDULERS, PickledArray, PickledObject, PlainUnpickler

__all__ = ["read_states", "write_states"]

_OPTIMIZER = "mxnet.optimizer.optimizer"
_CONTRIB = "mxnet.optimizer.contrib"
_SCHEDULER = "mxnet.lr_scheduler"
_MOST_ARRAYS = 64  # in the state of one weight
_DEEPEST = 4  # lists in lists of an optimizer's attribute


def write_states(states: Mapping[Hashable, StoredState], optimizer: Optimizer | None = None) -> bytes:
    """Return the content of a ``.states`` file.

    >>> from rebind import nd
    >>> content = write_states({0: nd.ones((2,)), "w": (None, nd.zeros((1,)))})
    >>> read_states(content)[0]["w"][1].asnumpy().tolist()
    [0.0]
    """
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=4).dump(states if optimizer is None else (states, optimizer))
    return buffer.getvalue()


class _Name:
    """A class by its name alone, which need not be importable here."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self) -> None:  # pickle wants a callable; it is never called
        raise NotImplementedError


_PythonPickler: Any = pickle._Pickler


class _Pickler(_PythonPickler):
    """Writes our objects under MXNet's names; pickle's Pickler in C refuses names that it cannot import."""

    dispatch = dict(_PythonPickler.dispatch)

    def save_name(self, name: _Name) -> None:
        """Write a class."""
        self.save(name.module)
        self.save(name.name)
        self.write(pickle.STACK_GLOBAL)
        self.memoize(name)

    dispatch[_Name] = save_name

    def reducer_override(self, value: object) -> Any:
        """Return how a value is put together again."""
        if isinstance(value, NDArray):
            kind = ARRAYS.get(value.stype, ARRAYS["default"])
            return _named(*kind), (None,), {"handle": bytearray(array_to_bytes(value))}
        if isinstance(value, (Optimizer, lr_scheduler.LRScheduler)):
            return _pickled_object(value)
        if isinstance(value, np.generic):
            return _named("builtins", type(value.item()).__name__), (value.item(),)
        # Everything else in pickle's own way.
        return NotImplemented


_names: dict[tuple[str, str], _Name] = {}


def _named(module: str, name: str) -> _Name:
    return _names.setdefault((module, name), _Name(module, name))


def _pickled_object(value: Optimizer | lr_scheduler.LRScheduler) -> tuple:
    kind = type(value)
    attributes = dict(vars(value))
    module = kind.__module__
    if isinstance(value, Optimizer):
        attributes["allow_np_array"] = False  # which 1.9.1 looks for
        # On the class here, on each object in MXNet.
        attributes.setdefault("aggregate_num", value.aggregate_num)
        if _is_ours(kind):
            module = _CONTRIB if kind.__name__ in contrib.__all__ else _OPTIMIZER
    elif _is_ours(kind):
        module = _SCHEDULER
    # As protocol 1 makes an object: without a call of `__init__`.
    create = _named("copyreg", "_reconstructor")
    return create, (_named(module, kind.__qualname__), _named("builtins", "object"), None), attributes


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == __name__.partition(".")[0]


def read_states(content: bytes) -> tuple[dict[Hashable, StoredState], Optimizer | None]:
    """Return the states in the content of a ``.states`` file, and the optimizer if it is there.

    Raises
    ------
    FormatError
        When the content is no such file, or holds something that does not belong there.

    Examples
    --------
    >>> read_states(b"no pickle")
    Traceback (most recent call last):
        ...
    rebind.errors.FormatError: optimizer states: must be a .states file; got what cannot be read: invalid load key, 'n'.
    """
    try:
        found = PlainUnpickler(io.BytesIO(content)).load()
    except FormatError:
        raise
    except Exception as error:  # a damaged pickle raises whatever it comes upon
        raise FormatError(
            f"optimizer states: must be a .states file; got what cannot be read: {error}"
        ) from None
    optimizer = None
    if isinstance(found, tuple) and len(found) == 2:
        found, record = found
        optimizer = _optimizer_from(record)
    if not isinstance(found, dict):
        raise FormatError(f"optimizer states: must be a dict from index to state; got {type(found).__name__}")
    return {_checked_index(index): _state_from(state, index) for index, state in found.items()}, optimizer


def _checked_index(index: object) -> Hashable:
    if not isinstance(index, (int, str, tuple)):
        raise FormatError(
            f"optimizer states: an index must be a number or a name; got {type(index).__name__}"
        )
    return index


def _state_from(value: object, index: object) -> StoredState:
    arrays = 0

    def convert(member: object, depth: int) -> StoredState:
        nonlocal arrays
        if member is None:
            return None
        # Depth and number are bounded: what a file holds must not take all memory.
        if isinstance(member, (tuple, list)) and depth < 4:
            return type(member)(convert(each, depth + 1) for each in member)
        arrays += 1  # a small file could name one tuple very often
        if isinstance(member, PickledArray) and arrays <= _MOST_ARRAYS:
            return _array_from(member.attributes.get("handle"), index)
        if isinstance(member, (bool, int, float)):
            return member
        raise FormatError(
            f"optimizer states: a state must be arrays, numbers or None; got {type(member).__name__} for {index!r}"
        )

    return convert(value, 0)


def _array_from(handle: object, index: object) -> NDArray | None:
    if handle is None:
        return None
    if not isinstance(handle, (bytes, bytearray)):
        raise FormatError(
            f"optimizer states: the array of {index!r} must be bytes; got {type(handle).__name__}"
        )
    # The bytes of one array are a file with that array alone, but for the file's head and end.
    content = struct.pack("<QQQ", 0x112, 0, 1) + handle + struct.pack("<Q", 0)
    (array,) = load_frombuffer(content)
    return array


def _optimizer_from(record: object) -> Optimizer:
    if not isinstance(record, PickledObject) or record.kind not in optimizers:
        raise FormatError(
            f"optimizer states: the second member must be an optimizer; got {type(record).__name__}"
        )
    attributes = dict(record.attributes)
    kind = optimizers[record.kind]
    if isinstance(attributes.get("lr_scheduler"), PickledObject):
        attributes["lr_scheduler"] = _schedule_from(attributes["lr_scheduler"])
    attributes.pop("allow_np_array", None)
    seen: dict[int, object] = {}
    for name, value in attributes.items():
        attributes[name] = _plain(value, f"{record.kind}.{name}", seen)
    counts = attributes.get("_all_index_update_counts")
    optimizer = kind.__new__(kind)
    # What an older file lacks.
    vars(optimizer).update(vars(kind()) if "__dataclass_fields__" in vars(kind) else {})
    vars(optimizer).update(attributes)
    if isinstance(counts, dict) and counts:  # the counts in use are one of the dicts in this one
        optimizer._index_update_count = counts.get(0, next(iter(counts.values())))
    return optimizer


def _schedule_from(record: PickledObject) -> lr_scheduler.LRScheduler:
    if record.kind not in SCHEDULERS:
        raise FormatError(f"optimizer states: no learning-rate schedule {record.kind!r}")
    kind = SCHEDULERS[record.kind]
    schedule = kind.__new__(kind)
    vars(schedule).update(
        {name: _plain(value, f"{record.kind}.{name}", {}) for name, value in record.attributes.items()}
    )
    return schedule


def _plain(value: object, who: str, seen: dict[int, object], depth: int = 0) -> object:
    """Return plain data as it is, with arrays in place of their records; nothing else may be there.

    `seen` holds what was converted: a small file could name one list very often.
    """
    if isinstance(value, (bool, int, float, str, type(None), lr_scheduler.LRScheduler)):
        return value
    # What is shared in the file, such as counts of updates, stays shared.
    if id(value) in seen:
        return seen[id(value)]
    found: object
    if isinstance(value, PickledArray):
        found = _array_from(value.attributes.get("handle"), who)
    elif depth < _DEEPEST and isinstance(value, dict):
        found = {_checked_index(key): _plain(each, who, seen, depth + 1) for key, each in value.items()}
    elif depth < _DEEPEST and isinstance(value, (list, tuple)):
        found = type(value)(_plain(each, who, seen, depth + 1) for each in value)
    else:
        raise FormatError(
            f"optimizer states: {who} must be a number, a text, an array, or lists or dicts of them; "
            f"got {type(value).__name__}"
        )
    seen[id(value)] = found
    return found
