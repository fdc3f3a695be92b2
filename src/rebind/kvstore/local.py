"""The stores of one process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from torch import Tensor

from ..autograd import pause
from ..checks import warn_user
from ..device import cpu
from ..errors import ArgumentError, NameLookupError, ShapeError, StateError, near_names
from ..ndarray import NDArray
from ..ndarray.base import wrap
from ..ndarray.sparse.csr import CSRStorage
from ..ndarray.sparse.row_sparse import RowSparseStorage
from ..ndarray.storage import Storage
from ..observing import observed_exchange
from ..ops.storage_types import DENSE
from ..optimizer import Updater
from ..protocols import StateTree
from .base import Key, Keys, KVStoreBase, Values, stores
from .capabilities import Capabilities
from .compression import Compression, Residuals
from .row_ids import distinct_rows, ids_of_each_key
from .updating import handed_keys

__all__ = ["KVStore", "is_sparse"]

#: The kinds, and whether a store sums on the first device that pushes; otherwise on the CPU.
_SUMS_ON_DEVICE = {
    "local": False,
    "local_update_cpu": False,
    "local_allreduce_cpu": False,
    "local_allreduce_device": True,
    "device": True,
}


class KVStore(KVStoreBase):
    """A store in this process: it sums what the devices push.

    Parameters
    ----------
    kind
        One of the names that `create` knows.

    Examples
    --------
    >>> import rebind as mx
    >>> kv = KVStore("device")
    >>> kv.init("w", mx.nd.zeros((2,)))
    >>> kv.push("w", [mx.nd.ones((2,), ctx=mx.cpu(0)), mx.nd.ones((2,), ctx=mx.cpu(1))])
    >>> kv.pull("w", out=(out := mx.nd.zeros((2,))))
    >>> out.asnumpy().tolist()
    [2.0, 2.0]
    """

    capabilities = Capabilities()

    def __init__(self, kind: str = "local") -> None:
        super().__init__(kind)
        self._values: dict[Key, NDArray] = {}
        self._sums_on_device = _SUMS_ON_DEVICE.get(self.type, False)
        self._residuals: Residuals | None = None  # with compressed gradients

    def init(self, key: Keys, value: Values) -> None:
        pairs = self._pairs("init", key, value)
        keys = [k for k, _ in pairs]
        for i, k in enumerate(keys):
            if k in self._values or k in keys[:i]:
                raise StateError(f"KVStore.init: key {k!r} has a value already; init() sets it once")
        self._copy_in(pairs)

    def put(self, key: Keys, value: Values) -> None:
        self._copy_in(self._pairs("put", key, value))

    def _copy_in(self, pairs: Iterable[tuple[Key, Sequence[NDArray]]]) -> None:
        for k, arrays in pairs:
            self._key_type = type(k)
            # A copy, as the caller may write into its array; of the first device's, as all hold the same.
            self._values[k] = arrays[0].copyto(arrays[0].device if self._sums_on_device else cpu())

    @observed_exchange("KVStorePush")
    def push(self, key: Keys, value: Values, priority: int = 0) -> None:
        """Sum the arrays of each key; the sum updates the value of the key or, without an updater, replaces it.

        A key that is given several times in one call counts as several arrays for it. `priority` changes nothing:
        a call has finished when it returns, so that there is no order to choose.

        Examples
        --------
        >>> import rebind as mx
        >>> store = KVStore("local")
        >>> store.init("w", mx.nd.zeros((1,)))
        >>> store.push(["w", "w"], [mx.nd.array([1]), mx.nd.array([2])])
        >>> store.pull("w", out=(found := mx.nd.zeros((1,))))
        >>> found.item()
        3.0
        """
        pairs = self._pairs("push", key, value)
        for k, arrays in pairs:
            self._stored("push", k, arrays)  # nothing changes before all of it fits
            _check_no_csr(k, arrays)
        with pause():  # autograd is not to record a push
            totals = self._totals(pairs)
        self._apply(totals)

    def _apply(self, totals: Mapping[Key, NDArray]) -> None:
        """Update the values by the sums of what was pushed in this process."""
        if self._updater is None:
            self._take_storage_types(totals)
        self._update(list(totals), list(totals.values()), [self._values[k] for k in totals])

    def _take_storage_types(self, totals: Mapping[Key, NDArray]) -> None:
        """Let values that sums replace have their storage types, as in MXNet: gradients of rows stay rows."""
        for key, total in totals.items():
            value = self._values[key]
            if total.stype != value.stype:
                dtype, device = value.storage.dtype, value.storage.device
                self._values[key] = wrap(total.storage.zeros_like(dtype=dtype, device=device), value.context)

    def _update(self, keys: Sequence[Key], totals: Sequence[NDArray], stored: Sequence[NDArray]) -> None:
        """Update values, or parts of them, by sums of gradients; without an updater the sums are the new values."""
        if self._updater is None:
            for target, total in zip(stored, totals, strict=True):
                total.copyto(target)
        elif isinstance(self._updater, Updater) and self._updater.takes_all:  # updates all weights together
            self._updater(keys, totals, stored)
        else:
            if isinstance(self._updater, Updater):  # the norm is one over all gradients of a push
                totals = self._updater.optimizer.clip_arrays_together(totals)
            for k, total, target in zip(handed_keys(keys), totals, stored, strict=True):
                self._updater(k, total, target)

    @observed_exchange("KVStorePull")
    def pull(
        self, key: Keys, out: Values | None = None, priority: int = 0, ignore_sparse: bool = True
    ) -> None:
        if out is None:
            raise ArgumentError("KVStore.pull: needs out, the arrays to write into")
        pairs = self._pairs("pull", key, out)
        # All are checked before the first is copied.
        sources = [self._stored("pull", k, arrays) for k, arrays in pairs]
        for (k, arrays), source in zip(pairs, sources, strict=True):
            for target in arrays:
                if ignore_sparse and is_sparse(target):
                    _warn_ignored(k, target)
                else:
                    source.copyto(target)

    @observed_exchange("KVStoreRowSparsePull")
    def row_sparse_pull(
        self, key: Keys, out: Values | None = None, priority: int = 0, row_ids: Values | None = None
    ) -> None:
        if out is None or row_ids is None:
            raise ArgumentError("KVStore.row_sparse_pull: needs out, the arrays to write into, and row_ids")
        pairs = self._pairs("row_sparse_pull", key, out)
        ids = ids_of_each_key(key, row_ids, [arrays for _, arrays in pairs])
        # All are checked before the first is written.
        asked = []
        for (k, arrays), of_each in zip(pairs, ids, strict=True):
            source = self._stored("row_sparse_pull", k, arrays)
            _check_row_sparse(k, [source, *arrays])
            asked += [
                (k, target, distinct_rows(rows, source.shape[0]))
                for target, rows in zip(arrays, of_each, strict=True)
            ]
        for k, target, rows in asked:
            target.write_unrecorded(self._retained(k, rows))

    def _retained(self, key: Key, rows: Tensor) -> Storage:
        """Return some rows of a value, which is row_sparse."""
        return self._values[key].storage.retain(rows)

    # Compressed gradients.

    def set_gradient_compression(self, compression_params: Mapping[str, object]) -> None:
        """Compress each device's gradients before they are summed; for the stores that sum on a device.

        What is not sent is held, and added to the next gradient; it is held as well when another compression is set.

        Parameters
        ----------
        compression_params
            The ``'type'``, ``'2bit'`` or ``'1bit'`` (or ``'none'``), and the ``'threshold'``; see
            `kvstore.Compression`. MXNet 1.9 has ``'2bit'`` and float32 only.

        Raises
        ------
        ArgumentError
            For the other stores.

        Examples
        --------
        >>> import rebind as mx
        >>> kv = KVStore("device")
        >>> kv.set_gradient_compression({"type": "2bit", "threshold": 0.5})
        >>> kv.init("w", mx.nd.zeros((3,)))
        >>> for _ in range(2):
        ...     kv.push("w", [mx.nd.array([0.3, 0.7, -9.0]), mx.nd.array([0, 0.6, 0.1], ctx=mx.cpu(1))])
        ...     kv.pull("w", out=(out := mx.nd.zeros((3,))))
        ...     print(out.asnumpy())
        [ 0.   1.  -0.5]
        [ 0.5  1.  -0.5]
        """
        if not self._compresses_devices:
            super().set_gradient_compression(compression_params)
        self._set_compression(Compression.of(compression_params))

    @property
    def _compresses_devices(self) -> bool:
        """Whether each device's gradients are compressed, if any are."""
        return self._sums_on_device

    def _set_compression(self, compression: Compression | None) -> None:
        if compression is None:
            self._residuals = None
        elif self._residuals is None:
            self._residuals = Residuals(compression)
        else:
            self._residuals.compression = compression

    def state_dict(self) -> StateTree:
        """Return what this process has retained of compressed gradients: ``residuals``, for each key a list by device.

        The optimizer's states are `save_optimizer_states`'.

        >>> import rebind as mx
        >>> kv = KVStore("device")
        >>> kv.set_gradient_compression({"type": "2bit"})
        >>> kv.init("w", mx.nd.zeros((1,)))
        >>> kv.push("w", mx.nd.array([0.75]))
        >>> kv.state_dict()["residuals"]["w"][0].item()
        0.25
        """
        return {} if self._residuals is None else self._residuals.state_dict()

    def load_state_dict(self, state: StateTree) -> None:
        """Continue from what `state_dict` returned, of a store with compressed gradients too."""
        if state.get("updates"):
            raise StateError(
                "KVStore.load_state_dict: the state is of workers that have updated weights of their own since the "
                f"last average, and needs update_every of 2 or more; got {self.update_every}"
            )
        if self._residuals is not None:
            self._residuals.load_state_dict(state)
        elif state.get("residuals"):
            raise StateError(
                "KVStore.load_state_dict: the state has residuals of compressed gradients; "
                "call set_gradient_compression() first"
            )

    def _stored(self, who: str, key: Key, arrays: Sequence[NDArray]) -> NDArray:
        found = self._values.get(key)
        if found is None:
            raise NameLookupError(
                f"KVStore.{who}: no key {key!r}{near_names(str(key), map(str, self._values))} Set it with init() first."
            )
        for array in arrays:
            if array.shape != found.shape:
                raise ShapeError(f"KVStore.{who}: {key!r} must have shape {found.shape}; got {array.shape}")
        return found

    def _totals(self, pairs: Iterable[tuple[Key, Sequence[NDArray]]]) -> dict[Key, NDArray]:
        """Return the sum of what is pushed for each key, on the device of its value."""
        pushed: dict[Key, list[NDArray]] = {}
        for key, arrays in pairs:
            # A key may come twice in one push: all of it is one sum.
            pushed.setdefault(key, []).extend(arrays)
        if self._residuals is not None:
            _check_dense(pushed)
        totals = {}
        for key, arrays in pushed.items():
            home = self._values[key].device
            if self._residuals is not None and self._compresses_devices:
                arrays = [self._residuals.sent(key, each, i) for i, each in enumerate(arrays)]
            totals[key] = self._sum(key, arrays).as_in_context(home)
        return totals

    def _sum(self, key: Key, arrays: Sequence[NDArray]) -> NDArray:
        """Return the sum of a key's arrays; of a single one that is where it is wanted, the array itself."""
        device = arrays[0].device if self._sums_on_device else self._values[key].device
        if len(arrays) == 1:
            return arrays[0].as_in_context(device)
        # In the order of the devices, so that a run gives the same bits each time.
        total = arrays[0].copyto(device)
        if isinstance(total.storage, RowSparseStorage) and any(each.stype == DENSE for each in arrays):
            total = total.tostype(DENSE)
        for array in arrays[1:]:
            total.accumulate(array.as_in_context(device))
        return total


def _check_dense(pushed: Mapping[Key, Sequence[NDArray]]) -> None:
    """Check that gradients can be compressed: a residual has a place for each element."""
    for key, arrays in pushed.items():
        for array in arrays:
            if array.stype != DENSE:
                raise ArgumentError(
                    f"KVStore.push: a gradient must be dense to be compressed; got {array.stype} for {key!r}. Push "
                    f"gradient.tostype({DENSE!r}), or set_gradient_compression({{'type': 'none'}})."
                )


def is_sparse(array: NDArray) -> bool:
    """Return whether an array is one of those that a pull ignores.

    >>> import rebind as mx
    >>> is_sparse(mx.nd.ones((2, 2))), is_sparse(mx.nd.ones((2, 2)).tostype("csr"))
    (False, True)
    """
    return isinstance(array.storage, (CSRStorage, RowSparseStorage))


def _check_no_csr(key: Key, arrays: Sequence[NDArray]) -> None:
    for array in arrays:
        if isinstance(array.storage, CSRStorage):
            raise ArgumentError(
                f"KVStore.push: what is pushed must be dense or row_sparse; got csr for {key!r}. Push "
                f"array.tostype({DENSE!r})."
            )


def _check_row_sparse(key: Key, arrays: Sequence[NDArray]) -> None:
    """Check a value of which rows are pulled, and the arrays that they are written into."""
    for array in arrays:
        if not isinstance(array.storage, RowSparseStorage):
            raise ArgumentError(
                "KVStore.row_sparse_pull: the value and out must be row_sparse; got storage type "
                f"{array.stype!r} for {key!r}. Use pull()."
            )


def _warn_ignored(key: Key, target: NDArray) -> None:
    warn_user(
        f"KVStore.pull: {key!r}: an array of storage type {target.stype!r} is not pulled. Use row_sparse_pull() or "
        "Module.prepare() with row ids, or pull(ignore_sparse=False)."
    )


for _kind in _SUMS_ON_DEVICE:
    stores.register(_kind)(KVStore)
