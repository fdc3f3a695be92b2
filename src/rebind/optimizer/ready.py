"""An update with the same states as the last one, which need not find out anew what these are like."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Mapping, Sequence

from ..ndarray import NDArray
from ..ndarray.order import tensors_of
from ..ndarray.same_memory import SameMemory, are_dense
from ..threads import threads_for
from .arrays import StoredState, inner_tensors
from .base import Optimizer
from .group import LOW_PRECISION
from .step import Rates

__all__ = ["ReadyUpdate"]

_dtype_of = operator.attrgetter("storage.tensor.dtype")


class ReadyUpdate:
    """What was found out of the states of some weights, as long as it `holds`. Made by `of`; a copy of one is None.

    Settings of the optimizer, counts and rates are not among it: they are read in each update. It holds no weights.

    Examples
    --------
    >>> from rebind import nd
    >>> from rebind.optimizer import create
    >>> sgd, weights, states = create("sgd", learning_rate=0.5), [nd.ones((2,))], {0: None}
    >>> ready = ReadyUpdate.of(sgd, [0], weights, states)
    >>> ready.holds(sgd, [0], states), ready.takes(weights)
    (True, True)
    >>> ready.update(weights, [nd.ones((2,))])
    >>> weights[0].asnumpy().tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        index: Sequence[Hashable],
        weights: Sequence[NDArray],
        states: Sequence[StoredState],
        memory: SameMemory,
    ) -> None:
        self._optimizer, self._index, self._states, self._memory = optimizer, (*index,), states, memory
        self._inner = [inner_tensors(state) for state in states]
        self._dtypes = [*map(_dtype_of, weights)]
        self._elements = sum([each.size for each in weights])
        self._rates: Rates | None = None
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
        if not are_dense(weights) or not optimizer.is_ours or {*map(_dtype_of, weights)} & {*LOW_PRECISION}:
            return None
        found = [states[i] for i in index]
        members = [_members(state) for state in found]
        memory = SameMemory.of([array for each in members for array in each or ()])
        return None if memory is None or None in members else cls(optimizer, index, weights, found, memory)

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(None), ()

    def holds(
        self, optimizer: Optimizer, index: Sequence[Hashable], states: Mapping[Hashable, StoredState]
    ) -> bool:
        """Return whether these are still the optimizer, the weights by their indices, and the states."""
        return (
            optimizer is self._optimizer
            and optimizer.is_ours
            and tuple(index) == self._index
            and all(map(operator.is_, map(states.get, index), self._states))
            and self._memory.holds()
        )

    def takes(self, weights: Sequence[NDArray]) -> bool:
        """Return whether weights, or gradients, can be used as they lie in memory."""
        return are_dense(weights) and [*map(_dtype_of, weights)] == self._dtypes

    def rates(self, weights: Sequence[NDArray]) -> Rates:
        """Count an update, and return its rates, for who makes it in compiled code: to be read before the next ones."""
        self._optimizer._set_current_context(weights[0].context.device_id)
        self._rates = self._optimizer.rates(self._index, weights[0].tensor.device, self._rates)
        return self._rates

    def update(self, weights: Sequence[NDArray], grads: Sequence[NDArray]) -> None:
        """Update weights by gradients, both of which it takes."""
        self.was_used = True
        self._optimizer._set_current_context(weights[0].context.device_id)
        with threads_for(self._elements):
            self._optimizer.update_tensors(self._index, tensors_of(weights), tensors_of(grads), self._inner)


def _members(state: StoredState) -> tuple[NDArray, ...] | None:
    """Return the arrays of a state; None where it is of another kind than those of rebind's optimizers."""
    found = state if isinstance(state, tuple) else (state,)
    arrays = tuple(each for each in found if isinstance(each, NDArray))
    return arrays if len(arrays) == sum(each is not None for each in found) else None
