"""`UpdatePolicy`: the owner of an optimizer and its states, whoever updates with them.

It saves and loads the states, and can continue a saved run. Modules that share an optimizer share the policy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypedDict, TypeVar, cast

from .. import optimizer as opt
from ..errors import StateError
from ..kvstore import Key, KVStoreBase
from ..kvstore.base import UpdateFunction
from ..ndarray import NDArray
from ..observing import observing
from ..ops.storage_types import DENSE
from ..optimizer.arrays import StoredState
from ..protocols import StateTree
from .optimizer_setup import Progress, load_progress, progress_of
from .parameters import Parameters, Trained
from .settings import RowIdsOfParameter

__all__ = ["UpdatePolicy"]

T = TypeVar("T")

# Dicts of an optimizer that are saved by parameter, not by index: the index depends on the number of devices.
_COUNTS = ("_index_update_count", "_all_index_update_counts")


class SavedParameter(TypedDict):
    """The optimizer's states, and the update counts, of one parameter: one, or one for each device."""

    states: list[object]
    counts: list[int]


class UpdateState(TypedDict):
    """What `UpdatePolicy.state_dict` returns."""

    optimizer: Progress
    parameters: dict[str, SavedParameter]


class UpdatePolicy(ABC):
    """How gradients change the weights, and where the optimizer's states are.

    Parameters
    ----------
    optimizer
        The optimizer.
    names
        The parameters that it can update.
    store
        What sums over devices, and over processes if it spans them.
    """

    #: Whether the store updates the weights.
    on_store: bool

    def __init__(self, optimizer: opt.Optimizer, names: Iterable[str], store: KVStoreBase | None) -> None:
        self.optimizer = optimizer
        self.names = list(names)
        self.store = store
        #: Row_sparse weights of which the devices have the rows that `pull_rows` gave them, and no others.
        self.with_some_rows: set[str] = set()
        self._device_ids = {0}
        self._pushed: set[str] = set()  # what was sent while backward ran, since the last update

    @property
    @abstractmethod
    def function(self) -> UpdateFunction | None:
        """What is called to update weights: an `optimizer.Updater`, or what a program has put in its place."""

    @property
    def updater(self) -> opt.Updater:
        """The owner of the states. Its optimizer is the one in use: a file may have replaced the first.

        Raises
        ------
        StateError
            For a function of a program's own, whose states are not known.
        """
        found = self.function
        if not isinstance(found, opt.Updater):
            raise StateError(
                f"Module: a run can be saved only if an optimizer.Updater updates it; got {found!r}"
            )
        return found

    @property
    def optimizer_in_use(self) -> opt.Optimizer:
        """The optimizer of the updater, or the one that was given where a program's own function updates."""
        found = self.function
        return found.optimizer if isinstance(found, opt.Updater) else self.optimizer

    @property
    def updates_together(self) -> bool:
        """Whether weights are updated together by rules that are known: a program overrides nothing of them."""
        found = self.function
        return isinstance(found, opt.Updater) and found.is_ours

    @abstractmethod
    def keys(self, name: str) -> list[Key]:
        """Return the keys of a parameter's states: one, or one for each device."""

    @abstractmethod
    def update(self, trained: Sequence[Trained]) -> None:
        """Update weights by their gradients."""

    @abstractmethod
    def save_states(self, path: str) -> None:
        """Write the optimizer's states to a file, which appears whole or not at all."""

    @abstractmethod
    def load_states(self, path: str) -> None:
        """Read the optimizer's states from a file."""

    def start_from(self, parameters: Parameters) -> None:
        """Start from new weights: the store gets them, and over processes all workers those of worker 0."""
        self._note_devices(parameters)
        # Also a store that only sums must know the keys before gradients are pushed.
        if self.store is None:
            return
        for name, arrays in parameters.by_device().items():
            if not self.store.capabilities.keeps_values:
                self.store.broadcast(name, arrays[0], out=arrays)
                continue
            self.store.put(name, arrays[0])
            if self.store.capabilities.spans_processes:  # all start from the weights of worker 0
                self.store.pull(name, arrays, ignore_sparse=False)

    @abstractmethod
    def pull_weights(self, parameters: Parameters) -> None:
        """Give all devices the weights of the store, if that has them."""

    @abstractmethod
    def pull_rows(self, parameters: Parameters, row_ids: Mapping[str, RowIdsOfParameter]) -> None:
        """Give all devices rows of the store's row_sparse weights, by name; of these weights they have no others then.

        Parameters
        ----------
        parameters
            The weights.
        row_ids
            By name, as in `KVStore.row_sparse_pull`.
        """

    @abstractmethod
    def pull_all_rows(self, parameters: Parameters) -> None:
        """Give all devices the other rows of weights of which `pull_rows` has given them some."""

    def _note_devices(self, parameters: Parameters) -> None:
        arrays = (each for of_name in parameters.by_device().values() for each in of_name)
        self._device_ids.update(each.device.device_id for each in arrays)

    def start_sending(self, trained: Sequence[Trained]) -> Callable[[str], None] | None:
        """Return a function that pushes a parameter's gradients, to be called as soon as backward has computed them.

        None for a store that cannot send them one by one. `update` then pushes the rest. Nothing may be done to the
        gradients in between: do not call this for a batch to whose gradients others will be added, nor where they are
        checked for an overflow first.

        Parameters
        ----------
        trained
            What `update` will be called with.
        """
        store = self.store
        if store is None or not store.capabilities.takes_ready_gradients:
            return None
        # Backward comes to the last layers first.
        sparse = [each.name for each in trained if each.gradients[0].stype != DENSE]
        store.begin_push([each.name for each in reversed(trained)], sparse)
        by_name = {each.name: each.gradients for each in trained}

        def send(name: str) -> None:
            if name in by_name:
                self._pushed.add(name)
                store.push_ready(name, by_name[name])

        return send

    def _push_pull(
        self, store: KVStoreBase, trained: Sequence[Trained], outs: Sequence[Sequence[NDArray]]
    ) -> None:
        """Push the gradients, and write what the store has then: the sums, or the weights."""
        exchange = self._exchange
        if observing.exchanges is not None:
            exchange = observing.exchanges("KVStorePushPull", exchange)
        exchange(store, trained, outs)

    def _exchange(
        self, store: KVStoreBase, trained: Sequence[Trained], outs: Sequence[Sequence[NDArray]]
    ) -> None:
        names = [each.name for each in trained]
        if not store.capabilities.takes_lists:
            for i, (each, out) in enumerate(zip(trained, outs, strict=True)):
                store.pushpull(each.name, each.gradients, None if out is each.gradients else out, -i)
        elif store.capabilities.keeps_values:
            self._push(store, trained)
            self._pull(store, names, outs)
        else:
            store.pushpull(names, [each.gradients for each in trained])

    def _pull(self, store: KVStoreBase, names: Sequence[str], outs: Sequence[Sequence[NDArray]]) -> None:
        """Write what the store has."""
        store.pull(names, outs, ignore_sparse=False)

    def _push(self, store: KVStoreBase, trained: Sequence[Trained]) -> None:
        """Push the gradients that are not in the store yet."""
        rest = [each for each in trained if each.name not in self._pushed] if self._pushed else trained
        if rest:
            store.push([each.name for each in rest], [each.gradients for each in rest])
        elif self._pushed:
            store.end_push()
        self._pushed.clear()

    # A run that is saved: states and counts by the parameter's name, so that it can continue on other devices.

    def state_dict(self) -> StateTree:
        """Return the optimizer's states, counts and progress."""
        states, counts = dict(self._states()), _counts_of(self.optimizer)
        by_name: dict[str, SavedParameter] = {}
        # The parameter's name, as the index depends on the number of devices.
        for name in self.names:
            keys = self.keys(name)
            by_name[name] = {
                "states": [states.pop(key) for key in keys if key in states],
                "counts": [counts.pop(key) for key in keys if key in counts],
            }
        # What is left over belongs to other modules, whose updates a shared optimizer counts too.
        progress = progress_of(self.optimizer)
        for count in _COUNTS:
            progress["numbers"].pop(count, None)
        return {
            "optimizer": progress,
            "parameters": by_name,
            "other states": states,
            "other counts": counts,
        }

    def _states(self) -> Mapping[Hashable, StoredState]:
        return self.updater.states

    def _set_states(self, states: dict[Hashable, StoredState]) -> None:
        self.updater.states, self.updater.states_synced = states, {}

    def load_state_dict(self, state: StateTree) -> None:
        """Continue from what `state_dict` returned, with an optimizer of the same kind."""
        saved = cast(UpdateState, state)
        load_progress(self.optimizer, saved["optimizer"])
        states = dict(cast(Mapping[Key, object], state["other states"]))
        counts = dict(cast(Mapping[Key, int], state["other counts"]))
        for name in self.names:
            own = saved["parameters"].get(name, SavedParameter(states=[], counts=[]))
            states.update(_for_each(self.keys(name), own["states"]))
            counts.update(_for_each(self.keys(name), own["counts"]))
        by_device = getattr(self.optimizer, _COUNTS[1], {})
        for device_id in self._device_ids:  # an optimizer with methods of a program's own counts for each
            by_device.setdefault(device_id, {})
        for each in _count_dicts(self.optimizer):  # in place: the optimizer may hold them under two names
            each.clear()
            each.update(counts)
        # Last: a store whose servers update gives them the counts, too.
        self._set_states(cast("dict[Hashable, StoredState]", states))


def _count_dicts(optimizer: opt.Optimizer) -> list[dict[Key, int]]:
    """Return the update counts of an optimizer: of all devices, where it has a dict for each."""
    in_use, by_device = (getattr(optimizer, name, {}) for name in _COUNTS)
    return [each for each in by_device.values() if each is not in_use] + [in_use]


def _counts_of(optimizer: opt.Optimizer) -> dict[Key, int]:
    """Return the update counts of all keys."""
    found: dict[Key, int] = {}
    for counts in _count_dicts(optimizer):
        for key, count in counts.items():
            # A key is counted on its own device; what was loaded for the others stays as it was.
            found[key] = max(count, found.get(key, 0))
    return found


def _for_each(keys: Sequence[Key], saved: Sequence[T]) -> dict[Key, T]:
    """Return what each key continues with: its own, or on another number of devices a copy of the first."""
    if not saved:
        return {}
    # On another number of devices all copies were equal: one is as good as another.
    return {key: saved[k] if len(saved) == len(keys) else _copied(saved[0]) for k, key in enumerate(keys)}


def _copied(state: T) -> T:
    """Return a copy of a state that shares no memory with it."""
    if isinstance(state, NDArray):
        return state.copy()
    return type(state)(map(_copied, state)) if isinstance(state, (list, tuple)) else state
