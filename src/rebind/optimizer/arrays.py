"""Weights, gradients and states as callers give them: arrays, one or several."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeAlias, cast

from ..ndarray import NDArray
from .group import InnerState

__all__ = ["ArrayTree", "StoredState", "in_lists", "inner_tensors"]

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


def inner_tensors(state: StoredState) -> InnerState | None:
    """Return the tensors of a state without master copy, as a `Group` has them.

    >>> import torch
    >>> inner_tensors((NDArray(torch.ones(1)), None))
    (tensor([1.]), None)
    """
    if state is None:
        return None
    if isinstance(state, NDArray):
        return (state.tensor,)
    return tuple(None if each is None else each.tensor for each in cast("tuple[NDArray | None, ...]", state))
