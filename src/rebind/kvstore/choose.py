"""Which store a training run uses, and who updates the weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import config
from ..errors import ArgumentError
from .base import KVStoreBase, create

__all__ = ["choose_store"]


def choose_store(
    kvstore: Any, num_device: int, arg_params: Mapping[str, Any]
) -> tuple[KVStoreBase | None, bool]:
    """Return the store for a run (or None), and whether it updates the weights.

    One device needs no store unless it is one of several processes. On several devices the store updates the
    weights, except with ``'local'`` and a parameter of more than ``MXNET_KVSTORE_BIGARRAY_BOUND`` elements: then
    gradients are summed and each device updates.

    Parameters
    ----------
    kvstore
        None, a name or a store.
    num_device
        How many devices train.
    arg_params
        The parameters, by name.
    """
    if kvstore is None:
        return None, False
    if isinstance(kvstore, KVStoreBase):
        return kvstore, kvstore.is_capable(KVStoreBase.OPTIMIZER)
    if not isinstance(kvstore, str):
        raise ArgumentError(f"kvstore: must be None, a name or a KVStore; got {kvstore!r}")
    if num_device == 1 and "dist" not in kvstore:
        return None, False
    store = create(kvstore)
    largest = max((array.size for array in arg_params.values()), default=0)
    too_large = kvstore == "local" and largest > config.get("MXNET_KVSTORE_BIGARRAY_BOUND")
    return store, not too_large
