"""The stores of one process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..device import Device, cpu
from ..errors import ArgumentError, NameLookupError, ShapeError, StateError, near_names
from ..ndarray import NDArray
from ..optimizer import Updater
from .base import KVStoreBase, stores

__all__ = ["KVStore"]


class KVStore(KVStoreBase):
    """A store in this process: it adds up what the devices push."""

    def __init__(self, kind: str = "local") -> None:
        super().__init__(kind)
        self._values: dict[Any, NDArray] = {}
        self._on_device = "device" in kind

    def init(self, key: Any, value: Any) -> None:
        """Set the first value of keys; each key once.

        Raises
        ------
        StateError
            When a key has a value already.
        """
        pairs = self._pairs("init", key, value)
        keys = [k for k, _ in pairs]
        for i, k in enumerate(keys):
            if k in self._values or k in keys[:i]:
                raise StateError(f"KVStore.init: key {k!r} has a value already; init() sets it once")
        self._keep(pairs)

    def put(self, key: Any, value: Any) -> None:
        """Set the value of keys, whether they have one or not."""
        self._keep(self._pairs("put", key, value))

    def _keep(self, pairs: Sequence[tuple[Any, Sequence[NDArray]]]) -> None:
        for k, arrays in pairs:
            self._key_type = type(k)
            self._values[k] = arrays[0].copyto(arrays[0].device if self._on_device else cpu())

    def push(self, key: Any, value: Any, priority: int = 0) -> None:
        """Add up the arrays of each key; then update its value with the sum, or keep the sum as its value.

        `priority` is accepted; here nothing waits for anything.
        """
        pairs = self._pairs("push", key, value)
        stored = [self._stored("push", k, arrays) for k, arrays in pairs]
        # A key that comes several times in one call counts as several arrays for it.
        merged = [self._sum(arrays, target.device) for (_, arrays), target in zip(pairs, stored, strict=True)]
        keys = [k for k, _ in pairs]
        if len(set(keys)) < len(keys):
            keys, merged = _add_by_key(keys, merged)
            stored = [self._values[k] for k in keys]
        if self._updater is None:
            for target, total in zip(stored, merged, strict=True):
                target._write(total._tensor)
        elif isinstance(self._updater, Updater):
            self._updater(keys, merged, stored)
        else:
            for k, total, target in zip(keys, merged, stored, strict=True):
                self._updater(k, total, target)

    def pull(self, key: Any, out: Any = None, priority: int = 0, ignore_sparse: bool = True) -> None:
        """Copy the values of keys into the arrays `out`, in their types."""
        if out is None:
            raise ArgumentError("KVStore.pull: needs out, the arrays to write into")
        pairs = self._pairs("pull", key, out)
        for (_, arrays), source in zip(pairs, [self._stored("pull", *pair) for pair in pairs], strict=True):
            for target in arrays:
                target._write(source._tensor)

    def row_sparse_pull(self, key: Any, out: Any = None, priority: int = 0, row_ids: Any = None) -> None:
        """Refuse: it serves sparse storage, which is not there yet."""
        raise ArgumentError(
            "KVStore.row_sparse_pull: takes row_sparse arrays, which are not there yet; use pull()"
        )

    def _stored(self, who: str, key: Any, arrays: Sequence[NDArray]) -> NDArray:
        found = self._values.get(key)
        if found is None:
            raise NameLookupError(
                f"KVStore.{who}: no key {key!r}{near_names(str(key), map(str, self._values))} Set it with init() first."
            )
        for array in arrays:
            if array.shape != found.shape:
                raise ShapeError(f"KVStore.{who}: {key!r} must have shape {found.shape}; got {array.shape}")
        return found

    def _sum(self, arrays: Sequence[NDArray], device: Device) -> NDArray:
        place = arrays[0]._tensor.device if self._on_device else device.torch
        if len(arrays) == 1:
            return NDArray(arrays[0]._tensor.detach().to(place), device)
        total = arrays[0]._tensor.detach().to(place) + arrays[1]._tensor.detach().to(place)
        for array in arrays[2:]:
            total += array._tensor.detach().to(place)
        return NDArray(total.to(device.torch), device)


def _add_by_key(keys: Sequence[Any], arrays: Sequence[NDArray]) -> tuple[list[Any], list[NDArray]]:
    totals: dict[Any, torch.Tensor] = {}
    devices: dict[Any, Device] = {}
    for key, array in zip(keys, arrays, strict=True):
        totals[key] = totals[key] + array._tensor if key in totals else array._tensor
        devices[key] = array.device
    return list(totals), [NDArray(total, devices[key]) for key, total in totals.items()]


for _name in ("local", "local_update_cpu", "local_allreduce_cpu", "local_allreduce_device", "device"):
    stores.register(_name)(KVStore)
