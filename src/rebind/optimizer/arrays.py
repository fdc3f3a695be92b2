"""Weights, gradients and states as callers give them: arrays, one or several."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeAlias, cast

from ..ndarray import NDArray
from ..ndarray.order import ReorderedStorage, reorder, tensors_of
from .group import InnerState

__all__ = ["ArrayTree", "StoredState", "in_lists", "inner_tensors", "lie_alike"]

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


def inner_tensors(state: StoredState, as_it_lies: bool = False) -> InnerState | None:
    """Return the tensors of a state without master copy, as a `Group` has them.

    >>> import torch
    >>> inner_tensors((NDArray(torch.ones(1)), None))
    (tensor([1.]), None)
    """
    if state is None:
        return None
    if as_it_lies:
        return tuple([None if each is None else tensors_of([each], [0])[0] for each in _members(state)])
    if isinstance(state, NDArray):  # the usual state, and asked for at each update
        return (state.tensor,)
    return tuple([None if each is None else each.tensor for each in _members(state)])


def lie_alike(weight: NDArray, grad: NDArray, state: StoredState) -> bool:
    """Return whether weight and gradient have their channels last in memory; the state is put so then.

    An update that treats each element by itself can take them so (`tensors_of`): nothing is put in order for it, nor
    back for the next run of the network.

    >>> import torch
    >>> weight, grad, momentum = (NDArray(torch.ones(2, 3, 4, 4)) for _ in range(3))
    >>> lie_alike(weight, grad, momentum), reorder(weight.storage), reorder(grad.storage)
    (False, True, True)
    >>> lie_alike(weight, grad, momentum), type(momentum.storage).__name__
    (True, 'ReorderedStorage')
    """
    if type(weight.storage) is not ReorderedStorage or type(grad.storage) is not ReorderedStorage:
        return False
    return state is None or all(each is None or reorder(each.storage) for each in _members(state))


def _members(state: StoredState) -> tuple[NDArray | None, ...]:
    return (state,) if isinstance(state, NDArray) else cast("tuple[NDArray | None, ...]", state)
