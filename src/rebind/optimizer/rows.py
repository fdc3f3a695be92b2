"""Updates of weights whose storage, or their gradients', is not dense: of the rows that the gradient has."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias, cast

import torch
from torch import Tensor

from ..ndarray import NDArray
from ..ndarray.base import wrap
from ..ndarray.sparse.row_sparse import RowSparseStorage
from ..ndarray.storage import DenseStorage, Storage
from ..threads import OneThread
from ..tuning import current
from .arrays import StoredState, members_of
from .group import InnerState

__all__ = ["like_weight", "round_weight", "update_rows", "values_of"]

#: What updates dense tensors in place: indices, weights, gradients, states.
Update: TypeAlias = """Callable[
    [Sequence[Hashable], list[Tensor], list[Tensor], Sequence[InnerState | None]], None
]"""


def update_rows(
    update: Update,
    index: Sequence[Hashable],
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    states: Sequence[StoredState],
    is_lazy: bool,
) -> None:
    """Update weights by gradients, which `update` takes as dense tensors.

    With `is_lazy` it takes the rows that a gradient has, of weight and states too; other rows stay as they are.

    >>> import rebind as mx
    >>> weight, grad = NDArray(torch.ones(3, 1)), mx.nd.array([[1], [0], [1]]).tostype("row_sparse")
    >>> def subtract(index, weights, grads, states):
    ...     weights[0].sub_(grads[0])
    >>> update_rows(subtract, [0], [weight], [grad], [None], is_lazy=True)
    >>> weight.asnumpy().ravel().tolist()
    [0.0, 1.0, 0.0]
    """
    present = [grad.storage.present_rows() if is_lazy else None for grad in grads]
    rows = [None if pair is None else pair[0] for pair in present]
    values = [
        _gather(grad.storage, None) if pair is None else pair[1]
        for grad, pair in zip(grads, present, strict=True)
    ]
    targets = [
        [weight, *(() if state is None else members_of(state))]
        for weight, state in zip(weights, states, strict=True)
    ]
    with OneThread(sum(map(Tensor.numel, values)) < current().one_thread_row_elements):
        gathered = [
            [None if array is None else _gather(array.storage, at) for array in arrays]
            for arrays, at in zip(targets, rows, strict=True)
        ]
        inner = [
            None if state is None else tuple(tensors[1:])
            for state, tensors in zip(states, gathered, strict=True)
        ]
        update(index, [cast(Tensor, tensors[0]) for tensors in gathered], values, inner)
        for arrays, tensors, at in zip(targets, gathered, rows, strict=True):
            for array, tensor in zip(arrays, tensors, strict=True):
                if array is not None and tensor is not None:
                    _scatter(array.storage, at, tensor)


def _gather(storage: Storage, rows: Tensor | None) -> Tensor:
    """Return rows of a storage, or all of them: in its own memory where that holds all."""
    if rows is not None:
        return storage.rows(rows)
    memory = _memory(storage)
    return storage.rows(_all_rows(storage)) if memory is None else memory


def _scatter(storage: Storage, rows: Tensor | None, tensor: Tensor) -> None:
    """Write what `_gather` has returned, and an update has written to, back into its storage."""
    if rows is not None:
        storage.write_rows(rows, tensor)
    elif _memory(storage) is None:
        storage.write_rows(_all_rows(storage), tensor)


def _memory(storage: Storage) -> Tensor | None:
    """Return the tensor that has all rows of a storage in their order; None where there is no such tensor."""
    if isinstance(storage, DenseStorage):
        return storage.tensor
    return storage.data if isinstance(storage, RowSparseStorage) and storage.is_whole else None


def _all_rows(storage: Storage) -> Tensor:
    return torch.arange(storage.shape[0], device=storage.device)


def round_weight(weight: NDArray, master: NDArray, grad: NDArray, is_lazy: bool) -> None:
    """Round a weight from its master copy; where the update is lazy, the rows of the gradient.

    >>> import rebind as mx
    >>> weight, grad = mx.nd.zeros((2, 1), dtype="float16"), mx.nd.array([[0], [1]]).tostype("row_sparse")
    >>> round_weight(weight, mx.nd.ones((2, 1)), grad, is_lazy=True)
    >>> weight.asnumpy().ravel().tolist()
    [0.0, 1.0]
    """
    rows = grad.storage.row_indices if is_lazy else None
    if rows is None:
        weight.write_unrecorded(master.storage)
    else:
        weight.storage.write_rows(rows, master.storage.rows(rows).to(weight.storage.dtype))


def values_of(weight: NDArray) -> Tensor:
    """Return the rows that a weight has, which its state is made from; or those of a gradient."""
    storage = weight.storage
    return storage.data if isinstance(storage, RowSparseStorage) else _gather(storage, None)


def like_weight(value: Tensor, weight: NDArray) -> NDArray:
    """Return what was made from `values_of`, as a member of a weight's state, as an array of the weight's storage type.

    It has the rows that the weight has: none need be added in an update.
    """
    storage = weight.storage
    if isinstance(storage, RowSparseStorage) and value.shape[:1] == storage.data.shape[:1]:
        return wrap(storage.with_data(value), weight.context)
    if isinstance(storage, DenseStorage) or value.shape != weight.shape:
        return NDArray(value, weight.context)
    return wrap(storage.from_dense(value), weight.context)
