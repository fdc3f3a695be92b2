"""The two ways to update a module's parameters: by each device (`LocalUpdate`), or by the store (`StoreUpdate`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from .. import files
from .. import optimizer as opt
from ..autograd import pause
from ..kvstore import Key, KVStoreBase, choose_store
from ..kvstore.base import UpdateFunction
from ..ndarray import NDArray
from ..optimizer.arrays import StoredState
from .parameters import Parameters, Trained, copy_across
from .settings import OptimizerSettings, RowIdsOfParameter
from .update_policy import UpdatePolicy

__all__ = ["LocalUpdate", "StoreUpdate", "make_policy"]


def make_policy(
    settings: OptimizerSettings,
    parameters: Parameters,
    make_optimizer: Callable[[OptimizerSettings, float, Mapping[int, str]], opt.Optimizer],
    *,
    samples: int,
    first_index: int = 0,
) -> UpdatePolicy:
    """Return what updates parameters.

    Parameters
    ----------
    settings
        The arguments of `init_optimizer`.
    parameters
        What is updated.
    make_optimizer
        Returns the optimizer for settings, a `rescale_grad`, and the name of each index.
    samples
        How many samples' gradients this worker sums for an update.
    first_index
        More than 0 where modules share an optimizer.
    """
    names, count = parameters.names, len(parameters.devices)
    first_arrays = {name: arrays[0] for name, arrays in parameters.by_device().items()}
    store, store_updates = choose_store(settings.kvstore, count, first_arrays)
    # Workers that do not wait for each other update one by one, each by the gradients of its own batch; those that
    # average update weights of their own so.
    if (
        store is not None
        and store.capabilities.spans_processes
        and store.capabilities.is_synchronous
        and store.update_every == 1
    ):
        samples *= store.num_workers
    # MXNet's numbering, by which optimizers find multipliers, and .states files their states: a parameter has an
    # index on each device, unless the store updates, which knows it by its name.
    first, copies = (0, 1) if store_updates else (first_index, count)
    by_index = {first + i * copies + k: name for i, name in enumerate(names) for k in range(copies)}
    made = make_optimizer(settings, 1.0 / samples, by_index)
    if store is not None and store_updates:
        return StoreUpdate(made, names, store)
    return LocalUpdate(made, names, store, num_devices=count, first_index=first_index)


class LocalUpdate(UpdatePolicy):
    """Each device updates its own weights, after gradients were summed over the devices.

    Parameters
    ----------
    optimizer, names, store
        As for `UpdatePolicy`. Without a store the devices' gradients are summed here.
    num_devices
        How many devices there are; with the parameter ``i`` on device ``k`` the optimizer's index is
        ``first_index + i * num_devices + k``.
    first_index
        More than 0 where modules share an optimizer.

    Examples
    --------
    >>> import rebind as mx
    >>> policy = LocalUpdate(mx.optimizer.create("sgd", learning_rate=0.5), ["w"])
    >>> weight, gradient = mx.nd.array([1.0]), mx.nd.array([1.0])
    >>> policy.update([Trained("w", [weight], [gradient])])
    >>> weight.item()
    0.5
    """

    on_store = False

    def __init__(
        self,
        optimizer: opt.Optimizer,
        names: Iterable[str],
        store: KVStoreBase | None = None,
        *,
        num_devices: int = 1,
        first_index: int = 0,
    ) -> None:
        super().__init__(optimizer, names, store)
        self._num_devices = num_devices
        self._indices = {name: first_index + i * num_devices for i, name in enumerate(self.names)}
        # By its module, where programs replace it.
        self._function: Callable[..., None] = opt.get_updater(optimizer)

    @property
    def function(self) -> UpdateFunction:
        return self._function

    @function.setter
    def function(self, value: UpdateFunction) -> None:
        self._function = value

    def keys(self, name: str) -> list[Key]:
        return [self._indices[name] + k for k in range(self._num_devices)]

    def pull_weights(self, parameters: Parameters) -> None:
        """Leave the weights: the devices have them."""

    def pull_rows(self, parameters: Parameters, row_ids: Mapping[str, RowIdsOfParameter]) -> None:
        """Leave the weights: the devices have all rows."""

    def pull_all_rows(self, parameters: Parameters) -> None:
        """Leave the weights: the devices have all rows."""

    def update(self, trained: Sequence[Trained]) -> None:
        """Sum the gradients over the devices, and update each device's weights."""
        if self.store is not None:
            # The sums come back into the gradients: every device makes the same update of equal weights.
            self._push_pull(self.store, trained, [each.gradients for each in trained])
        elif self._num_devices > 1:
            for each in trained:
                _sum_over_devices(each.gradients)
        first = [self._indices[each.name] for each in trained]
        # One call for each device, in which the optimizer updates its weights together.
        for k in range(self._num_devices):
            self._function(
                tuple([index + k for index in first]),
                tuple([each.gradients[k] for each in trained]),
                tuple([each.weights[k] for each in trained]),
            )

    def save_states(self, path: str) -> None:
        states = self.updater.get_states()
        with files.atomic_write(path) as file:
            file.write(states)

    def load_states(self, path: str) -> None:
        self.updater.load_states(path)


class StoreUpdate(UpdatePolicy):
    """The store updates the weights: gradients are pushed, and weights are pulled.

    Parameters
    ----------
    optimizer, names, store
        As for `UpdatePolicy`; the store gets the optimizer.

    Examples
    --------
    >>> import rebind as mx
    >>> store = mx.kv.create("local")
    >>> weight, gradient = mx.nd.array([1.0]), mx.nd.array([1.0])
    >>> store.init("w", weight)
    >>> policy = StoreUpdate(mx.optimizer.create("sgd", learning_rate=0.5), ["w"], store)
    >>> policy.update([Trained("w", [weight], [gradient])])
    >>> weight.item()
    0.5
    """

    on_store = True
    store: KVStoreBase

    def __init__(self, optimizer: opt.Optimizer, names: Iterable[str], store: KVStoreBase) -> None:
        super().__init__(optimizer, names, store)
        store.set_optimizer(optimizer)

    @property
    def function(self) -> UpdateFunction | None:
        """The store's updater."""
        return self.store.updater

    def _states(self) -> Mapping[Hashable, StoredState]:
        return self.store.optimizer_states()

    def _set_states(self, states: dict[Hashable, StoredState]) -> None:
        self.store.set_optimizer_states(states)

    def keys(self, name: str) -> list[Key]:
        return [name]

    def start_from(self, parameters: Parameters) -> None:
        """Start from new weights: the store gets them, and all devices get the store's."""
        self._note_devices(parameters)
        for name, arrays in parameters.by_device().items():
            if not self.store.capabilities.takes_lists:
                self.store.broadcast(name, arrays[0], out=arrays)
                continue
            self.store.put(name, arrays[0])
            self.store.pull(name, arrays, ignore_sparse=False)
            self.with_some_rows.discard(name)

    def pull_weights(self, parameters: Parameters) -> None:
        """Give all devices the store's weights."""
        if self.store.capabilities.takes_lists:
            by_device = parameters.by_device()
            self.store.pull(list(by_device), list(by_device.values()), ignore_sparse=False)
            self.with_some_rows.difference_update(by_device)

    def pull_rows(self, parameters: Parameters, row_ids: Mapping[str, RowIdsOfParameter]) -> None:
        by_device = parameters.by_device()
        for name, ids in row_ids.items():
            self.with_some_rows.add(name)
            self.store.row_sparse_pull(name, out=by_device[name], row_ids=ids)

    def pull_all_rows(self, parameters: Parameters) -> None:
        if not self.with_some_rows:
            return
        arrays = {name: each for name, each in parameters.by_device().items() if name in self.with_some_rows}
        self.store.pull(list(arrays), list(arrays.values()), ignore_sparse=False)
        self.with_some_rows.difference_update(arrays)

    def update(self, trained: Sequence[Trained]) -> None:
        """Push the gradients, and pull the weights, except those of which rows are pulled for each batch."""
        self._push_pull(self.store, trained, [each.weights for each in trained])

    def _pull(self, store: KVStoreBase, names: Sequence[str], outs: Sequence[Sequence[NDArray]]) -> None:
        wanted = {name: out for name, out in zip(names, outs, strict=True) if name not in self.with_some_rows}
        super()._pull(store, list(wanted), list(wanted.values()))

    def save_states(self, path: str) -> None:
        self.store.save_optimizer_states(path)

    def load_states(self, path: str) -> None:
        self.store.load_optimizer_states(path)


def _sum_over_devices(gradients: Sequence[NDArray]) -> None:
    """Write the sum of the devices' gradients into each of them."""
    home = gradients[0].device
    with pause():
        # In the order of the devices, so that a run gives the same bits each time.
        total = gradients[0].copyto(home)
        for gradient in gradients[1:]:
            total.accumulate(gradient.as_in_context(home))
    copy_across([total] * len(gradients), gradients)
