"""The steps of MXNet's training loops, for programs with a loop of their own; their names are MXNet's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..errors import ArgumentError
from ..kvstore import KVStoreBase, choose_store, create
from ..ndarray import NDArray
from ..protocols import Callback

__all__ = [
    "_create_kvstore",
    "_create_sparse_kvstore",
    "_initialize_kvstore",
    "_multiple_callbacks",
    "_update_params",
    "_update_params_on_kvstore",
]

Arrays = Sequence[Sequence[NDArray]]


def _create_kvstore(
    kvstore: str | KVStoreBase | None, num_device: int, arg_params: Mapping[str, NDArray]
) -> tuple[KVStoreBase | None, bool]:
    """Return the store for a run (or None), and whether it updates the weights; see `kvstore.choose_store`."""
    return choose_store(kvstore, num_device, arg_params)


def _create_sparse_kvstore(kvstore: str | KVStoreBase) -> tuple[KVStoreBase, bool]:
    """Return the store for a run with row_sparse parameters, and True: it updates the weights."""
    if isinstance(kvstore, KVStoreBase):
        return kvstore, True
    if not isinstance(kvstore, str):
        raise ArgumentError(
            f"kvstore: must be a name or a KVStore for row_sparse parameters; got {kvstore!r}"
        )
    return create(kvstore), True


def _initialize_kvstore(
    kvstore: KVStoreBase,
    param_arrays: Arrays,
    arg_params: Mapping[str, NDArray],
    param_names: Sequence[str],
    update_on_kvstore: bool,
) -> None:
    """Give a store the weights; if it will update them, all devices start from the store's.

    Parameters
    ----------
    kvstore
        The store.
    param_arrays
        For each parameter its array on each device.
    arg_params
        The weights, by name.
    param_names
        The names, in the order of `param_arrays`.
    update_on_kvstore
        Whether the store updates the weights.
    """
    # Priorities fall: the first layers' weights are the first that the next forward pass needs.
    for i, (name, arrays) in enumerate(zip(param_names, param_arrays, strict=True)):
        if not kvstore.capabilities.keeps_values:
            kvstore.broadcast(name, arg_params[name], list(arrays), priority=-i)
            continue
        kvstore.init(name, arg_params[name])
        if update_on_kvstore:
            _pull(kvstore, name, arrays, -i)


def _update_params_on_kvstore(
    param_arrays: Arrays,
    grad_arrays: Sequence[Sequence[NDArray | None]],
    kvstore: KVStoreBase,
    param_names: Sequence[str],
) -> None:
    """Push the gradients to a store that updates, and pull the weights; parameters without gradients stay.

    Parameters
    ----------
    param_arrays, grad_arrays
        For each parameter its arrays, and its gradients, on each device.
    kvstore
        The store, with an optimizer.
    param_names
        The store's keys.
    """
    for i, (name, weights, grads) in enumerate(zip(param_names, param_arrays, grad_arrays, strict=True)):
        if computed := _computed(grads):
            kvstore.push(name, computed, priority=-i)
            _pull(kvstore, name, weights, -i)


def _update_params(
    param_arrays: Arrays,
    grad_arrays: Sequence[Sequence[NDArray | None]],
    updater: Callable[[tuple[int, ...], tuple[NDArray, ...], tuple[NDArray, ...]], object],
    num_device: int,
    kvstore: KVStoreBase | None = None,
    param_names: Sequence[str] | None = None,
) -> None:
    """Update the weights on each device; with a store, by the sum of the devices' gradients.

    Parameters
    ----------
    param_arrays, grad_arrays
        For each parameter its arrays, and its gradients, on each device; parameters without gradients stay.
    updater
        ``updater(indices, gradients, weights)`` is called once for each device, as in MXNet 1.9.1 with all of its
        parameters. Parameter `i` on device `k` has the index ``i * num_device + k``.
    num_device
        How many devices there are.
    kvstore
        A store that does not update.
    param_names
        The store's keys; by default the parameters' numbers.
    """
    # All of a device's updates in one call, in which the optimizer can group them.
    updates: list[list[tuple[int, NDArray, NDArray]]] = [[] for _ in range(num_device)]
    for i, (weights, grads) in enumerate(zip(param_arrays, grad_arrays, strict=True)):
        if not (computed := _computed(grads)):
            continue
        if kvstore is not None:
            key = i if param_names is None else param_names[i]
            kvstore.pushpull(
                key, computed, priority=-i
            )  # the sum comes back in the place of each device's gradient
        for k, (weight, grad) in enumerate(zip(weights, computed, strict=True)):
            updates[k].append((i * num_device + k, grad, weight))
    for each in updates:
        if each:
            updater(*zip(*each, strict=True))


def _pull(kvstore: KVStoreBase, name: str, arrays: Sequence[NDArray], priority: int) -> None:
    """Pull weights; MXNet leaves sparse ones as they are."""
    # A store of a program's own may know dense arrays only.
    sparse = {} if all(each.stype == "default" for each in arrays) else {"ignore_sparse": False}
    kvstore.pull(name, list(arrays), priority=priority, **sparse)


def _computed(grads: Sequence[NDArray | None]) -> list[NDArray]:
    """Return the gradients of a parameter; none when it has none on any device."""
    return [grad for grad in grads if grad is not None]


def _multiple_callbacks(callbacks: Callback | list[Callback] | None, *args: object, **kwargs: object) -> None:
    """Call a callback or each of a list of them; None is none."""
    if callbacks is None:
        return
    for callback in callbacks if isinstance(callbacks, list) else [callbacks]:
        callback(*args, **kwargs)
