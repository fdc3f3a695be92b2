"""Weights, gradients and states as callers give them: arrays, one or several."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import TypeAlias, cast

from torch import Tensor

from ..ndarray import NDArray
from ..ndarray.storage import CONTIGUOUS, DenseStorage
from .group import InnerState

__all__ = [
    "ArrayTree", "StoredState", "are_channels_last", "in_lists", "inner_tensors", "is_channels_last", "members_of",
    "tensors_of",
]  # fmt: skip

#: The state of a weight, as an optimizer's `create_state_multi_precision` returns it.
ArrayTree: TypeAlias = "NDArray | tuple[ArrayTree, ...] | list[ArrayTree] | None"
#: What an `Updater` holds for a weight: the state of an optimizer of a user's own may have numbers in it too.
StoredState: TypeAlias = "NDArray | float | tuple[StoredState, ...] | list[StoredState] | None"


def in_lists(
    index: Hashable | Sequence[Hashable],
    weight: NDArray | Sequence[NDArray],
    grad: NDArray | Sequence[NDArray],
    state: StoredState | Sequence[StoredState],
) -> tuple[Sequence[Hashable], Sequence[NDArray], Sequence[NDArray], Sequence[StoredState]]:
    """Return what an update takes as lists; one weight makes lists of one.

    >>> in_lists("w", "weight", "grad", None)
    (['w'], ['weight'], ['grad'], [None])
    >>> in_lists(["a", "b"], ("wa", "wb"), ("ga", "gb"), [None, None])
    (['a', 'b'], ('wa', 'wb'), ('ga', 'gb'), [None, None])
    """
    if isinstance(index, (list, tuple)):
        return (
            index,
            cast("Sequence[NDArray]", weight),
            cast("Sequence[NDArray]", grad),
            cast("Sequence[StoredState]", state),
        )
    return [index], [cast(NDArray, weight)], [cast(NDArray, grad)], [cast(StoredState, state)]


def tensors_of(arrays: Sequence[NDArray], channels_last: Collection[int] = ()) -> list[Tensor]:
    """Return the tensors of arrays; of those at the positions `channels_last` with their axes in the order of memory.

    These have their channels last. All that is returned is contiguous: kernels may walk over the memory.

    >>> import torch
    >>> x = NDArray(torch.ones(2, 3, 4, 5))
    >>> _ = x.storage.put_channels_last()
    >>> [tensors_of([x], positions)[0].shape for positions in ([0], [])]
    [torch.Size([2, 4, 5, 3]), torch.Size([2, 3, 4, 5])]
    """
    return [
        array.storage.memory.movedim(1, -1)  # type: ignore[attr-defined]  # it is dense
        if i in channels_last
        else array.storage.tensor  # type: ignore[attr-defined]
        for i, array in enumerate(arrays)
    ]


def inner_tensors(state: StoredState, channels_last: bool = False) -> InnerState | None:
    """Return the tensors of a state without master copy, as a `Group` has them.

    >>> import torch
    >>> inner_tensors((NDArray(torch.ones(1)), None))
    (tensor([1.]), None)
    """
    if state is None:
        return None
    if channels_last:
        return tuple([None if each is None else tensors_of([each], [0])[0] for each in members_of(state)])
    if isinstance(state, NDArray):  # the usual state, and asked for at each update
        return (state.tensor,)
    return tuple([None if each is None else each.tensor for each in members_of(state)])


def is_channels_last(array: NDArray) -> bool:
    """Return whether an array has its channels last in memory.

    >>> import torch
    >>> array = NDArray(torch.ones(2, 3, 4, 5))
    >>> is_channels_last(array), array.storage.put_channels_last(), is_channels_last(array)
    (False, True, True)
    """
    storage = array.storage
    return isinstance(storage, DenseStorage) and storage.layout is not CONTIGUOUS


def are_channels_last(weight: NDArray, grad: NDArray, state: StoredState) -> bool:
    """Return whether weight and gradient have their channels last in memory; the state is put so then.

    An update that treats each element by itself can take them so (`tensors_of`): nothing is put in order for it, nor
    back for the next run of the network.

    >>> import torch
    >>> weight, grad, momentum = (NDArray(torch.ones(2, 3, 4, 4)) for _ in range(3))
    >>> (
    ...     are_channels_last(weight, grad, momentum),
    ...     weight.storage.put_channels_last(),
    ...     grad.storage.put_channels_last(),
    ... )
    (False, True, True)
    >>> are_channels_last(weight, grad, momentum), momentum.storage.layout
    (True, torch.channels_last)
    """
    if not (is_channels_last(weight) and is_channels_last(grad)):
        return False
    members = () if state is None else members_of(state)
    return all([each is None or _put_channels_last(each) for each in members])


def _put_channels_last(array: NDArray) -> bool:
    return isinstance(array.storage, DenseStorage) and array.storage.put_channels_last()


def members_of(state: StoredState) -> tuple[NDArray | None, ...]:
    """Return the arrays of a state without master copy.

    >>> members_of((None, None))
    (None, None)
    """
    return (state,) if isinstance(state, NDArray) else cast("tuple[NDArray | None, ...]", state)
