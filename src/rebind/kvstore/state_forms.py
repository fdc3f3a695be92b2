"""What the optimizer remembers of a weight: as a form, which is JSON, with arrays; and in parts, for those of a key."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypeAlias, cast

import numpy as np
import torch
from torch import Tensor

from .. import dtypes
from ..distributed import JSON
from ..errors import StateError
from ..ndarray import NDArray
from ..optimizer.arrays import StoredState
from ..shapes import Shape
from .plan import part_shape
from .records import from_record, is_dense, to_record

__all__ = ["Form", "build_state", "form_of", "join_states", "part_of", "tensors_of"]

#: What a state looks like without its numbers: ``{'array': ['float32', [2, 3]]}``, or ``{'tuple': [...]}``.
Form: TypeAlias = JSON


def form_of(state: StoredState) -> Form:
    """Return the form of a state; numbers and None are in it, arrays are not.

    >>> form_of((NDArray(torch.ones(2)), None, 0.5))
    {'tuple': [{'array': ['float32', [2]]}, None, 0.5]}
    """
    if isinstance(state, NDArray):
        described: JSON = [dtypes.name(state.storage.dtype), list(state.shape)]
        return {"array": described} if is_dense(state) else {"record": described}
    if isinstance(state, (tuple, list)):
        return {"tuple" if isinstance(state, tuple) else "list": [form_of(each) for each in state]}
    return state.item() if isinstance(state, np.generic) else state


def tensors_of(state: StoredState) -> list[Tensor]:
    """Return the arrays of a state, in the order of its form.

    >>> tensors_of((NDArray(torch.ones(2)), None, 0.5))
    [tensor([1., 1.])]
    """
    if isinstance(state, NDArray):
        return [state.tensor if is_dense(state) else to_record(state)]
    if isinstance(state, (tuple, list)):
        return [tensor for each in state for tensor in tensors_of(each)]
    return []


def build_state(form: Form, arrays: Iterator[Tensor]) -> StoredState:
    """Return the state with a form and the next of some arrays.

    >>> state = (NDArray(torch.ones(2)), None, 0.5)
    >>> build_state(form_of(state), iter(tensors_of(state)))[1:]
    (None, 0.5)
    """
    match form:
        case {"array": _}:
            return NDArray(next(arrays))
        case {"record": _}:  # of another storage type
            return from_record(next(arrays))
        case {"tuple": members}:
            return tuple(build_state(each, arrays) for each in cast("list[Form]", members))
        case {"list": members}:
            return [build_state(each, arrays) for each in cast("list[Form]", members)]
    return cast("float | None", form)


def part_of(state: StoredState, shape: Shape, begin: int, end: int) -> StoredState:
    """Return a part of the state of a weight with a shape: rows of arrays as large as it, and all of the rest.

    >>> moments, count = part_of((NDArray(torch.arange(6.0)), 3), (3, 2), begin=2, end=6)
    >>> moments.asnumpy().tolist(), count
    ([[2.0, 3.0], [4.0, 5.0]], 3)
    """
    size = math.prod(shape)
    if (begin, end) == (0, size):  # a key that is not cut: its state keeps its shape
        return state
    if isinstance(state, NDArray):
        tensor = state.tensor.detach()
        if tensor.numel() != size:
            return state
        return NDArray(tensor.reshape(-1)[begin:end].view(part_shape(shape, begin, end)))
    if isinstance(state, (tuple, list)):
        return type(state)(part_of(each, shape, begin, end) for each in state)
    return state


def join_states(parts: Sequence[StoredState], shape: Sequence[int], key: str | int) -> StoredState:
    """Return the state of a key with a shape from its parts.

    Raises
    ------
    StateError
        When something in it that is no array as large as the weight differs from part to part.

    Examples
    --------
    >>> join_states([(NDArray(torch.zeros(1)), 3), (NDArray(torch.ones(1)), 3)], (2,), "w")[
    ...     0
    ... ].asnumpy().tolist()
    [0.0, 1.0]
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, (tuple, list)):
        members = [part for part in parts if type(part) is type(first) and len(part) == len(first)]
        if len(members) == len(parts):
            return type(first)(join_states(each, shape, key) for each in zip(*members, strict=True))
    elif isinstance(first, NDArray):
        tensors = [part.tensor for part in parts if isinstance(part, NDArray)]
        if len(tensors) == len(parts) and sum(each.numel() for each in tensors) == math.prod(shape):
            return NDArray(torch.cat([each.view(-1) for each in tensors]).view(*shape))
        if len(tensors) == len(parts) and all(torch.equal(each, tensors[0]) for each in tensors):
            return first
    elif all(part == first for part in parts):
        return first
    raise StateError(
        f"KVStore.optimizer_states: {key!r} is updated in parts, so its optimizer state must be an array of the "
        "weight's shape, or the same in all parts; it differs between parts. Set update_scope = 'weight' in the "
        "optimizer's class if its update needs the whole weight."
    )
