"""Updates of weights whose storage, or their gradients', is not dense: of the rows that the gradient has."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from ..ndarray import NDArray
from ..ndarray.base import wrap
from ..ndarray.storage import DenseStorage
from .arrays import StoredState, members_of
from .group import InnerState

__all__ = ["like_weight", "rows_of_update", "update_rows", "values_of"]

#: What updates dense tensors in place: indices, weights, gradients, states.
Update: TypeAlias = """Callable[
    [Sequence[Hashable], list[Tensor], list[Tensor], Sequence[InnerState | None]], None
]"""


def rows_of_update(weight: NDArray, grad: NDArray, is_lazy: bool) -> Tensor | None:
    """Return which rows an update changes; None where both arrays are dense, and all are.

    With `is_lazy` rows that the gradient lacks are left as they are.

    >>> rows_of_update(NDArray(torch.ones(2)), NDArray(torch.ones(2)), is_lazy=True) is None
    True
    """
    if isinstance(weight.storage, DenseStorage) and isinstance(grad.storage, DenseStorage):
        return None
    present = grad.storage.row_indices if is_lazy else None
    return torch.arange(weight.shape[0], device=weight.storage.device) if present is None else present


def update_rows(
    update: Update,
    index: Sequence[Hashable],
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    states: Sequence[StoredState],
    rows: Mapping[int, Tensor],
) -> None:
    """Update weights, those at the positions in `rows` by these rows of weight, gradient and state.

    >>> weight = NDArray(torch.ones(3, 1))
    >>> def subtract(index, weights, grads, states):
    ...     weights[0].sub_(grads[0])
    >>> update_rows(subtract, [0], [weight], [NDArray(torch.ones(3, 1))], [None], {0: torch.tensor([0, 2])})
    >>> weight.asnumpy().ravel().tolist()
    [0.0, 1.0, 0.0]
    """
    found = [_rows(weight, rows.get(k)) for k, weight in enumerate(weights)]
    inner = [_state_rows(state, rows.get(k)) for k, state in enumerate(states)]
    update(index, found, [_rows(grad, rows.get(k)) for k, grad in enumerate(grads)], inner)
    for k, at in rows.items():
        weights[k].storage.write_rows(at, found[k])
        members = () if states[k] is None else members_of(states[k])
        for member, value in zip(members, inner[k] or (), strict=True):
            if member is not None and value is not None:
                member.storage.write_rows(at, value)


def _rows(array: NDArray, at: Tensor | None) -> Tensor:
    return array.tensor if at is None else array.storage.rows(at)


def _state_rows(state: StoredState, at: Tensor | None) -> InnerState | None:
    if state is None:
        return None
    return tuple([None if each is None else _rows(each, at) for each in members_of(state)])


def values_of(weight: NDArray) -> Tensor:
    """Return all rows of a weight as a dense tensor, for making its state."""
    storage = weight.storage
    if isinstance(storage, DenseStorage):
        return weight.tensor
    return storage.rows(torch.arange(weight.shape[0], device=storage.device))


def like_weight(value: Tensor, weight: NDArray) -> NDArray:
    """Return a member of a weight's state as an array of the weight's storage type."""
    if isinstance(weight.storage, DenseStorage) or value.shape != weight.shape:
        return NDArray(value, weight.context)
    return wrap(weight.storage.from_dense(value), weight.context)
