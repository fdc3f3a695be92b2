"""What every key-value store offers, and the registry of their kinds."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias, TypeVar

from ..absent import absent_function
from ..checks import warn_user
from ..distributed.environment import JobEnvironment
from ..errors import ArgumentError, NameLookupError, ParameterError, StateError, near_names
from ..ndarray import NDArray
from ..observing import observed_exchange
from ..protocols import StateTree
from ..registry import Registry
from .averaging import Averaging, read_averaging
from .capabilities import Capabilities
from .updating import Key, UpdateFunction, Updating

__all__ = [
    "KVStoreBase", "Key", "Keys", "UpdateFunction", "Values", "capabilities_of", "create", "stores",
    "warn_of_lone_workers",
]  # fmt: skip

Keys: TypeAlias = Key | Sequence[Key]
#: An array; one for each device; or, with a list of keys, a list with either for each key.
Values: TypeAlias = NDArray | Sequence[NDArray] | Sequence[Sequence[NDArray]]
Store = TypeVar("Store", bound="KVStoreBase")
builtin_type = type  # in a class whose property `type` is the kind of store


class KVStoreBase(Updating):
    """Arrays by key, to which the devices' gradients are pushed and from which weights are pulled.

    A store either holds sums (what was pushed last) or, with an updater, weights that it updates.

    Keys are all strings or all ints. Wherever a key is taken, so is a list of keys, with a list of values; where a
    value is taken for one key, so is a list of arrays, one for each device.

    A subclass defines `init`, `push`, `pull` and, where it differs from `init`, `put`; it declares `capabilities`.

    Examples
    --------
    >>> class Sums(KVStoreBase):
    ...     capabilities = Capabilities(updates_weights=False)
    >>> Sums("sums").is_capable("optimizer")
    False
    """

    OPTIMIZER = "optimizer"

    #: What the store can do. Callers ask this, never `type`.
    capabilities: ClassVar[Capabilities] = Capabilities()

    #: How many updates a worker makes of its own weights before those of all are averaged; with 1 there is one set of
    #: weights, and each update of it is by the gradients of all.
    update_every: int = 1

    # A program's own class need not call this one's constructor.
    _kind: str = ""

    #: The stores that `register` added, by name in lower case.
    kv_registry: ClassVar[dict[str, Callable[..., KVStoreBase]]] = {}

    @staticmethod
    def register(klass: type[Store]) -> type[Store]:
        """Register a class of stores under its name, for `create`; a decorator.

        A class that declares no `capabilities` is one as MXNet has them: it says by `is_capable` whether it updates
        weights, and takes one key at a time.

        >>> @KVStoreBase.register
        ... class Discarded(KVStoreBase):
        ...     capabilities = Capabilities(updates_weights=False)
        >>> create("discarded").type
        'discarded'
        """
        if klass.capabilities is KVStoreBase.capabilities:
            updates = klass.is_capable(KVStoreBase.OPTIMIZER)
            klass.capabilities = Capabilities(updates_weights=updates, takes_lists=False)
        KVStoreBase.kv_registry[klass.__name__.lower()] = klass
        stores.register(klass.__name__)(functools.partial(_make_registered, klass))
        return klass

    def __init__(self, kind: str = "") -> None:
        self._kind = kind.lower()

    # What it is.

    def __repr__(self) -> str:
        where = f", worker {self.rank} of {self.num_workers}" if self.num_workers > 1 else ""
        return f"<{builtin_type(self).__name__} {self.type!r}{where}>"

    @property
    def type(self) -> str:
        """The name of its kind, such as ``'local'``.

        >>> create("Device").type
        'device'
        """
        return self._kind or builtin_type(self).__name__.lower()

    @property
    def rank(self) -> int:
        """The number of this process among the workers.

        >>> create("local").rank  # the only process
        0
        """
        return 0

    @property
    def num_workers(self) -> int:
        """How many processes train together.

        >>> create("local").num_workers
        1
        """
        return 1

    @classmethod
    def is_capable(cls, capability: str) -> bool:
        """Return whether the store has one of MXNet's capabilities: ``'optimizer'``, to update weights itself.

        >>> create("local").is_capable("optimizer"), create("horovod").is_capable("optimizer")
        (True, False)
        """
        if capability.lower() != cls.OPTIMIZER:
            raise ParameterError(
                f"KVStore.is_capable: capability must be {cls.OPTIMIZER!r}; got {capability!r}"
            )
        return cls.capabilities.updates_weights

    def barrier(self) -> None:
        """Wait for the other workers; a single process has none to wait for."""

    def synchronize(self) -> bool:
        """Average weights that workers have updated by themselves; return whether there were any, here never.

        >>> create("local").synchronize()
        False
        """
        return False

    @property
    def options(self) -> dict[str, Any]:
        """What `create` takes besides the name for a store like this one.

        >>> create("local").options
        {}
        """
        return {}

    def with_averaging(self, averaging: Averaging) -> KVStoreBase:
        """Return a store of the same kind whose workers update weights of their own, and average them."""
        raise self._undefined("with_averaging()")

    def _barrier(self) -> None:
        # MXNet's name, which distributed programs call.
        self.barrier()

    _send_command_to_servers = absent_function(
        "KVStore._send_command_to_servers", "Training is on one machine for now, without servers"
    )

    # Values.

    def init(self, key: Keys, value: Values) -> None:
        """Set the first value of keys; each key once.

        Raises
        ------
        StateError
            When a key has a value already.

        Examples
        --------
        >>> import rebind as mx
        >>> store = create("local")
        >>> store.init(["w", "b"], [mx.nd.ones((2, 2)), mx.nd.zeros((2,))])
        >>> store.init("w", mx.nd.ones((2, 2)))
        Traceback (most recent call last):
        rebind.errors.StateError: KVStore.init: key 'w' has a value already; init() sets it once
        """
        raise self._undefined("init()")

    def put(self, key: Keys, value: Values) -> None:
        """Set the value of keys, whether they have one or not.

        >>> import rebind as mx
        >>> store = create("local")
        >>> store.put("w", mx.nd.array([1]))
        >>> store.put("w", mx.nd.array([2]))
        >>> store.pull("w", out=(found := mx.nd.zeros((1,))))
        >>> found.item()
        2.0
        """
        # A program's own store defines that, as in MXNet; and not always for new keys only.
        self.init(key, value)

    def push(self, key: Keys, value: Values, priority: int = 0) -> None:
        """Sum the arrays of each key; the sum updates the value of the key or, without an updater, replaces it.

        >>> import rebind as mx
        >>> store = create("local")
        >>> store.init("w", mx.nd.array([10]))
        >>> store.push("w", [mx.nd.array([1]), mx.nd.array([2])])
        >>> store.pull("w", out=(found := mx.nd.zeros((1,))))
        >>> found.item()
        3.0
        """
        raise self._undefined("push()")

    # A push in parts, of a store with `Capabilities.takes_ready_gradients`.

    def begin_push(self, keys: Sequence[Key], sparse: Collection[Key] = ()) -> None:
        """Say which keys are pushed next, each when it is ready; the gradients of `sparse` ones are not dense."""
        raise self._undefined("begin_push()")

    def push_ready(self, key: Key, value: NDArray | Sequence[NDArray]) -> None:
        """Push one of the keys that `begin_push` was given."""
        raise self._undefined("push_ready()")

    def end_push(self) -> None:
        """Finish what `begin_push` began, when all its keys were pushed; a `push` of the last ones does too."""
        raise self._undefined("end_push()")

    def pull(
        self, key: Keys, out: Values | None = None, priority: int = 0, ignore_sparse: bool = True
    ) -> None:
        """Copy the values of keys into the arrays `out`, in their types and storage types.

        With `ignore_sparse` sparse arrays stay as they are, with a warning; see `row_sparse_pull`.

        >>> import rebind as mx
        >>> store, devices = create("local"), [mx.nd.zeros((1,)), mx.nd.zeros((1,))]
        >>> store.init("w", mx.nd.array([10]))
        >>> store.pull("w", out=devices)
        >>> [array.item() for array in devices]
        [10.0, 10.0]
        """
        raise self._undefined("pull()")

    def row_sparse_pull(
        self, key: Keys, out: Values | None = None, priority: int = 0, row_ids: Values | None = None
    ) -> None:
        """Copy some rows of row_sparse values into row_sparse arrays, which then have these rows alone.

        Rows that the value lacks are zero. An id that is no row is an error; MXNet stores it.

        Parameters
        ----------
        key, out, priority
            As in `pull`.
        row_ids
            Which rows: an array of ids, in any order and as often as they like, or a list with one for each array of
            a key. With a list of keys a list with either for each key.

        Examples
        --------
        >>> import rebind as mx
        >>> store = create("local")
        >>> store.init("w", mx.nd.array([[1], [2], [3], [4]]).tostype("row_sparse"))
        >>> some = mx.nd.zeros((4, 1), stype="row_sparse")
        >>> store.row_sparse_pull("w", out=some, row_ids=mx.nd.array([3, 1, 3]))
        >>> some.indices.asnumpy().tolist(), some.data.asnumpy().tolist()
        ([1, 3], [[2.0], [4.0]])
        """
        raise self._undefined("row_sparse_pull()")

    @observed_exchange("KVStorePushPull")
    def pushpull(self, key: Keys, value: Values, out: Values | None = None, priority: int = 0) -> None:
        """Push, then pull into `out` (by default into the arrays that were pushed), of whichever storage type.

        MXNet leaves row_sparse arrays as they are.

        >>> import rebind as mx
        >>> store, gradients = create("local"), [mx.nd.array([1]), mx.nd.array([2])]
        >>> store.init("w", mx.nd.zeros((1,)))
        >>> store.pushpull("w", gradients)
        >>> [array.item() for array in gradients]
        [3.0, 3.0]
        """
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority, ignore_sparse=False)

    def broadcast(self, key: Keys, value: Values, out: Values, priority: int = 0) -> None:
        """Set the first value of keys and copy it into the arrays `out`.

        >>> import rebind as mx
        >>> devices = [mx.nd.zeros((1,)), mx.nd.zeros((1,))]
        >>> create("local").broadcast("w", mx.nd.array([10]), out=devices)
        >>> [array.item() for array in devices]
        [10.0, 10.0]
        """
        self.init(key, value)
        self.pull(key, out, priority, ignore_sparse=False)

    def set_gradient_compression(self, compression_params: Mapping[str, object]) -> None:
        """Compress gradients on their way between devices or processes; an error for a store that cannot.

        >>> create("local").set_gradient_compression({"type": "2bit"})
        Traceback (most recent call last):
        rebind.errors.ArgumentError: KVStore.set_gradient_compression: a 'local' store sends no gradients, ...
        """
        raise ArgumentError(
            f"KVStore.set_gradient_compression: a {self.type!r} store sends no gradients, so none can be "
            f"compressed; got {compression_params}"
        )

    def state_dict(self) -> StateTree:
        """Return what this process must keep for an exact resume besides values and optimizer: here nothing.

        >>> create("local").state_dict()
        {}
        """
        return {}

    def load_state_dict(self, state: StateTree) -> None:
        """Continue from what `state_dict` returned."""

    def _undefined(self, what: str) -> StateError:
        return StateError(f"{type(self).__name__}: must define {what}; KVStoreBase only declares it")

    # Keys.

    def _pairs(self, who: str, key: Keys, value: Values) -> list[tuple[Key, list[NDArray]]]:
        """Return keys with lists of arrays, whichever form both were given in."""
        # One key: its value may be one array or one for each device; a list of keys needs a list of either.
        if not isinstance(key, (list, tuple)):
            checked = self._checked_key(who, key)
            return [(checked, _arrays(who, checked, value))]
        if not isinstance(value, (list, tuple)):
            raise ArgumentError(f"KVStore.{who}: a list of keys needs a list of values; got {value!r}")
        if len(value) != len(key):
            raise ArgumentError(
                f"KVStore.{who}: there must be a value for each of {len(key)} keys; got {len(value)}"
            )
        if len(set(map(type, key))) > 1:
            raise ArgumentError(f"KVStore.{who}: keys must be all strings or all ints; got {list(key)}")
        return [(k, _arrays(who, self._checked_key(who, k), v)) for k, v in zip(key, value, strict=True)]

    def _checked_key(self, who: str, key: object) -> Key:
        # A bool is an int to Python, and surely a mistake here.
        if not isinstance(key, (str, int)) or isinstance(key, bool):
            raise ArgumentError(f"KVStore.{who}: a key must be a string or an int; got {key!r}")
        if self._key_type is not None and not isinstance(key, self._key_type):
            raise ArgumentError(
                f"KVStore.{who}: keys must be all of one type, {self._key_type.__name__} in this store; got {key!r}"
            )
        return key


def _arrays(who: str, key: Key, value: object) -> list[NDArray]:
    given = value if isinstance(value, (list, tuple)) else [value]
    arrays = [array for array in given if isinstance(array, NDArray)]
    if not arrays or len(arrays) < len(given):
        raise ArgumentError(
            f"KVStore.{who}: the value of {key!r} must be an NDArray or a list of them; got {value!r}"
        )
    return arrays


def _make_registered(klass: Callable[[], KVStoreBase], kind: str) -> KVStoreBase:
    return klass()  # as MXNet makes them: without arguments


stores: Registry[Callable[[str], KVStoreBase]] = Registry("key-value store", KVStoreBase)


def create(
    name: str = "local",
    *,
    update_every: int | None = None,
    outer_momentum: float | None = None,
    outer_learning_rate: float | None = None,
) -> KVStoreBase:
    """Return a new store.

    Parameters
    ----------
    name
        ``'local'`` (sums on the CPU), ``'device'`` (sums on the first device that pushes), and their longer names
        ``'local_update_cpu'``, ``'local_allreduce_cpu'``, ``'local_allreduce_device'``; ``'nccl'`` (sums over GPUs);
        over the workers of a job ``'dist_sync'``, ``'dist_device_sync'``, ``'dist_async'``, ``'horovod'`` and
        ``'byteps'``; or that of a class which `KVStoreBase.register` knows. An unknown name is an error; in MXNet it
        is a ``'local'`` store.
    update_every
        For ``'dist_sync'`` and its other names: after how many updates of its own weights, by its own gradients, a
        worker averages them with those of the others. 1, the default unless ``REBIND_UPDATE_EVERY`` is set: each update
        is by the gradients of all.
    outer_momentum, outer_learning_rate
        What is made of the mean, see `Averaging`. By default the mean itself; with momentum (``REBIND_OUTER_MOMENTUM``)
        the rate is 0.7.

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
        raise NameLookupError(f"kvstore.create: no store {name!r}{near_names(name, stores)}")
    warn_of_lone_workers(name)
    if not capabilities_of(name).averages_weights:
        given = {"outer_momentum": outer_momentum, "outer_learning_rate": outer_learning_rate}
        given["update_every"] = None if update_every == 1 else update_every
        for option, value in given.items():
            if value is not None:
                raise ArgumentError(
                    f"kvstore.create: {option} is for 'dist_sync' and its other names; got {value!r} for {name!r}"
                )
        return stores[name](name)
    averaging = read_averaging(update_every, outer_momentum, outer_learning_rate)
    made = stores[name](name)
    return made if averaging is None else made.with_averaging(averaging)


def warn_of_lone_workers(name: str | None) -> None:
    """Warn, once a job, when its workers have a store that does not join them, or none.

    >>> warn_of_lone_workers("local")
    """
    if name is not None and capabilities_of(name).spans_processes:
        return
    try:
        job = JobEnvironment.read()
    except ParameterError:  # an error for stores that need the job
        return
    if job is not None and job.role == "worker" and job.num_workers > 1 and not job.rank:
        _warn_of_lone_workers(name, job.num_workers)


@functools.cache
def _warn_of_lone_workers(name: str | None, workers: int) -> None:
    store = "without a store" if name is None else "with this store"
    warn_user(
        f"kvstore {name!r}: this is one of {workers} workers. {store.capitalize()} each worker trains a network of its "
        f"own, and all write the same files. Use kvstore='dist_sync' to train one network."
    )


def capabilities_of(name: str) -> Capabilities:
    """Return what the store of a name can do, without making one; an unknown name has the defaults.

    >>> capabilities_of("dist_sync").spans_processes, capabilities_of("local").spans_processes
    (True, False)
    """
    if name in stores:
        declared = getattr(stores[name], "capabilities", None)  # what is registered may be a plain function
        return declared if isinstance(declared, Capabilities) else Capabilities()
    return Capabilities()
