"""Which store a training run uses, and what updates the weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from .. import config
from ..checks import warn_user
from ..errors import ArgumentError, near_names
from .base import KVStoreBase, capabilities_of, create, stores, warn_of_lone_workers

__all__ = ["choose_store", "has_big_array"]

_BIG = 16 * 1024 * 1024  # MXNet's bound, in elements


class HasSize(Protocol):
    """An array, as far as its size matters."""

    @property
    def size(self) -> int:
        """The number of elements."""


def choose_store(
    kvstore: str | KVStoreBase | None, num_device: int, arg_params: Mapping[str, HasSize]
) -> tuple[KVStoreBase | None, bool]:
    """Return the store for a run (or None), and whether it updates the weights.

    One device needs no store unless the store spans processes. A store that can update the weights does so, except
    with ``'local'`` on several devices and a parameter of more than 16 Mi elements (or
    ``MXNET_KVSTORE_BIGARRAY_BOUND``): then gradients are summed and each device updates. With
    ``MXNET_UPDATE_ON_KVSTORE=0`` each device of each worker updates with every store.

    Parameters
    ----------
    kvstore
        None, a name or a store.
    num_device
        How many devices train.
    arg_params
        The parameters, by name.

    Examples
    --------
    >>> import rebind as mx
    >>> weights = {"w": mx.nd.ones((2, 3))}
    >>> choose_store("local", 1, weights)
    (None, False)
    >>> store, store_updates = choose_store("local", 2, weights)
    >>> store.type, store_updates
    ('local', True)
    """
    if kvstore is None:
        warn_of_lone_workers(None)
        return None, False
    if isinstance(kvstore, KVStoreBase):
        return kvstore, _may_update(kvstore)
    if not isinstance(kvstore, str):
        raise ArgumentError(f"kvstore: must be None, a name or a KVStore; got {kvstore!r}")
    # One device has nothing to sum: the module updates without a store.
    if num_device == 1 and not capabilities_of(kvstore).spans_processes:
        warn_of_lone_workers(kvstore)
        if kvstore not in stores and (near := near_names(kvstore, stores)) != ".":
            warn_user(f"kvstore: no store {kvstore!r}{near}")
        return None, False
    store = create(kvstore)
    # MXNet's rule, for this one name: summing big arrays costs less than moving them and their weights.
    sums_only = kvstore == "local" and has_big_array(arg_params)
    return store, _may_update(store) and not sums_only


def _may_update(store: KVStoreBase) -> bool:
    return store.is_capable(KVStoreBase.OPTIMIZER) and bool(config.get("MXNET_UPDATE_ON_KVSTORE"))


def has_big_array(params: Mapping[str, HasSize]) -> bool:
    """Return whether an array has more than 16 Mi elements, or than ``MXNET_KVSTORE_BIGARRAY_BOUND`` where it is set.

    >>> from types import SimpleNamespace
    >>> has_big_array({"w": SimpleNamespace(size=1000)}), has_big_array({"w": SimpleNamespace(size=10**8)})
    (False, True)
    """
    largest = max((array.size for array in params.values()), default=0)
    return largest > (config.get("MXNET_KVSTORE_BIGARRAY_BOUND") or _BIG)
