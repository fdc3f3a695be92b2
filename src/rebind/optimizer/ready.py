"""An update of the same weights as the last one, which need not find out anew what their tensors are like."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Mapping, Sequence

from ..ndarray import NDArray
from ..ndarray.order import number_of_elements, tensors_of
from ..ndarray.same_memory import SameMemory, are_dense
from ..threads import threads_for
from .arrays import StoredState, inner_tensors
from .base import Optimizer
from .group import LOW_PRECISION
from .step import Rates

__all__ = ["ReadyUpdate"]


class ReadyUpdate:
    """What was found out of weights and their states, as long as it `holds`.

    Settings of the optimizer, counts and rates are not among it: they are read in each update. Made by `of`; a copy of
    one is None.

    Examples
    --------
    >>> from rebind import nd
    >>> from rebind.optimizer import create
    >>> sgd, weight, states = create("sgd", learning_rate=0.5), nd.ones((2,)), {0: None}
    >>> ready = ReadyUpdate.of(sgd, [0], [weight], states)
    >>> ready.holds(sgd, [0], [weight], states)
    True
    >>> ready.update([nd.ones((2,))])
    >>> weight.asnumpy().tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        index: Sequence[Hashable],
        weights: Sequence[NDArray],
        states: Sequence[StoredState],
        memory: tuple[SameMemory, SameMemory],
    ) -> None:
        self._optimizer, self._index, self._weights, self._states = optimizer, [*index], [*weights], states
        self._memory, self._state_memory = memory
        self._inner = [inner_tensors(state) for state in states]
        self._elements = number_of_elements(weights)
        #: Whether an update was made so.
        self.was_used = False

    @classmethod
    def of(
        cls,
        optimizer: Optimizer,
        index: Sequence[Hashable],
        weights: Sequence[NDArray],
        states: Mapping[Hashable, StoredState],
    ) -> ReadyUpdate | None:
        """Return it for an update that was made; None where the next one has to look at its arrays again.

        >>> from rebind import nd
        >>> from rebind.optimizer import create
        >>> weight = nd.ones((2,), dtype="float16")  # which may have a master copy
        >>> ReadyUpdate.of(create("sgd"), [0], [weight], {0: None}) is None
        True
        """
        memory = SameMemory.of(weights)
        if (
            memory is None
            or not optimizer.is_ours
            or {each.dtype for each in memory.tensors} & {*LOW_PRECISION}
        ):
            return None
        found = [states[i] for i in index]
        members = [_members(state) for state in found]
        of_states = SameMemory.of([array for each in members for array in each or ()])
        if of_states is None or None in members:
            return None
        return cls(optimizer, index, weights, found, (memory, of_states))

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(None), ()

    def holds(
        self,
        optimizer: Optimizer,
        index: Sequence[Hashable],
        weights: Sequence[NDArray],
        states: Mapping[Hashable, StoredState],
    ) -> bool:
        """Return whether this is still the same: optimizer, weights, states, and where they are."""
        return (
            index == self._index
            and len(weights) == len(self._weights)
            and all(map(operator.is_, weights, self._weights))
            and self._memory.holds()
            and self.holds_for(optimizer, states)
        )

    def holds_for(self, optimizer: Optimizer, states: Mapping[Hashable, StoredState]) -> bool:
        """Return the same for who knows that the weights are the same arrays, in the same memory."""
        own = vars(optimizer)
        return (
            optimizer is self._optimizer
            and optimizer.is_ours
            and "update" not in own
            and "update_multi_precision" not in own
            and all(map(operator.is_, map(states.get, self._index), self._states))
            and self._state_memory.holds()
        )

    def takes(self, grads: Sequence[NDArray]) -> bool:
        """Return whether gradients can be used as they lie in memory."""
        return len(grads) == len(self._weights) and are_dense(grads)

    def rates(self) -> Rates:
        """Count an update, and return its rates, for who makes it in compiled code."""
        return self._optimizer.rates(self._index, self._memory.tensors[0].device)

    def update(self, grads: Sequence[NDArray]) -> None:
        """Update the weights by gradients that it takes."""
        self.was_used = True
        with threads_for(self._elements):
            self._optimizer.update_tensors(self._index, self._memory.tensors, tensors_of(grads), self._inner)


def _members(state: StoredState) -> tuple[NDArray, ...] | None:
    """Return the arrays of a state; None where it is of another kind than those of rebind's optimizers."""
    found = state if isinstance(state, tuple) else (state,)
    arrays = tuple(each for each in found if isinstance(each, NDArray))
    return arrays if len(arrays) == sum(each is not None for each in found) else None
