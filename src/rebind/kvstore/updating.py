"""`Updating`: the optimizer of a key-value store, and its states in memory and in files."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias

from .. import files
from .. import optimizer as opt
from ..checks import FUNCTION, check_kind, or_none
from ..errors import ArgumentError, StateError, shown
from ..ndarray import NDArray
from ..optimizer import Optimizer, Updater
from ..optimizer.arrays import StoredState
from ..optimizer.states import write_states

__all__ = ["Key", "UpdateFunction", "Updating", "handed_keys"]

Key: TypeAlias = str | int
#: ``function(key, gradient, weight)``; an `Updater` takes lists of each too.
UpdateFunction: TypeAlias = Callable[[Any, NDArray, NDArray], None] | Updater


def handed_keys(keys: Sequence[Key]) -> list[Hashable]:
    """Return keys as a function of a program's own gets them: names as bytes, as MXNet 1.9.1 has them.

    >>> handed_keys(["fc1_weight", 3])
    [b'fc1_weight', 3]
    """
    return [key.encode() if isinstance(key, str) else key for key in keys]


class Updating:
    """The part of a store that updates its values when something is pushed; `KVStoreBase` is the whole."""

    # A program's own class need not call a constructor.
    _key_type: type | None = None  # that of the first key
    _updater: UpdateFunction | None = None

    @property
    def updater(self) -> UpdateFunction | None:
        """What updates the values when something is pushed; None for a store that holds sums.

        >>> import rebind as mx
        >>> store = mx.kv.create("local")
        >>> store.updater is None
        True
        >>> store.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.5))
        >>> store.updater.optimizer.lr
        0.5
        """
        return self._updater

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Let the store update its values with `optimizer` when something is pushed.

        >>> import rebind as mx
        >>> store = mx.kv.create("local")
        >>> store.init("w", mx.nd.array([10]))
        >>> store.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.5))
        >>> store.push("w", mx.nd.array([2]))
        >>> store.pull("w", out=(weight := mx.nd.zeros((1,))))
        >>> weight.item()
        9.0
        """
        # By its module, where programs replace it.
        self._set_updater(opt.get_updater(optimizer))

    def _set_updater(self, updater: UpdateFunction) -> None:
        check_kind("KVStore.set_updater", or_none(FUNCTION), updater=updater)
        self._updater = updater

    def set_updater(self, updater: UpdateFunction) -> None:
        """Let the store update its values by ``updater(key, gradient, weight)`` when something is pushed.

        A key that is a name comes as bytes, as in MXNet 1.9.1.

        >>> import rebind as mx
        >>> store = mx.kv.create("local")
        >>> store.init("w", mx.nd.array([10]))
        >>> store.set_updater(lambda key, gradient, weight: weight.write(weight - gradient))
        >>> store.push("w", mx.nd.array([2]))
        >>> store.pull("w", out=(weight := mx.nd.zeros((1,))))
        >>> weight.item()
        8.0
        """
        if not callable(updater):
            raise ArgumentError(
                f"KVStore.set_updater: must be a function of key, gradient and weight; got {shown(updater)}"
            )
        self._set_updater(updater)  # MXNet's scripts use either name; stores define the other one

    def optimizer_states(self) -> dict[Hashable, StoredState]:
        """Return the optimizer's states by key; over processes, worker 0 gets those of all, and the others none.

        >>> import rebind as mx
        >>> store = mx.kv.create("local")
        >>> store.init("w", mx.nd.array([10]))
        >>> store.set_optimizer(mx.optimizer.create("sgd", momentum=0.9, learning_rate=0.5))
        >>> store.push("w", mx.nd.array([2]))
        >>> store.optimizer_states()["w"].item()
        -1.0
        """
        return dict(self._need_updater("optimizer_states").states)

    def set_optimizer_states(self, states: Mapping[Hashable, StoredState]) -> None:
        """Continue with what `optimizer_states` returned; over processes, those of worker 0 count.

        >>> import rebind as mx
        >>> store = mx.kv.create("local")
        >>> store.init("w", mx.nd.array([10]))
        >>> store.set_optimizer(mx.optimizer.create("sgd", momentum=0.5, learning_rate=0.5))
        >>> store.set_optimizer_states({"w": mx.nd.array([-1])})
        >>> store.push("w", mx.nd.array([2]))
        >>> store.optimizer_states()["w"].item()
        -1.5
        """
        updater = self._need_updater("set_optimizer_states")
        updater.states, updater.states_synced = dict(states), {}

    def save_optimizer_states(self, fname: str | os.PathLike[str], dump_optimizer: bool = False) -> None:
        """Write the optimizer's states to a file, which appears whole or not at all.

        Over processes all workers must call it, and worker 0 writes the states of all.

        Parameters
        ----------
        fname
            The file.
        dump_optimizer
            Whether to put the optimizer's settings and counts in too.
        """
        optimizer = self._need_updater("save_optimizer_states").optimizer
        states = self.optimizer_states()
        self._first_does(
            "KVStore.save_optimizer_states",
            lambda: _write_states(fname, states, optimizer if dump_optimizer else None),
        )

    def _first_does(self, who: str, action: Callable[[], object]) -> None:
        """Let worker 0 do something for all; here the only one."""
        action()

    def load_optimizer_states(self, fname: str | os.PathLike[str]) -> None:
        """Read the optimizer's states from a file.

        Over processes all workers must call it; worker 0 reads the file, and gives each the states of its share. The
        file may be of another number of workers.

        >>> import tempfile, rebind as mx
        >>> first, second = mx.kv.create("local"), mx.kv.create("local")
        >>> for store in first, second:
        ...     store.init("w", mx.nd.array([10]))
        ...     store.set_optimizer(mx.optimizer.create("sgd", momentum=0.9))
        >>> first.push("w", mx.nd.array([2]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     first.save_optimizer_states(f"{folder}/net.states")
        ...     second.load_optimizer_states(f"{folder}/net.states")
        >>> list(second.updater.states)
        ['w']
        """
        updater = self._need_updater("load_optimizer_states")
        updater.load_states(fname)
        updater.states = self._by_key(updater.states)

    def _by_key(self, states: dict[Hashable, StoredState]) -> dict[Hashable, StoredState]:
        """Return states of a file by this store's keys.

        Where devices updated the weights themselves, a parameter has a number on each of them; it is known here by its
        name.
        """
        names = self._need_updater("load_optimizer_states").optimizer.idx2name
        if self._key_type is not str or not names or not all(isinstance(key, int) for key in states):
            return states
        copies = len(states) // len(names)
        if not copies or set(states) != set(range(copies * len(names))):
            return states
        return {name: states[index * copies] for index, name in names.items()}

    def _need_updater(self, who: str) -> Updater:
        if not isinstance(self._updater, Updater):
            raise StateError(f"KVStore.{who}: needs set_optimizer() first")
        return self._updater


def _write_states(
    path: str | os.PathLike[str], states: Mapping[Hashable, StoredState], optimizer: Optimizer | None
) -> None:
    content = write_states(states, optimizer)
    with files.atomic_write(path) as file:
        file.write(content)
