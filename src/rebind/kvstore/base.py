"""What every key-value store offers, and the table of their kinds."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from .. import files
from ..errors import ArgumentError, NameLookupError, StateError, near_names
from ..ndarray import NDArray
from ..optimizer import Optimizer, Updater, get_updater
from ..registry import Registry

__all__ = ["KVStoreBase", "create", "stores"]


class KVStoreBase:
    """Arrays by key, to which the devices' gradients are pushed and from which weights are pulled.

    A store either keeps sums (what was pushed last) or, with an updater, weights that it updates.

    Keys are all strings or all ints. Wherever a key is taken, so is a list of keys, with a list of values; where a
    value is taken for one key, so is a list of arrays, one for each device.
    """

    OPTIMIZER = "optimizer"

    def __init__(self, kind: str) -> None:
        self._kind = kind.lower()
        self._key_type: type | None = None
        self._updater: Callable[..., Any] | None = None

    # ---- what it is --------------------------------------------------------------------------------------

    @property
    def type(self) -> str:
        """The kind, such as ``'local'``."""
        return self._kind

    @property
    def rank(self) -> int:
        """The number of this process among the workers."""
        return 0

    @property
    def num_workers(self) -> int:
        """How many processes train together."""
        return 1

    @staticmethod
    def is_capable(capability: str) -> bool:
        """Tell whether the store can do something: ``'optimizer'``, update weights itself."""
        return capability.lower() == KVStoreBase.OPTIMIZER

    def barrier(self) -> None:
        """Wait for the other workers; alone there is nothing to wait for."""

    # ---- values ------------------------------------------------------------------------------------------

    def init(self, key: Any, value: Any) -> None:
        """Set the first value of keys; each key once."""
        raise self._abstract("init()")

    def put(self, key: Any, value: Any) -> None:
        """Set the value of keys, whether they have one or not."""
        raise self._abstract("put()")

    def push(self, key: Any, value: Any, priority: int = 0) -> None:
        """Add up the arrays of each key, and update its value with the sum, or keep the sum as its value."""
        raise self._abstract("push()")

    def pull(self, key: Any, out: Any = None, priority: int = 0, ignore_sparse: bool = True) -> None:
        """Copy the values of keys into the arrays `out`."""
        raise self._abstract("pull()")

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Push, then pull into `out` (by default into the arrays that were pushed)."""
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority)

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Set the first value of keys and copy it into the arrays `out`."""
        self.init(key, value)
        self.pull(key, out, priority)

    def set_gradient_compression(self, compression_params: dict[str, Any]) -> None:
        """Pack gradients on their way between processes."""
        raise ArgumentError(
            f"KVStore.set_gradient_compression: a {self.type!r} store sends nothing; got {compression_params}"
        )

    def _abstract(self, what: str) -> StateError:
        return StateError(f"{type(self).__name__}: must define {what}; KVStoreBase only says that it exists")

    # ---- updating ----------------------------------------------------------------------------------------

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Let the store update its values with `optimizer` when something is pushed."""
        self._set_updater(get_updater(optimizer))

    def _set_updater(self, updater: Callable[..., Any]) -> None:
        self._updater = updater

    set_updater = _set_updater

    def save_optimizer_states(self, fname: str | os.PathLike, dump_optimizer: bool = False) -> None:
        """Write the optimizer's states to a file, which appears whole or not at all."""
        with files.atomic_write(fname) as file:
            file.write(self._need_updater("save_optimizer_states").get_states(dump_optimizer))

    def load_optimizer_states(self, fname: str | os.PathLike) -> None:
        """Read the optimizer's states from a file."""
        updater = self._need_updater("load_optimizer_states")
        with open(fname, "rb") as file:
            updater.set_states(file.read())

    def _need_updater(self, who: str) -> Updater:
        if not isinstance(self._updater, Updater):
            raise StateError(f"KVStore.{who}: needs set_optimizer() first")
        return self._updater

    # ---- keys --------------------------------------------------------------------------------------------

    def _pairs(self, who: str, key: Any, value: Any) -> list[tuple[Any, list[NDArray]]]:
        """Return keys with lists of arrays, whatever form both came in."""
        if not isinstance(key, (list, tuple)):
            return [(key, _arrays(who, self._checked_key(who, key), value))]
        if not isinstance(value, (list, tuple)):
            raise ArgumentError(f"KVStore.{who}: a list of keys needs a list of values; got {value!r}")
        if len(value) != len(key):
            raise ArgumentError(f"KVStore.{who}: {len(key)} keys need as many values; got {len(value)}")
        if len(set(map(type, key))) > 1:
            raise ArgumentError(f"KVStore.{who}: keys must be all strings or all ints; got {list(key)}")
        return [(k, _arrays(who, self._checked_key(who, k), v)) for k, v in zip(key, value, strict=True)]

    def _checked_key(self, who: str, key: Any) -> Any:
        if not isinstance(key, (str, int)) or isinstance(key, bool):
            raise ArgumentError(f"KVStore.{who}: a key must be a string or an int; got {key!r}")
        if self._key_type is not None and not isinstance(key, self._key_type):
            raise ArgumentError(
                f"KVStore.{who}: keys must be all of one type, {self._key_type.__name__} in this store; got {key!r}"
            )
        return key


def _arrays(who: str, key: Any, value: Any) -> list[NDArray]:
    arrays = list(value) if isinstance(value, (list, tuple)) else [value]
    if not arrays or any(not isinstance(array, NDArray) for array in arrays):
        raise ArgumentError(
            f"KVStore.{who}: the value of {key!r} must be an NDArray or a list of them; got {value!r}"
        )
    return arrays


stores: Registry[Callable[[str], KVStoreBase]] = Registry("key-value store", KVStoreBase)

_LATER = (
    "dist_sync",
    "dist_async",
    "dist_device_sync",
    "dist_sync_device",
    "dist",
    "horovod",
    "byteps",
    "nccl",
)


def create(name: str = "local") -> KVStoreBase:
    """Return a new store.

    Parameters
    ----------
    name
        ``'local'`` (sums on the CPU), ``'device'`` (sums on the first device that pushes), and their longer names
        ``'local_update_cpu'``, ``'local_allreduce_cpu'``, ``'local_allreduce_device'``.

    Examples
    --------
    >>> import rebind as mx
    >>> kv = mx.kv.create("local")
    >>> kv.init("w", mx.nd.ones((2,)))
    >>> kv.push("w", [mx.nd.ones((2,)), mx.nd.ones((2,))])
    >>> out = mx.nd.zeros((2,))
    >>> kv.pull("w", out=out)
    >>> out.asnumpy()
    array([2., 2.], dtype=float32)
    """
    if not isinstance(name, str):
        raise ArgumentError(f"kvstore.create: name must be a string; got {name!r}")
    if name.lower() not in stores:
        if name.lower() in _LATER:
            raise NameLookupError(
                f"kvstore.create: {name!r} is not there yet; use 'local' or 'device' on one machine"
            )
        raise NameLookupError(f"kvstore.create: no store {name!r}{near_names(name, stores)}")
    return stores[name](name)
