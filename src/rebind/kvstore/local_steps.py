"""`LocalStepsStore`: each worker updates weights of its own, and every so many updates all average theirs."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

import torch

from ..autograd import pause
from ..distributed import current_job, first_does, from_first
from ..errors import ArgumentError, StateError
from ..ndarray import NDArray
from ..ndarray.base import wrap
from ..ndarray.sparse.row_sparse import RowSparseStorage
from ..optimizer import Updater
from ..optimizer.arrays import StoredState
from ..optimizer.group import LOW_PRECISION
from ..optimizer.states import read_states, write_states
from ..protocols import StateTree
from .averaging import Averaging
from .base import Key, UpdateFunction
from .capabilities import Capabilities
from .divided_states import BY_ALL, load_on_first
from .local import KVStore
from .records import is_dense
from .updater_agreement import describe_updater, optimizer_of

__all__ = ["LocalStepsStore"]


class LocalStepsStore(KVStore):
    """A store over all workers of a job that average their weights, and between two averages train by themselves.

    It is made by `create` with `update_every`. A push updates this worker's own weights, by its own gradients and with
    optimizer states of its own. The pushes of a key are counted; with the last of `update_every` ones the difference
    from the last common weights is pushed to a store over the workers, whose optimizer makes the next common weights of
    the mean; see `Averaging`. These become the weights of all, bit by bit. Of a weight whose gradients are row_sparse
    the rows that have changed are pushed.

    All workers must make the same calls of `init`, `push`, `set_optimizer` and `synchronize`, in the same order.

    Parameters
    ----------
    shared
        The store over the workers, which gets the common weights.
    averaging
        How often they average, and what is made of the mean.

    Attributes
    ----------
    averaging
        As given.

    Examples
    --------
    >>> import rebind as mx
    >>> kv = mx.kv.create(
    ...     "dist_sync", update_every=2
    ... )  # a job of one worker, as no launcher started this program
    >>> kv.init("w", mx.nd.zeros((2,)))
    >>> kv.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.5))
    >>> for _ in range(2):
    ...     kv.push("w", mx.nd.ones((2,)))
    >>> kv.pull("w", out=(out := mx.nd.zeros((2,))))
    >>> out.asnumpy().tolist()
    [-1.0, -1.0]
    """

    capabilities = Capabilities(spans_processes=True, compresses=True)

    def __init__(self, shared: KVStore, averaging: Averaging) -> None:
        super().__init__(shared.type)
        self.averaging = averaging
        self.update_every = averaging.update_every
        self._job = current_job()
        self._shared = shared
        self._sums_on_device = shared._sums_on_device
        self._updates: dict[Key, int] = {}  # of this worker's own weights, since they were averaged
        self._of_rows: set[Key] = set()  # keys whose last gradients were row_sparse

    @property
    def options(self) -> dict[str, Any]:
        """What `create` takes besides the name for a store like this one."""
        return asdict(self.averaging)

    @property
    def rank(self) -> int:
        """The number of this worker."""
        return self._shared.rank

    @property
    def num_workers(self) -> int:
        """How many workers there are."""
        return self._shared.num_workers

    def barrier(self) -> None:
        """Wait until all workers have come here; it averages nothing."""
        self._shared.barrier()

    # Values.

    def _copy_in(self, pairs: Iterable[tuple[Key, Sequence[NDArray]]]) -> None:
        given = list(pairs)
        super()._copy_in(given)
        keys = [key for key, _ in given]
        own = [self._values[key] for key in keys]
        self._shared.put(keys, [_wide(each) for each in own])
        self._shared.pull(keys, own, ignore_sparse=False)  # those of worker 0
        self._updates.update(dict.fromkeys(keys, 0))

    def _apply(self, totals: Mapping[Key, NDArray]) -> None:
        if self._updater is None:
            raise StateError(
                f"KVStore.push: with update_every={self.update_every} the store updates weights, and needs "
                "set_optimizer() first. A Module does that unless MXNET_UPDATE_ON_KVSTORE=0."
            )
        super()._apply(totals)
        for key, total in totals.items():
            self._updates[key] += 1
            (self._of_rows.add if _has_rows(total) else self._of_rows.discard)(key)
        if due := [key for key in totals if self._updates[key] >= self.update_every]:
            self._average(due)

    def synchronize(self) -> bool:
        """Average the weights that were updated since the last average; return whether there were any.

        `fit` does so at the end of each epoch. All workers must call it, before they save or compare weights.

        Examples
        --------
        >>> import rebind as mx
        >>> kv = mx.kv.create("dist_sync", update_every=8)
        >>> kv.init("w", mx.nd.zeros((2,)))
        >>> kv.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.5))
        >>> kv.push("w", mx.nd.ones((2,)))
        >>> kv.synchronize(), kv.synchronize()
        (True, False)
        """
        pending = self._pending()
        if pending:
            self._average(pending)
        return bool(pending)

    def _pending(self) -> list[Key]:
        """Return the keys that were updated since they were averaged."""
        return [key for key, count in self._updates.items() if count]

    def _average(self, keys: Sequence[Key]) -> None:
        """Update the common weights by the mean of the workers' differences from them, and take them over."""
        own = [self._arrays_of(key) for key in keys]
        with pause():
            gradients = [_wide(arrays[0]).copy() for arrays in own]
            self._shared.pull(keys, gradients, ignore_sparse=False)
            for gradient, arrays in zip(gradients, own, strict=True):
                _subtract(gradient, arrays[0])
            if self._shared._residuals is None:  # what is compressed is dense
                pairs = zip(keys, gradients, strict=True)
                gradients = [_changed_rows(each) if key in self._of_rows else each for key, each in pairs]
            self._shared.push(keys, gradients)
            self._shared.pull(keys, own, ignore_sparse=False)
        self._updates.update(dict.fromkeys(keys, 0))

    def _arrays_of(self, key: Key) -> list[NDArray]:
        """Return the arrays that hold this worker's weight: the exact one first, and what is rounded from it."""
        weight = self._values[key]
        if not isinstance(self._updater, Updater):
            return [weight]
        master = optimizer_of(self._updater).master_of(weight, self._updater.states.get(key))
        return [weight] if master is None else [master, weight]

    def set_gradient_compression(self, compression_params: Mapping[str, object]) -> None:
        """Compress what is averaged: each worker's difference from the common weights. All workers must call it.

        So the ``'threshold'`` is of the size that weights change by in `update_every` updates. What is not sent is
        held, and added to the next difference.

        Parameters
        ----------
        compression_params
            As for `KVStore.set_gradient_compression`.
        """
        self._shared.set_gradient_compression(compression_params)

    # The optimizer, and its states.

    def _set_updater(self, updater: UpdateFunction) -> None:
        # A worker that averages beside others that do not is found here, too: they compare what is to be the same.
        described = {"update_every": self.update_every, "updater": describe_updater(updater)}
        self._job.agree("KVStore.set_optimizer", "optimizer", described)
        if isinstance(updater, Updater) and optimizer_of(updater).weights_follow_states:
            raise ArgumentError(
                f"KVStore.set_optimizer: with update_every={self.update_every} the optimizer must start from the "
                f"averaged weights; got {type(optimizer_of(updater)).__name__}, which computes them from its states. "
                "Use 'dist_sync' without update_every."
            )
        super()._set_updater(updater)
        self._shared.set_optimizer(self.averaging.outer_optimizer(self.num_workers))

    def optimizer_states(self) -> dict[Hashable, StoredState]:
        """Return this worker's states by key, on worker 0; on the others none. All workers must call it.

        With `outer_momentum` those of the outer optimizer are among them, each under a key of its own.
        """
        updater = self._need_updater("optimizer_states")
        outer = self._shared.optimizer_states() if self.averaging.outer_momentum else {}
        return {} if self.rank else {**updater.states, **{_outer(key): each for key, each in outer.items()}}

    def set_optimizer_states(self, states: Mapping[Hashable, StoredState]) -> None:
        """Give all workers the states that worker 0 has; what the others give does not count."""
        updater = self._need_updater("set_optimizer_states")
        content = write_states(states) if self.rank == 0 else b""
        found = read_states(from_first(self._job, "KVStore.set_optimizer_states", content))[0]
        outer = {key: found.pop(_outer(key)) for key in list(found) if _outer(key) in found}
        updater.states, updater.states_synced = found, {}
        if self.averaging.outer_momentum:
            self._shared.set_optimizer_states(outer)

    def _first_does(self, who: str, action: Callable[[], object]) -> None:
        first_does(self._job, who + BY_ALL, action)

    def load_optimizer_states(self, fname: str | os.PathLike[str]) -> None:
        """Read the optimizer's states from a file: worker 0 reads it, and all get the same."""
        updater = self._need_updater("load_optimizer_states")
        states, _ = load_on_first(self._job, "KVStore.load_optimizer_states", updater, fname)
        self.set_optimizer_states(self._by_key(states))

    # A run that is saved.

    def state_dict(self) -> StateTree:
        """Return what this worker has besides the values and the optimizer's states of worker 0.

        These are its own weights and states, the common weights, the numbers of updates since the last average, and
        what was not sent of compressed differences.
        """
        found: dict[str, object] = dict(self._shared.state_dict())
        if pending := self._pending():
            common = [_wide(self._values[key]).copy() for key in pending]
            self._shared.pull(pending, common, ignore_sparse=False)
            found["updates"] = {key: self._updates[key] for key in pending}
            found["common weights"] = dict(zip(pending, common, strict=True))
        if self.rank:
            found["weights"] = {key: self._values[key] for key in pending}
            if isinstance(self._updater, Updater):
                found["states"] = dict(self._updater.states)
        return found

    def load_state_dict(self, state: StateTree) -> None:
        """Continue from what `state_dict` returned, after the values and states were set. All workers must call it."""
        found = cast("dict[str, dict[Key, NDArray]]", state)
        self._shared.load_state_dict({name: each for name, each in state.items() if name == "residuals"})
        if common := found.get("common weights"):
            self._shared.put(list(common), list(common.values()))
        for key, weight in found.get("weights", {}).items():
            weight.copyto(self._values[key])
        self._updates.update(cast("dict[Key, int]", found.get("updates", {})))
        if "states" in state and isinstance(self._updater, Updater):
            states = cast("dict[Hashable, StoredState]", dict(found["states"]))
            self._updater.states, self._updater.states_synced = states, {}


def _wide(array: NDArray) -> NDArray:
    """Return an array in a type in which small differences are not lost: of 16 bits, in float32."""
    if array.storage.dtype not in LOW_PRECISION:
        return array
    return wrap(array.storage.to(dtype=torch.float32), array.context)


def _subtract(target: NDArray, other: NDArray) -> None:
    """Subtract an array from another one of its storage type, in place."""
    if is_dense(target) and is_dense(other):
        target.tensor.sub_(other.tensor)
        return
    rows = torch.arange(target.shape[0], device=target.storage.device)
    target.storage.write_rows(rows, target.storage.rows(rows) - other.storage.rows(rows))


def _has_rows(gradient: NDArray) -> bool:
    return isinstance(gradient.storage, RowSparseStorage)


def _changed_rows(difference: NDArray) -> NDArray:
    """Return a difference as rows: those that no update has changed do not travel."""
    return wrap(RowSparseStorage.from_dense(difference.storage.to_dense()), difference.context)


def _outer(key: Hashable) -> str:
    """Return the name of a key's outer state among those of the optimizer."""
    return f"outer momentum of {key}"
