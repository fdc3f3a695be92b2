"""An update with the same states as the last one, which need not find out again what these are like."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Mapping, Sequence

from ..executor.cache import Guard
from ..ndarray import NDArray
from ..ndarray.same_memory import are_dense
from .arrays import StoredState, inner_tensors
from .base import Optimizer
from .group import LOW_PRECISION
from .step import Rates

__all__ = ["CachedUpdate"]

_dtype_of = operator.attrgetter("storage.memory.dtype")
_memory_of = operator.attrgetter("storage.memory")


class CachedUpdate:
    """An update of some weights, with what was found out of their states. Made by `of`.

    Settings of the optimizer, counts and rates are not cached: they are read in each update. It holds no weights.

    Attributes
    ----------
    guard
        What must be as it was: the optimizer, without methods of a program's own, and the states with their memory.

    Examples
    --------
    >>> from rebind import nd
    >>> from rebind.optimizer import create
    >>> sgd, weights, states = create("sgd", learning_rate=0.5), [nd.ones((2,))], {0: None}
    >>> cached = CachedUpdate.of(lambda: (sgd, states), [0], weights)
    >>> cached.guard.holds(), cached.run([0], weights, [nd.ones((2,))])
    (True, True)
    >>> weights[0].asnumpy().tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        index: Sequence[Hashable],
        weights: Sequence[NDArray],
        states: Sequence[StoredState],
        guard: Guard,
    ) -> None:
        self.optimizer, self.index, self.guard = optimizer, (*index,), guard
        self._inner = [inner_tensors(state) for state in states]
        self._dtypes = [*map(_dtype_of, weights)]
        self._rates: Rates | None = None

    @classmethod
    def of(
        cls,
        in_use: Callable[[], tuple[Optimizer, Mapping[Hashable, StoredState]]],
        index: Sequence[Hashable],
        weights: Sequence[NDArray],
    ) -> CachedUpdate | None:
        """Return it for an update that was made; None where the next one has to look at its arrays again.

        `in_use` returns the optimizer and the states by index: a file, or other workers, may bring others of both.

        >>> from rebind import nd
        >>> from rebind.optimizer import create
        >>> weight = nd.ones((2,), dtype="float16")  # which may have a master copy
        >>> CachedUpdate.of(lambda: (create("sgd"), {0: None}), [0], [weight]) is None
        True
        """
        optimizer, states = in_use()
        if not are_dense(weights) or not optimizer.is_ours or {*map(_dtype_of, weights)} & {*LOW_PRECISION}:
            return None
        present = [states[i] for i in index]
        members = [_members(state) for state in present]
        if None in members:
            return None
        arrays = [array for of_one in members for array in of_one or ()]

        def objects() -> tuple[object, ...]:
            optimizer, states = in_use()
            return (optimizer, optimizer.is_ours, *map(states.get, index))

        guard = Guard.of(arrays, objects)
        return None if guard is None else cls(optimizer, index, weights, present, guard)

    def takes(self, arrays: Sequence[NDArray]) -> bool:
        """Return whether weights, or gradients, can be used as they lie in memory."""
        return are_dense(arrays) and [*map(_dtype_of, arrays)] == self._dtypes

    def rates(self, weights: Sequence[NDArray]) -> Rates:
        """Count an update, and return its rates, for who makes it in compiled code: to be read before the next ones."""
        self.optimizer._set_current_context(weights[0].context.device_id)
        self._rates = self.optimizer.rates(self.index, weights[0].tensor.device, self._rates)
        return self._rates

    def run(self, index: Sequence[Hashable], weights: Sequence[NDArray], grads: Sequence[NDArray]) -> bool:
        """Update weights by gradients; return whether that was done. If not, nothing has changed."""
        if tuple(index) != self.index or not (self.takes(weights) and self.takes(grads)):
            return False
        self.optimizer._set_current_context(weights[0].context.device_id)
        # `takes` has seen that they are dense, in the order of their axes.
        memory, gradients = [*map(_memory_of, weights)], [*map(_memory_of, grads)]
        self.optimizer.update_tensors(self.index, memory, gradients, self._inner)
        return True


def _members(state: StoredState) -> tuple[NDArray, ...] | None:
    """Return the arrays of a state; None where it is of another kind than those of rebind's optimizers."""
    parts = state if isinstance(state, tuple) else (state,)
    arrays = tuple(each for each in parts if isinstance(each, NDArray))
    return arrays if len(arrays) == sum(each is not None for each in parts) else None
